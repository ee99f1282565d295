"""The training of the embedded model for text2sql."""
