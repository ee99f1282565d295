"""How the shipped models are made: corpora, trainers, evaluation, export. The wheel has none of it."""
