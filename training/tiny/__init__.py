"""The training of the embedded model."""
