"""The parts of `python -m benchmarks.odd_servers`."""
