"""The parts of `benchmarks.server_hostile`: the server under attack, those who watch it, and each kind of attack."""
