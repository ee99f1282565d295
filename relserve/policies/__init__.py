"""Decisions, pure: the same objects drive the vLLM plug-in and the simulator."""
