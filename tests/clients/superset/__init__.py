"""Parts of `benchmarks.bi_superset`: the tables, the servers, Superset and what it is asked."""
