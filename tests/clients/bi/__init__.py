"""The parts of `benchmarks.bi_clients`: two servers with equal tables, the clients, what may differ."""
