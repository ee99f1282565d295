"""Small made-up models of real architectures: random weights, made-up vocabularies of the real sizes.

They say nothing sensible. What they have of the real ones is what an engine can stumble over: the
architecture, the number of tokens, how the tokenizer is made, and the form of the chat template.
"""

from benchmarks.zoo.builder import build
from benchmarks.zoo.recipes import NAMES

__all__ = ["NAMES", "build"]
