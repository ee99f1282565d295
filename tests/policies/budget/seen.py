"""Views and steps that the tests of budgets share."""

from __future__ import annotations

import random
from math import inf

import numpy as np

from relserve.policies.budget.state import BudgetView, Decodes, Prompts
from relserve.policies.model.work import Work


def seconds_of(work: Work, speed: float = 1.0) -> float:
    """An engine's step: weights are read while tokens are computed, attention comes on top."""
    tokens = work.prefill_tokens + work.num_decodes
    linear = 3e-3 + max(6e-3, tokens * 2.7e-5) + 2e-5 * (work.num_prefills + work.num_decodes)
    return (linear + 9e-10 * work.pairs + 5e-8 * work.context_tokens) * speed


def works(count: int, seed: int = 0) -> list[Work]:
    """Steps of all kinds: decodes alone, prompts alone, both."""
    rng, made = random.Random(seed), []
    for _ in range(count):
        prompt = rng.choice([0, 0, rng.randrange(1, 2048)])
        decodes = rng.randrange(0 if prompt else 1, 100)
        before = rng.randrange(4000) if prompt else 0
        pairs = prompt * (before + prompt / 2)
        context = decodes * rng.randrange(100, 3000) + before
        made.append(Work(prompt, int(prompt > 0), decodes, context, pairs))
    return made


def measured(work: Work, rng: random.Random, noise: float = 0.04, hiccups: float = 0.0) -> float:
    """Its time with noise; some steps take 50 ms longer."""
    return seconds_of(work) * rng.lognormvariate(0.0, noise) + 0.05 * (rng.random() < hiccups)


def view(
    num_decodes: int = 20,
    prompts: tuple[int, ...] = (1000, 2000),
    *,
    tpot_slo_s: float = 0.02,
    ttft_slo_s: float = 1.0,
    pace_s: float = 0.02,
    said: int = 50,
    num_begun: int = 0,
    most_tokens: int = 8192,
    now_s: float = 100.0,
) -> BudgetView:
    """Rows that have said so many tokens at one pace, and prompts that have just come."""
    rows = np.ones(num_decodes)
    decodes = Decodes(
        rows * (now_s - (said - 1) * pace_s), rows * said, rows * 50, rows * tpot_slo_s, num_decodes * 1000.0
    )
    left = np.array(prompts, dtype=float)
    slos = np.full(len(left), ttft_slo_s), np.full(len(left), tpot_slo_s if num_decodes else inf)
    waiting = Prompts(np.full(len(left), now_s), left, np.zeros(len(left)), *slos, num_begun)
    return BudgetView(now_s, decodes, waiting, most_tokens, 256)
