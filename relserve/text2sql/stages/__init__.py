"""The stages of the pipeline: each works on all questions, and asks the model once for all of them."""
