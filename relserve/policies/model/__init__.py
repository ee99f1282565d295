"""What is predicted of an engine's work: what a step computes, how long that takes, how long outputs get."""
