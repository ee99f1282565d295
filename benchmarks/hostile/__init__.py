"""The parts of `benchmarks.server_hostile`: the server, a bystander, and each kind of attack."""
