"""What `benchmarks.fleet_faults` is made of."""
