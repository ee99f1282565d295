"""Questions on their way through the pipeline: their state, and what stages work with."""
