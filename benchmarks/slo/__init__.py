"""What `slo_simulated` is made of: NexusSched's Table 2 as requests, one engine by its roofline, the systems."""
