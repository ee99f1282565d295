"""Parts of `benchmarks.decisions`."""
