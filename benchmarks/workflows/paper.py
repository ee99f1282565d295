"""What the HexGen-Text2SQL paper says in its text and tables; its Figures 2 to 5 have no numbers."""

from __future__ import annotations

# Section 5.2 and 5.3: how many times lower a deadline is than another's, mean and most of the cells.
D95_OVER_RR, D99_OVER_RR = (1.41, 1.67), (1.35, 1.60)  # WB+PQ, over vLLM: RR+FCFS
D95_OVER_RR_PQ, D99_OVER_RR_PQ = (1.18, 1.38), (1.24, 1.40)  # WB+PQ
D95_OVER_WB_FCFS, D99_OVER_WB_FCFS = (1.20, 1.50), (1.20, 1.40)  # WB+PQ
THROUGHPUT_OVER_RR = (1.57, 1.75)  # at 1.0 queries/s, least and most
# Seconds by text: trace 3 at 1.0 queries/s, 95 and 99 %.
DEADLINES_S = {"RR+FCFS": (790, 800), "WB+PQ": (550, 600)}

# Section 5.4, Figure 5: the best alpha at 0.5 queries/s.
BEST_ALPHA = {
    ("Hetero-1", "trace1"): 0.1, ("Hetero-1", "trace2"): 0.2, ("Hetero-1", "trace3"): 0.2,
    ("Hetero-2", "trace1"): 0.3, ("Hetero-2", "trace2"): 0.3, ("Hetero-2", "trace3"): 0.4,
}  # fmt: skip

# Table 1: of what each engine does, the share of each stage in per cent; Hetero-2, trace 3.
TABLE_1 = {
    ("before", 1): (20.8, 23.1, 19.9, 26.8), ("after", 1): (0.9, 0.5, 6.1, 32.3),
    ("before", 2): (10.3, 7.8, 10.6, 9.6), ("after", 2): (27.9, 29.6, 16.5, 3.1),
    ("before", 3): (26.5, 23.0, 25.5, 21.7), ("after", 3): (47.9, 46.6, 71.5, 8.3),
    ("before", 4): (42.3, 46.0, 44.1, 41.8), ("after", 4): (23.3, 23.3, 5.8, 56.3),
}  # fmt: skip

# Table 3: seconds to tune alpha; it names the setups Hetero-2 and Hetero-3.
TABLE_3 = {
    ("Hetero-1", 0.5): (124.6, 122.3, 142.2), ("Hetero-1", 1.0): (133.3, 137.8, 149.7),
    ("Hetero-2", 0.5): (124.7, 141.3, 158.0), ("Hetero-2", 1.0): (115.6, 133.4, 154.2),
}  # fmt: skip
