"""The parts of `benchmarks.text2sql_attacks`: what is attacked, the attacks, and a judge of each."""
