"""What `fleet_simulated` is made of: unequal engines, Table 2's requests for all of them, the systems."""
