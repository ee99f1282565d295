"""Effective throughput (Apt-Serve, section 6): workloads, attainment, and the rate that holds a level of it.

It knows neither the simulator nor the engine: it makes requests, and it judges the times of their tokens.
"""
