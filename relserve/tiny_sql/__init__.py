"""The embedded model for text2sql."""
