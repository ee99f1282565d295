"""What one lease of a GPU measures: `python -m benchmarks.gpu` runs its stages, each a program of its own."""
