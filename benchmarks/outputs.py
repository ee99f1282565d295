"""How long answers are in truth, below their caps: shapes of the distribution by name.

"uniform" is the one whose mean is the RelServe paper's: a short answer is anywhere below its cap, a long one
from a quarter of it on. In the others most answers are much shorter than their caps, and each kind of
relQuery has a distribution of its own, the same in every trace: "lognormal" has a long tail up to the cap;
"bimodal" says a little or nearly everything, as an answer that is sometimes a refusal.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

Shape = Callable[[random.Random], int]


def uniform(cap: int, kind: str) -> Shape:
    """Short ones anywhere below the cap, long ones from a quarter of it on."""
    least = 1 if cap <= 10 else cap // 4
    return lambda rng: rng.randint(least, cap)


def lognormal(cap: int, kind: str) -> Shape:
    """A median between a tenth and a third of the cap, and a spread of a factor of two."""
    median = cap * random.Random(kind).uniform(0.1, 0.33)
    return lambda rng: max(1, min(cap, round(rng.lognormvariate(math.log(median), math.log(2)))))


def bimodal(cap: int, kind: str) -> Shape:
    """Around a tenth of the cap, or in one to four of ten cases its upper fifth."""
    long_share = random.Random(kind).uniform(0.1, 0.4)

    def length(rng: random.Random) -> int:
        low, high = (0.8 * cap, cap) if rng.random() < long_share else (0.05 * cap, 0.15 * cap)
        return max(1, round(rng.uniform(low, high)))

    return length


SHAPES: dict[str, Callable[[int, str], Shape]] = {
    "uniform": uniform, "lognormal": lognormal, "bimodal": bimodal,
}  # fmt: skip
