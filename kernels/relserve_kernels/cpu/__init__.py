"""The paths of a CPU: plain torch that runs everywhere, and C++ where a compiler built it."""
