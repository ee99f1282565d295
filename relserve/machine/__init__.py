"""What is known of this machine: its hardware, calibrated cost models, and the engines that run on it."""
