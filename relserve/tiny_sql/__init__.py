"""The embedded model for text2sql: where its files stand. Importing this module loads no library."""

from pathlib import Path

MODEL_DIR = Path(__file__).parent / "model"
"""Folder holding config.json, model.safetensors and the tokenizer, ready for vLLM or transformers."""
