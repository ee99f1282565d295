"""Whether all prompts at once, at full steps, keep more limits than they break.

Where more comes than rows that decode leave room for within their limits, prompts wait longer and longer, and
in the end nobody's first token is in time. Then a burst may pay: prompts whose first tokens would be late at
the steady pace are in time, and rows that have little to spare miss their limit between tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relserve.policies.budget.state import View

SURE = 3  # more that are saved than lost: whoever comes during the burst may make it longer


class Pace(NamedTuple):
    """Seconds for each token of a prompt, at the pace that rows leave and in a burst of full steps.

    Attributes:
        step_s: seconds of a full step, in which every row says one token.
        alone_s: seconds of a step without prompts.
    """

    steady: float
    full: float
    step_s: float
    alone_s: float


def is_somebody_late(view: View, token_s: float) -> bool:
    """Whether a first token will be late that still could be in time, with so many seconds a prompt token."""
    left_s = view.prompts.arrival_s + view.prompts.slo_s - view.now_s
    ends_s = view.prompts.left.cumsum() * token_s
    return bool(((ends_s > left_s) & (left_s > 0)).any())


def pays(view: View, pace: Pace) -> bool:
    """Whether a burst until no prompt is left keeps more limits than it breaks, as far as is known now.

    A prompt counts whose first token is in time by the burst alone, and whose answer, as long as those of the
    rows, then keeps its own limit though the burst goes on. A row counts that keeps its limit if it decodes
    alone from now on, and not after the burst.
    """
    prompts, decodes = view.prompts, view.decodes
    left_s = prompts.arrival_s + prompts.slo_s - view.now_s
    ends = prompts.left.cumsum()
    firsts_s = ends * pace.full
    burst_s = float(firsts_s[-1])
    length = float((decodes.said + decodes.left).mean())
    after_s = burst_s - firsts_s
    rest = np.maximum(length - after_s / pace.step_s, 0.0)
    goes_on = after_s + rest * pace.alone_s <= length * prompts.tpot_slo_s
    saved = (ends * pace.steady > left_s) & (firsts_s <= left_s) & goes_on
    allowed_s = decodes.slo_s * (decodes.said - 1.0 + decodes.left) - (view.now_s - decodes.first_s)
    rest = np.maximum(decodes.left - burst_s / pace.step_s, 0.0)
    lost = (decodes.left * pace.alone_s <= allowed_s) & (burst_s + rest * pace.alone_s > allowed_s)
    return int(saved.sum()) > int(lost.sum()) + SURE
