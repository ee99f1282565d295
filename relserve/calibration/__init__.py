"""`relserve calibrate`: measure an engine's steps on this machine and fit the cost model to them."""
