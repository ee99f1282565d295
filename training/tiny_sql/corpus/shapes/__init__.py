"""One question of each shape: which columns it is about, its text before rewording, and its answer."""
