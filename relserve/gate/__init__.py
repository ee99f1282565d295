"""The gate of an engine: who waits and who runs, with a clock and threads, around the pure controller."""
