"""What the embedded text2sql model is trained on: made-up schemas, rows and questions.

`questions.example` and `questions.packed` are the door; the language of questions is data in `frames/`,
`conditions/` and `lexicon/`.
"""
