"""SABER's admission as published (Chang et al. 2025, section IV-C and Algorithm 1).

Left open by the paper, and read here: `windowSize` (not given) is 5; the required speed of a request that
runs is the one recorded when it was admitted, as the last paragraph of step 2 says; Algorithm 1's window is a
random sample of the first `windowSize` requests, as the text says, in random order; one iteration admits one
request, and `Sleep(delta)` is the caller's time between polls. The low-priority queue is served only when the
high-priority one is empty, without a look at the speed, one request an iteration.
"""

from __future__ import annotations

import random

from relserve.policies.admission.policy import Choice, View
from relserve.policies.admission.request import Request

WINDOW = 5


class Saber:
    """Algorithm 1; its queues are told apart anew at each decision, for demotion depends on the clock alone.

    Args:
        seed: of the random window.
    """

    def __init__(self, name: str, window: int = WINDOW, seed: int = 0) -> None:
        self.name, self.window = name, window
        self._random = random.Random(seed)

    def choose(self, view: View) -> Choice:
        """See `AdmissionPolicy.choose`; Algorithm 1's lines are named."""
        if view.curve is None:
            return Choice(view.waiting[0] if view.waiting else None, "nothing is measured yet")
        high, low = self._queues(view)
        if high:  # line 5
            predicted = view.curve.speed(len(view.running) + 1)  # line 8
            if any(predicted < running.needed_speed for running in view.running):  # line 10, second half
                return Choice(None, "somebody who runs would miss the limit")
            window = high[: self.window]
            for request in self._random.sample(window, len(window)):  # lines 6 and 7
                if predicted >= request.needed_speed(view.now_s):  # lines 9 and 10
                    return Choice(request, "fast enough")  # line 13
            return Choice(None, "too slow for those in the window")
        if low:  # lines 18 to 20
            return Choice(low[0], "its limit is lost, and nobody waits who could keep one", late=True)
        return Choice(None, "nobody waits")

    def _queues(self, view: View) -> tuple[list[Request], list[Request]]:
        """HPQ and LPQ (step 1): demoted is who needs more than the engine's fastest speed, that of load 1."""
        assert view.curve is not None
        fastest = view.curve.speed(1)
        high: list[Request] = []
        low: list[Request] = []
        for request in view.waiting:
            (high if request.needed_speed(view.now_s) <= fastest else low).append(request)
        return high, low
