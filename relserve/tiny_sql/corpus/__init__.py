"""What the embedded text2sql model is trained on: made-up schemas and rows, and questions written by hand as frames.

`questions.example` and `questions.packed` are the door; a question's language is data in `frames/`, `conditions/` and `lexicon/`.
"""
