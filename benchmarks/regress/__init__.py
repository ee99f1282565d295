"""The parts of `python -m benchmarks.regress`."""
