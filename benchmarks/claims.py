"""What a benchmark declares of itself: the rooms that it measures, how its figures are held, what it needs.

Each benchmark's module has these as plain literals:

* ROOMS: the folders and files of the code that it measures, relative to the root of the repository;
* HEADLINE: a rule for each figure of its last line; a name stands for all figures below it, too;
* NEEDS, if `make install` and the data tables are not enough: a path or a program, and how to have it.

They are read from the source, because importing a benchmark may take vLLM's seconds.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.provenance import ROOT


@dataclass(frozen=True)
class Held:
    """A figure that a quick run has, too, and that may not become worse than a quick run of before.

    Attributes:
        spread: the share of the figure by which it moves from run to run on unchanged code.
        by: the same in the figure's own unit, where a share says little, as of a figure near zero.
        timed: it is in seconds or a second's work, and is compared at one speed of the machine.
        by_cpu: it depends on the CPU's instructions; like what is timed it is held on the same CPU only.
        interval: it is a list of its middle, least and greatest of the run's seeds; the middle is held
            against the worse end of the interval of before.
    """

    spread: float = 0.0
    by: float = 0.0
    timed: bool = False
    by_cpu: bool = False
    interval: bool = False


class Higher(Held):
    """The higher the better."""


class Lower(Held):
    """The lower the better."""


@dataclass(frozen=True)
class Exact:
    """A figure that has one right value."""

    value: Any


@dataclass(frozen=True)
class Untold:
    """A figure that `regress` cannot hold, and why."""

    why: str


Rule = Higher | Lower | Exact | Untold
RULES: dict[str, type[Rule]] = {"Higher": Higher, "Lower": Lower, "Exact": Exact, "Untold": Untold}


class Benchmark(NamedTuple):
    """A benchmark and what it declares."""

    name: str
    rooms: tuple[str, ...]
    headline: Mapping[str, Rule]
    needs: Mapping[str, str]


def benchmarks(folder: Path = ROOT / "benchmarks") -> dict[str, Benchmark]:
    """All benchmarks that declare rooms, by name."""
    paths = {path.stem: path for path in sorted(folder.glob("*.py"))}
    paths |= {path.parent.name: path for path in sorted(folder.glob("*/__main__.py"))}
    found = (declared(name, path.read_text(encoding="utf-8")) for name, path in sorted(paths.items()))
    return {each.name: each for each in found if each.rooms}


def declared(name: str, source: str) -> Benchmark:
    """What a module declares; no room if it is no benchmark.

    Raises:
        ValueError: a declaration is no literal, or has a rule that there is not.
    """
    values = {
        target.id: node.value
        for node in ast.parse(source).body if isinstance(node, ast.Assign)
        for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    rooms, needs = (ast.literal_eval(values[each]) if each in values else () for each in ("ROOMS", "NEEDS"))
    headline = values.get("HEADLINE")
    if headline is not None and not isinstance(headline, ast.Dict):
        raise ValueError(f"HEADLINE of {name} is not written as a dict")
    pairs = zip(headline.keys, headline.values, strict=True) if headline else ()
    rules = {ast.literal_eval(key): _rule(name, value) for key, value in pairs if key is not None}
    return Benchmark(name, rooms, rules, dict(needs))


def _rule(name: str, node: ast.expr) -> Rule:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RULES):
        raise ValueError(f"HEADLINE of {name}, line {node.lineno}: no rule; there are {', '.join(RULES)}")
    named = {each.arg: ast.literal_eval(each.value) for each in node.keywords if each.arg}
    return RULES[node.func.id](*map(ast.literal_eval, node.args), **named)


def figures_of(headline: Mapping[str, Any], rules: Mapping[str, Rule]) -> dict[str, Any]:
    """A headline's figures by name; those inside others have both names, with a point between them.

    A figure whose rule takes it as a whole (an interval, an exact value) is not taken apart.
    """
    found: dict[str, Any] = {}
    for name, value in headline.items():
        _take_apart(name, value, rules, found)
    return found


def _take_apart(name: str, value: Any, rules: Mapping[str, Rule], found: dict[str, Any]) -> None:
    rule = rule_of(name, rules)
    is_whole = isinstance(rule, Exact) or (isinstance(rule, Held) and rule.interval)
    parts: Mapping[Any, Any] = {}
    if isinstance(value, Mapping):
        parts = value
    elif isinstance(value, list) and not is_whole:
        parts = dict(enumerate(value))
    if not parts:
        found[name] = value
    for part, its in parts.items():
        _take_apart(f"{name}.{part}", its, rules, found)


def rule_of(figure: str, rules: Mapping[str, Rule]) -> Rule | None:
    """The rule of a figure: its own, or that of the nearest name above it."""
    while figure not in rules and "." in figure:
        figure = figure.rpartition(".")[0]
    return rules.get(figure)
