"""A hybrid KV / hidden cache on real engines: the ways that are compared, single requests, their runs."""
