"""How long a step takes, learnt while the engine serves: LENS's structured model, and ours.

A model is a shape, which few numbers say and which hardly changes, and coefficients in which it is linear.
The shape is searched from time to time over thousands of steps, the coefficients follow the last few dozen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from relserve.policies.model.regression import Forgetting, non_negative, robust
from relserve.policies.model.work import NUM_COLUMNS, Column, Table, Work

FIRST, SOON, EVERY, WINDOW = 32, 256, 512, 2048
KEEP = 1.0 - 1.0 / 48  # "the last few dozen batches"
CLIP = 3.0
FAR, FAR_STEPS, ALIKE, OLD = 1.5, 8, 1.3, 0.1  # a lasting change: so far off, so often, so much alike
RENEW = 4  # steps between two looks at the latest ones
LARGER = 1.25  # a step that has so many times as much of anything as all before is learnt at once
SHORT = 1e-7

Shape = tuple[float, ...]
Rows = np.ndarray[tuple[int], np.dtype[np.int64]]


class Form(NamedTuple):
    """What is fitted.

    Attributes:
        columns: what the coefficients stand before, of a table of works.
        shapes: those that are searched.
        quick: columns whose coefficients follow the latest steps.
        per_token: columns that grow by one for each further token where a step has many already.
        is_robust: whether outliers are held back, errors are relative, and a lasting change is recognised.
        doubts: by column, as much as a step of usual length would have if that column were its only reason: a
            single such step of no length at all is added to the measured ones. None for no such doubts.
    """

    columns: Callable[[Table, Shape], Table]
    shapes: Sequence[Shape]
    quick: tuple[int, ...]
    per_token: tuple[int, ...]
    is_robust: bool
    doubts: tuple[float, ...] | None = None


def _published(works: Table, shape: Shape) -> Table:
    """Eq. 1 with Eq. 2 put in: tau0, w0 / Pmax, ws / Pmax, tauB, tauS stand before these."""
    batch = works[:, 1] + works[:, 2]
    tokens = works[:, 0] + works[:, 2]
    saturation = -np.expm1(-shape[0] * batch) * -np.expm1(-shape[1] * tokens)
    share = 1.0 / np.maximum(saturation, 1e-6)
    return np.column_stack([np.ones(len(works)), share, tokens * share, batch, tokens])


def _ours(works: Table, shape: Shape) -> Table:
    """Eq. 1 with the saturation of tokens alone, and what it leaves out: memory read, and attention.

    The saturation is the paper's, or a roofline's: weights are read while so many tokens are computed.
    """
    tokens = works[:, 0] + works[:, 2]
    bend, is_sharp = shape
    if is_sharp:
        saturated = np.maximum(tokens, bend)
    else:
        saturated = tokens / np.maximum(-np.expm1(-tokens / bend), 1e-6)
    columns = np.empty((len(works), 6))
    columns[:, 0], columns[:, 1], columns[:, 2:] = 1.0, saturated, works[:, 1:NUM_COLUMNS]
    return columns


TOKENS = (16, 32, 64, 96, 128, 192, 256, 384, 512, 1024)
BENDS = tuple(16 * 1.2**i for i in range(24))
PUBLISHED = Form(
    _published, [(1.0 / b, 1.0 / s) for b, s in product((0.25, 1, 4, 16, 64), TOKENS)], (2, 3, 4), (2, 4),
    False,
)  # fmt: skip
MANY_PREFILLS, MANY_PAIRS = 16.0, 2e6
OURS = Form(
    _ours, list(product(BENDS, (0.0, 1.0))), (0, 1, 2, 3, 4, 5), (1,), True,
    (0.0, 0.0, MANY_PREFILLS, 0.0, 0.0, MANY_PAIRS),
)  # fmt: skip


class StructuredTime(NamedTuple):
    """What is known of step times at some moment; a `StepTime`.

    Attributes:
        slow: the coefficients by all steps of the window; empty where nothing is known.
        now: those by the latest steps.
    """

    form: Form
    shape: Shape
    slow: Column
    now: Column

    @property
    def is_ready(self) -> bool:
        """Whether anything is known."""
        return bool(len(self.now))

    @property
    def peak_tokens_per_s(self) -> float:
        """P_max of Eq. 2: it changes only where all steps are looked at again. Infinite where none is known.

        Eq. 1 holds P_max only in w_0 / P_max and w_s / P_max: here work is counted in tokens, so w_s is 1.
        Nor can w_s / P_max be told from tau_S where the throughput is saturated. So P_max is what the tokens
        a second of a step go to as it has more and more of them, `1 / (w_s / P_max + tau_S)`.
        """
        token_s = float(self.slow[list(self.form.per_token)].sum()) if self.is_ready else 0.0
        return 1.0 / token_s if token_s > 0 else float("inf")

    def seconds(self, work: Work) -> float:
        """See `StepTime.seconds`."""
        return float(self.predict(np.array([work.row], dtype=float))[0])

    def predict(self, works: Table) -> Column:
        """Seconds of several steps, a row of a table of works each."""
        found: Column = np.maximum(self.form.columns(works, self.shape) @ self.now, SHORT)
        return found


class StepModel:
    """Learns step times; says nothing before `FIRST` steps.

    Another thread may ask while this one learns: it is answered by `model`, which is replaced as a whole.

    Attributes:
        model: what is known now.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self.num_steps = 0
        self._works = np.zeros((WINDOW, NUM_COLUMNS))
        self._seconds = np.zeros(WINDOW)
        self._predicted = np.full(WINDOW, np.nan)
        self._trust = np.ones(WINDOW)
        self._most = np.zeros(NUM_COLUMNS)
        self._since = 0
        self._shape: Shape = form.shapes[0]
        self._slow = self._now = np.zeros(0)
        self.model = StructuredTime(form, self._shape, self._slow, self._now)
        self._quick = Forgetting(np.ones(1), KEEP)
        self._far: list[float] = []
        self._spread = 0.1

    @property
    def is_ready(self) -> bool:
        """Whether it has learnt anything."""
        return self.model.is_ready

    @property
    def most_prefill_tokens(self) -> float:
        """Of the largest step that was measured."""
        return float(self._most[0])

    @property
    def peak_tokens_per_s(self) -> float:
        """See `StructuredTime.peak_tokens_per_s`."""
        return self.model.peak_tokens_per_s

    def seconds(self, work: Work) -> float:
        """See `StepTime.seconds`."""
        return self.model.seconds(work)

    def predict(self, works: Table) -> Column:
        """See `StructuredTime.predict`."""
        return self.model.predict(works)

    def add(self, work: Work, seconds: float) -> None:
        """One measured step; a time that is no positive number is no measurement."""
        if not 0.0 < seconds < np.inf:
            return
        row, at = np.array([work.row], dtype=float), self.num_steps % WINDOW
        self._predicted[at] = self.predict(row)[0] if self.is_ready else np.nan
        self._works[at], self._seconds[at], self._trust[at] = row[0], seconds, 1.0
        self.num_steps += 1
        self._since += 1
        is_larger = bool((row[0] > LARGER * self._most).any())
        self._most = np.maximum(self._most, row[0])
        if self._is_due():
            self._search()
            self._refit()
        elif is_larger and self.is_ready and self.form.is_robust:
            self._refit()
        elif self.is_ready:
            if self.form.is_robust:
                self._follow_changes(seconds / float(self._predicted[at]))
            self._add_quickly(row, seconds)
            if self.num_steps % RENEW == 0:
                self._renew()
        if self.model.now is not self._now:
            self.model = StructuredTime(self.form, self._shape, self._slow, self._now)

    def r2(self, latest: int = 512) -> float:
        """The coefficient of determination of the latest predictions, made before their steps; NaN: none."""
        seconds, predicted = self._pairs(latest)
        if len(seconds) < 2:
            return float("nan")
        spread = float(((seconds - seconds.mean()) ** 2).sum())
        return 1.0 - float(((seconds - predicted) ** 2).sum()) / max(spread, 1e-30)

    def error(self, latest: int = 512) -> float:
        """The median error of the same predictions as a share of each step; NaN: none."""
        seconds, predicted = self._pairs(latest)
        return float(np.median(np.abs(predicted / seconds - 1.0))) if len(seconds) else float("nan")

    def _pairs(self, latest: int) -> tuple[Column, Column]:
        rows = self._latest(latest)
        seconds, predicted = self._seconds[rows], self._predicted[rows]
        known = ~np.isnan(predicted)
        return seconds[known], predicted[known]

    def _is_due(self) -> bool:
        return self._since % EVERY == 0 or (self._since <= SOON and self._since % FIRST == 0)

    def _latest(self, number: int) -> Rows:
        number = min(number, self.num_steps, WINDOW)
        return np.arange(self.num_steps - number, self.num_steps) % WINDOW

    def _search(self) -> None:
        """The shape from the window: it takes longest, so the plug-in learns on a thread of its own."""
        works, seconds, weights, ridge = self._known()
        best = np.inf
        for shape in self.form.shapes:
            columns = self.form.columns(works, shape)
            found = non_negative(columns, seconds, weights, ridge)
            errors = np.abs(seconds - columns @ found) * np.sqrt(weights)
            loss = float(np.mean(errors)) if self.form.is_robust else float(np.mean(errors**2))
            if loss < best:
                best, self._shape = loss, shape

    def _known(self) -> tuple[Table, Column, Column, Column | None]:
        """The window's steps, their weights, and what draws coefficients to 0."""
        rows = self._latest(WINDOW)
        works, seconds = self._works[rows], self._seconds[rows]
        weights = self._trust[rows] / seconds**2 if self.form.is_robust else np.ones(len(rows))
        doubts = self.form.doubts
        return works, seconds, weights, None if doubts is None else np.median(weights) * np.array(doubts) ** 2

    def _refit(self) -> None:
        """All coefficients from the window."""
        works, seconds, weights, ridge = self._known()
        columns = self.form.columns(works, self._shape)
        if self.form.is_robust:
            self._slow = robust(columns, seconds, weights, ridge)
            errors = np.abs(seconds / np.maximum(columns @ self._slow, SHORT) - 1.0)
            self._spread = max(1.4826 * float(np.median(errors)), 0.01)
        else:
            self._slow = non_negative(columns, seconds, weights, ridge)
        self._now = self._slow
        scale = np.sqrt((columns[:, list(self.form.quick)] ** 2).mean(axis=0))
        self._quick = Forgetting(scale, KEEP)
        for row in self._latest(96):
            self._add_quickly(self._works[row : row + 1], float(self._seconds[row]))
        self._renew()

    def _add_quickly(self, row: Table, seconds: float) -> None:
        columns = self.form.columns(row, self._shape)[0]
        weight = 1.0
        if self.form.is_robust:
            error = abs(float(columns @ self._now) / seconds - 1.0)
            weight = min(1.0, CLIP * self._spread / max(error, 1e-9)) / seconds**2
        residual = seconds - float(columns @ self._slow)
        self._quick.add(columns[list(self.form.quick)], residual, weight)

    def _renew(self) -> None:
        usual = float(np.median(self._seconds[self._latest(16)])) if self.form.is_robust else 1.0
        now = self._slow.copy()
        now[list(self.form.quick)] += self._quick.change(1.0 / usual**2)
        self._now = np.maximum(now, 0.0)

    def _follow_changes(self, ratio: float) -> None:
        """When the latest steps were all off by about one factor, the engine has another speed.

        What is known is scaled by it, and counts little from then on, so that steps of which this was not
        true are soon learnt again.
        """
        self._far.append(ratio)
        del self._far[:-FAR_STEPS]
        factor = float(np.median(self._far))
        if len(self._far) < FAR_STEPS or 1.0 / FAR < factor < FAR:
            return
        if max(self._far) > ALIKE * factor or min(self._far) < factor / ALIKE:
            return
        older = self._latest(WINDOW)[:-FAR_STEPS]
        if self._was_right(older):
            self._seconds[older] *= factor
            self._predicted[older] *= factor
            self._trust[older] *= OLD
            self._since = 0
        self._far.clear()
        self._search()
        self._refit()

    def _was_right(self, older: Rows) -> bool:
        """Whether the model knew steps such as the latest: else it is the model that was wrong of them."""
        tokens = self._works[:, 0] + self._works[:, 2]
        latest = np.median(tokens[self._latest(FAR_STEPS)])
        near = older[np.abs(tokens[older] - latest) <= 0.2 * latest][-16:]
        if len(near) < 4:
            return False
        ratio = float(np.median(self._seconds[near] / self.predict(self._works[near])))
        return 1.0 / ALIKE < ratio < ALIKE
