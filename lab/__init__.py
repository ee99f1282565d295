"""The laboratory: what simulators, benchmarks and tests share and no product code reaches."""
