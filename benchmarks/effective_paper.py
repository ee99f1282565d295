"""What the Apt-Serve paper says in its text and tables: limits, rates, attainment, ratios.

Its Figures 8, 9 and 11 have no numbers; of Figure 8 the text gives ratios of rates, averaged over the three
models. `sharegpt`, `code` and `summarisation` stand for its ShareGPT, HumanEval and LongBench.
"""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.effective.attainment import RequestLimits

SETS = {"sharegpt": "ShareGPT", "code": "HumanEval", "summarisation": "LongBench"}

# Table 3, seconds.
SLOS = {
    ("OPT-13B", "sharegpt"): RequestLimits(1.0, 1.0), ("OPT-13B", "code"): RequestLimits(0.5, 0.5),
    ("OPT-13B", "summarisation"): RequestLimits(4.0, 1.0),
    ("OPT-30B", "sharegpt"): RequestLimits(1.5, 1.0), ("OPT-30B", "code"): RequestLimits(1.0, 0.5),
    ("OPT-30B", "summarisation"): RequestLimits(4.5, 1.0),
    ("OPT-66B", "sharegpt"): RequestLimits(2.0, 1.0), ("OPT-66B", "code"): RequestLimits(1.5, 0.5),
    ("OPT-66B", "summarisation"): RequestLimits(5.0, 1.0),
}  # fmt: skip

LIKE = {
    "chat": "sharegpt",
    "meetings": "summarisation",
}  # sets that the paper has not, and those whose limits they get


def slo_of(model: str, data: str) -> RequestLimits:
    """The limits of a model and a set of lengths."""
    return SLOS[model, LIKE.get(data, data)]


# Section 6.3: Apt-Serve's rate over that of vLLM, and over that of Sarathi-Serve, mean of the three models.
OVER_VLLM = {
    0.9: {"sharegpt": 2.3, "code": 1.7, "summarisation": 2.8},
    0.6: {"sharegpt": 7.4, "code": 3.0, "summarisation": 4.2},
}
OVER_SARATHI = {
    0.9: {"sharegpt": 2.0, "code": 1.4, "summarisation": 2.5},
    0.6: {"sharegpt": 6.8, "code": 2.6, "summarisation": 3.9},
}
VLLM_CHAT_90 = 2.6  # requests a second, section 3.1
FIGURE_9_RATES = {"sharegpt": 3.8, "code": 9.0, "summarisation": 1.5}
VARIATIONS = (1.0, 5.0, 10.0)


class PaperAttainment(NamedTuple):
    """Attainment in per cent: Table 5's FCFS, Table 4's KV alone, and the hybrid of both tables."""

    fcfs: float
    kv: float
    hybrid: float


# Tables 4 and 5, by lengths, rate and coefficient of variation; OPT-13B.
TABLES_4_AND_5 = {
    ("sharegpt", 3.0, 1.0): PaperAttainment(26.4, 99.5, 99.5),
    ("sharegpt", 3.0, 5.0): PaperAttainment(59.7, 94.7, 95.9),
    ("sharegpt", 3.0, 10.0): PaperAttainment(11.9, 75.1, 78.2),
    ("sharegpt", 6.0, 1.0): PaperAttainment(20.0, 65.7, 67.3),
    ("sharegpt", 6.0, 5.0): PaperAttainment(18.1, 66.7, 67.7),
    ("sharegpt", 6.0, 10.0): PaperAttainment(9.9, 57.1, 58.4),
    ("summarisation", 1.5, 1.0): PaperAttainment(11.8, 96.6, 98.2),
    ("summarisation", 1.5, 5.0): PaperAttainment(10.8, 70.0, 76.0),
    ("summarisation", 1.5, 10.0): PaperAttainment(5.4, 43.4, 50.8),
    ("summarisation", 3.0, 1.0): PaperAttainment(4.8, 70.0, 77.6),
    ("summarisation", 3.0, 5.0): PaperAttainment(4.6, 58.8, 64.8),
    ("summarisation", 3.0, 10.0): PaperAttainment(4.2, 35.6, 42.5),
}
