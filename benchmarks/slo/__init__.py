"""What `slo_simulated` is made of: Table 2's requests, one engine by its roofline, the systems."""
