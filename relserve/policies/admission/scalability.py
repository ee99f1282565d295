"""How fast a request gets its tokens by how many run: the Universal Scalability Law, logistic and linear.

SABER, section IV-B: an estimation function v = f(L) is fitted to pairs of load and speed; section VII
compares the three forms. Fitted by least squares with bounds (Levenberg and Marquardt) in numpy alone: scipy,
which the paper uses, is no dependency of relserve, and the tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from relserve.policies.model.work import Work

Kind = Literal["usl", "logistic", "linear"]
Array = np.ndarray[tuple[int], np.dtype[np.float64]]
SLOWEST = 1e-3  # tokens a second: no speed is predicted below it, so that whatever divides by one may
FASTEST = 1e9  # tokens a second; more is a clock's mistake, and its square would be no number
MOST = 1024  # loads that a table of speeds covers


class SpeedSample(NamedTuple):
    """A measured pair: requests that ran at once (a mean over time), tokens a second of one of them."""

    load: float
    speed: float


def usl(load: Array, parameters: Array) -> Array:
    """Universal Scalability Law of one request's speed: v1 / (1 + alpha (L - 1) + beta L (L - 1))."""
    alone, alpha, beta = parameters
    values: Array = alone / (1.0 + alpha * (load - 1.0) + beta * load * (load - 1.0))
    return values


def logistic(load: Array, parameters: Array) -> Array:
    """A falling logistic curve: top / (1 + exp(steepness (L - middle)))."""
    top, steepness, middle = parameters
    values: Array = top / (1.0 + np.exp(np.clip(steepness * (load - middle), -50.0, 50.0)))
    return values


def linear(load: Array, parameters: Array) -> Array:
    """A straight line: speed at load 0 and what each request takes off it."""
    values: Array = parameters[0] - parameters[1] * load
    return values


_FORMS: dict[Kind, Callable[[Array, Array], Array]] = {"usl": usl, "logistic": logistic, "linear": linear}
KINDS: tuple[Kind, ...] = tuple(_FORMS)


@dataclass(frozen=True)
class Fit:
    """A fitted curve.

    Attributes:
        parameters: of the form, as its function takes them.
        r2: the share of the speeds' variance that it explains, at most 1; below 0 it explains less than a
            constant would.
        num_samples: pairs that it was fitted to.
    """

    kind: Kind
    parameters: tuple[float, ...]
    r2: float
    num_samples: int

    def seconds(self, work: Work) -> float:
        """Seconds of a step in which so many requests decode, a token each; see `StepTime.seconds`.

        SABER knows no other steps: prompts slow the speeds down that were measured.
        """
        return 1.0 / self.speed(work.num_decodes) if work.num_decodes else 0.0

    def speed(self, load: float) -> float:
        """Tokens a second of each of so many requests (at least one), positive and finite."""
        if load == int(load) and load < MOST:
            return self._whole[int(load)]
        return float(self.speeds(np.array([load]))[0])

    @cached_property
    def table(self) -> Array:
        """The speeds at whole loads, by load; that of load 1 at 0."""
        return self.speeds(np.arange(MOST, dtype=float))

    @cached_property
    def _whole(self) -> list[float]:
        whole: list[float] = self.table.tolist()
        return whole

    def speeds(self, loads: Array) -> Array:
        """The same for many loads."""
        found: Array = np.maximum(
            _FORMS[self.kind](np.maximum(loads, 1.0), np.array(self.parameters)), SLOWEST
        )
        return found


def fit(
    samples: Sequence[SpeedSample], kind: Kind = "usl", weights: Array | None = None, ridge: float = 0.0
) -> Fit:
    """Fit a form to measured pairs.

    Args:
        samples: at least three; those whose numbers are not finite, or not positive, are left out.
        weights: of the samples, not negative; all alike where None.
        ridge: how much the law is held back from a bend that the samples do not show, as where they are all
            of one load; it is then flat. Small, it changes nothing where they do.

    Raises:
        ValueError: an unknown form, or fewer than three usable samples.
    """
    if kind not in _FORMS:
        raise ValueError(f"no curve {kind!r}; there are: {', '.join(KINDS)}")
    data = np.asarray(samples, dtype=float).reshape(-1, 2)
    weight = np.ones(len(data)) if weights is None else np.asarray(weights, dtype=float)
    usable = np.isfinite(data).all(axis=1) & (data > 0).all(axis=1) & (weight > 0)
    data, weight = data[usable], weight[usable]
    if len(data) < 3:
        raise ValueError(f"a curve needs at least 3 measured speeds, there are {len(data)}")
    load, speed = np.maximum(data[:, 0], 1.0), np.minimum(data[:, 1], FASTEST)
    weight = weight / weight.sum()
    starts, low = _starts(kind, load, speed, weight)
    held = np.zeros_like(low)
    if kind == "usl" and ridge:
        middle, level = float(weight @ load), float(weight @ speed)
        held = np.sqrt(ridge) * level * np.array([0.0, middle, middle * middle])
        starts.append(np.array([level, 0.0, 0.0]))
    each = [_least_squares(_FORMS[kind], start, low, load, speed, weight, held) for start in starts]
    parameters, _ = min(each, key=lambda found: found[1])
    return Fit(kind, tuple(parameters.tolist()), _r2(kind, parameters, load, speed, weight), len(data))


def _r2(kind: Kind, parameters: Array, load: Array, speed: Array, weight: Array) -> float:
    missed = float(weight @ (speed - _FORMS[kind](load, parameters)) ** 2)
    spread = float(weight @ (speed - weight @ speed) ** 2)
    scale = float(weight @ speed) ** 2
    if spread <= 1e-12 * scale:  # one load, one speed: right if the curve goes through it
        return 1.0 if missed <= 1e-6 * scale else 0.0
    return 1.0 - missed / spread


def _starts(kind: Kind, load: Array, speed: Array, weight: Array) -> tuple[list[Array], Array]:
    """Where searches begin, and the least value of each parameter."""
    if kind == "usl":  # 1 / v is linear in what the law counts; errors of 1 / v weigh v^4 as those of v
        columns = np.column_stack([np.ones_like(load), load - 1.0, load * (load - 1.0)])
        root = np.sqrt(weight) * speed**2
        found = np.linalg.lstsq(columns * root[:, None], root / speed, rcond=1e-10)[0]
        base = found[0] if found[0] > 0 else 1.0 / float(speed.max())
        return [np.array([1.0 / base, *np.maximum(found[1:] / base, 0.0)])], np.array([SLOWEST, 0.0, 0.0])
    root = np.sqrt(weight)
    lines = np.column_stack([np.ones_like(load), -load]) * root[:, None]
    line = np.linalg.lstsq(lines, root * speed, rcond=1e-10)[0]
    if kind == "linear":
        return [np.array([max(line[0], SLOWEST), max(line[1], 0.0)])], np.array([SLOWEST, 0.0])
    middle = float(weight @ load)
    inside = np.array([1.5 * float(speed.max()), 2.0 / max(middle, 1.0), middle])
    level, falls = np.linalg.lstsq(lines, root * np.log(speed), rcond=1e-10)[0]
    falls = max(float(falls), 1e-6)
    tail = np.array([np.exp(min(level + 10.0, 50.0)), falls, -10.0 / falls])  # an exponential: its far end
    return [inside, tail], np.array([SLOWEST, 0.0, -1e9])


def _least_squares(
    form: Callable[[Array, Array], Array],
    start: Array,
    low: Array,
    load: Array,
    speed: Array,
    weight: Array,
    held: Array,
) -> tuple[Array, float]:
    """Levenberg and Marquardt; a parameter that would pass its bound stays on it. With what is left over."""
    root, damping = np.sqrt(weight), 1e-3

    def missed(at: Array) -> Array:
        found: Array = np.concatenate([root * (speed - form(load, at)), -held * at])
        return found

    best = np.maximum(start, low)
    error = missed(best)
    cost = float(error @ error)
    for _ in range(300):
        steps = 1e-6 * np.maximum(np.abs(best), 1e-4)
        slopes = np.column_stack([error - missed(best + step) for step in np.diag(steps)]) / steps
        free = (best > low) | (slopes.T @ error > 0)
        slopes = slopes[:, free]
        square, toward = slopes.T @ slopes, slopes.T @ error
        if not free.any():
            break
        moved = best.copy()
        moved[free] += np.linalg.lstsq(
            square + damping * np.diag(np.maximum(np.diag(square), 1e-30)), toward, rcond=1e-14
        )[0]
        moved = np.maximum(moved, low)
        misses = missed(moved)
        if np.isfinite(misses).all() and (found := float(misses @ misses)) < cost:
            gained = cost - found
            best, error, cost, damping = moved, misses, found, max(damping / 5, 1e-12)
            if gained <= 1e-12 * max(cost, 1e-30):
                break
        elif damping > 1e10:
            break
        else:
            damping *= 4
    return best, cost
