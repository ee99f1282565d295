"""Discrete events in virtual time, driving the same policies as the vLLM plug-in."""
