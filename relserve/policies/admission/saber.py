"""SABER's admission as published (Chang et al. 2025, arXiv:2506.19677): section IV-C, Algorithm 1.

Lines of Algorithm 1 are named beside what they became; nothing is added to them. So users are not told apart,
nothing is learnt while it serves, nobody is refused, and lengths are the most that answers may have.

Left open by the paper, and read here: `windowSize` (not given) is 5, and delta 20 ms.

Errata, where the paper contradicts itself or cannot be meant as printed:

* Line 6 draws the window from the whole queue, the text "from first n requests in the batch queue head". Here
  it is the first n in random order, which is both: Algorithm 1 tries the window's requests one after another.
* Line 8 stands inside the loop, though it hangs on no request; it is computed once an iteration.
* Line 10 compares a number with `any(actReq.reqSpd)`: meant is, whether it is below the speed of any of them.
* `actReq.reqSpd` is recorded where line 13 admits ("records this request's required generation speed"). What
  line 20 executes has lost its limit and has no such speed: it counts in `curLoad` only. Were it counted, one
  that needs more than the fastest speed would shut everybody out until it ends.
* Demotion is no line of Algorithm 1; step 1 of the text has it: a request goes from the high-priority queue
  (HPQ) to the low-priority one (LPQ) when it needs more than the fastest speed, that of load 1. What it needs
  only grows, so the queues are told apart anew in each iteration.
* Line 20 executes whatever the engine runs already. Where its places are all taken (`most` of the
  controller) it would wait in the engine; here it waits before it, in its place in the queue.
"""

from __future__ import annotations

import random
from operator import attrgetter

from relserve.policies.admission.policy import AdmissionChoice, AdmissionView
from relserve.policies.admission.request import AdmissionRequest

WINDOW = 5  # `windowSize`, of line 6
DELTA_S = 0.02  # of line 23
EXACT = 0.999  # of delta: sums of times are not exact


class Saber:
    """Algorithm 1, an iteration at a time. The view's curve is f of section IV-B, fitted beforehand.

    Args:
        seed: of the window's order.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name, self.every_s = name, DELTA_S
        self._random = random.Random(seed)
        self._slept_s, self._reason = float("-inf"), ""

    def choose(self, view: AdmissionView) -> AdmissionChoice:
        """See `AdmissionPolicy.choose`: at most one request starts in `every_s`, whoever asks how often.

        Raises:
            ValueError: there is no curve: the offline phase is missing.
        """
        if view.curve is None:
            raise ValueError(f"{self.name} decides by speeds that are known beforehand, and there are none")
        if 0 <= view.now_s - self._slept_s < EXACT * self.every_s:
            return AdmissionChoice(None, self._reason)
        self._slept_s = view.now_s  # line 23
        choice = self._iteration(view, view.curve.speed(1))
        is_admitted = choice.request is not None
        self._reason = f"one starts in {1e3 * self.every_s:g} ms" if is_admitted else choice.reason
        return choice

    def _iteration(self, view: AdmissionView, fastest: float) -> AdmissionChoice:
        """Lines 5 to 22."""
        high, low = _queues(view, fastest)
        if not high:  # lines 5 and 17
            if low:  # lines 18 to 20
                return AdmissionChoice(
                    low[0], "its limit is lost, and nobody waits who could keep one", late=True
                )
            return AdmissionChoice(None, "nobody waits")
        assert view.curve is not None
        predicted = view.curve.speed(len(view.running) + 1)  # line 8
        if any(predicted < running.needed_speed for running in view.running):  # line 10, its second half
            return AdmissionChoice(None, "somebody who runs would miss the limit")
        window = high[:WINDOW]
        for request in self._random.sample(window, len(window)):  # lines 6 and 7
            if predicted >= request.needed_speed(view.now_s):  # lines 9 and 10, its first half
                return AdmissionChoice(request, "fast enough")  # lines 13 and 14
        return AdmissionChoice(None, "too slow for those in the window")


def _queues(view: AdmissionView, fastest: float) -> tuple[list[AdmissionRequest], list[AdmissionRequest]]:
    """HPQ and LPQ, each in the order of arrival; demoted is who needs more than the fastest speed."""
    high: list[AdmissionRequest] = []
    low: list[AdmissionRequest] = []
    for request in sorted(view.waiting, key=attrgetter("arrival_s")):
        (high if request.needed_speed(view.now_s) <= fastest else low).append(request)
    return high, low
