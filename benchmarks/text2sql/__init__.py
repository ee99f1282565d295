"""Parts of benchmarks.text2sql_accuracy: its sets of questions, and who is right."""
