"""Whether the figures of a quick run are worse than those of one before, by more than their spread."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from benchmarks.claims import Benchmark, Exact, Held, Higher, Rule, Untold, figures_of, rule_of

OK, BETTER, WORSE, WRONG, GONE, NEW = "ok", "better", "worse", "wrong", "gone", "new"
BAD = (WORSE, WRONG, GONE)


class FigureVerdict(NamedTuple):
    """One figure.

    Attributes:
        now: its value; of a timed one, what it would be at the speed that the machine had before.
        before: that of the quick run before, or the one right value.
        used: the share of its spread by which it is worse than before; negative where it is better.
        full: that of the last full run.
    """

    figure: str
    word: str
    now: Any
    before: Any
    used: float
    full: Any

    @property
    def row(self) -> list[Any]:
        """Figure, now, before, ratio of the two, share of the spread, ratio to the full run, word."""
        ratios = [_ratio(self.now, other) for other in (self.before, self.full)]
        used = self.used if math.isfinite(self.used) else None
        return [self.figure, _shown(self.now), _shown(self.before), ratios[0], used, ratios[1], self.word]


def judged(
    benchmark: Benchmark,
    headline: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    slower: float | None,
    full: Mapping[str, Any] | None,
) -> list[FigureVerdict]:
    """A verdict for each figure that has a rule and is to be held.

    Args:
        headline: of the quick run.
        before: of the one that it is held against; None: there is none.
        slower: how many times as long as then the machine takes for the same work; None: it is another one.
        full: of the last full run; None: there is none.
    """
    now, past, whole = (figures_of(each or {}, benchmark.headline) for each in (headline, before, full))
    names = list(dict.fromkeys([*now, *past, *_lost(benchmark.headline, now)]))
    verdicts = []
    for name in names:
        rule = rule_of(name, benchmark.headline)
        held = isinstance(rule, (Exact, Held))
        if held and name not in now:
            verdicts.append(FigureVerdict(name, GONE, None, past.get(name), math.inf, whole.get(name)))
        elif isinstance(rule, Exact):
            is_right = now[name] == rule.value
            word, used = (OK, 0.0) if is_right else (WRONG, math.inf)
            verdicts.append(FigureVerdict(name, word, now[name], rule.value, used, whole.get(name)))
        elif isinstance(rule, Held):
            verdicts.append(_held(name, rule, now[name], past.get(name), slower, whole.get(name)))
    return verdicts


def _lost(rules: Mapping[str, Rule], now: Mapping[str, Any]) -> list[str]:
    """Rules for which the headline has no figure."""
    names = [name for name, rule in rules.items() if not isinstance(rule, Untold)]
    return [name for name in names if not any(each == name or each.startswith(f"{name}.") for each in now)]


def _held(name: str, rule: Held, now: Any, before: Any, slower: float | None, full: Any) -> FigureVerdict:
    if slower is None and (rule.timed or rule.by_cpu):
        before = None
    value, past = _number(now), _number(before)
    if value is None:
        word, used = (OK, 0.0) if past is None else (GONE, math.inf)
        return FigureVerdict(name, word, now, before, used, full)
    if past is None:
        return FigureVerdict(name, NEW, value, before, 0.0, full)
    if rule.timed and slower is not None:
        value = value * slower if isinstance(rule, Higher) else value / slower
    used = _used(rule, value, before)
    word = WORSE if used > 1 else BETTER if used < -1 else OK
    return FigureVerdict(name, word, value, past, used, _number(full))


def _used(rule: Held, now: float, before: Any) -> float:
    sign = 1 if isinstance(rule, Higher) else -1
    past = _number(before) or 0.0
    lost = sign * (past - now)
    margin = rule.spread * abs(past) + rule.by
    if rule.interval:
        margin += max(sign * (past - end) for end in before[1:])
    if margin > 0:
        return lost / margin
    return math.inf if lost > 0 else 0.0


def _number(value: Any) -> float | None:
    """A figure as a number: the middle of an interval; None where it has none."""
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, bool) or not isinstance(first, (int, float)) or math.isnan(first):
        return None
    return float(first)


def _ratio(one: Any, other: Any) -> float | None:
    above, below = _number(one), _number(other)
    return above / below if above is not None and below else None


def _shown(value: Any) -> Any:
    number = _number(value)
    return str(value) if number is None else round(number, 4)
