"""Parts of `text2sql_simulated`: traces, engines, systems, the paper's numbers, runs."""
