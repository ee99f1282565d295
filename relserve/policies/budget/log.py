"""What a budget policy was shown and told, and what it chose, as lines of JSON that can be replayed.

A line is one event: {"policy": NAME}, the first one; {"measured": WORK, "s": SECONDS}; {"ended": ENDED};
{"view": VIEW, "budget": BUDGET}; and {"full": BYTES}, after which nothing more was kept. Numbers are written
so that they are read as they were, no limit as null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from math import inf, isinf
from typing import Any, NamedTuple

import numpy as np

from relserve.policies.budget.policy import BudgetPolicy
from relserve.policies.budget.state import Budget, Column, Decodes, Ended, Prompts, View, Work


class Replayed(NamedTuple):
    """A decision, as it was logged and as a policy took it again."""

    view: View
    logged: Budget
    chosen: Budget


def began(name: str) -> str:
    """The first line: whose decisions follow."""
    return _line({"policy": name})


def measured(work: Work, seconds: float) -> str:
    """A step has ended."""
    return _line({"measured": list(work), "s": seconds})


def ended(request: Ended) -> str:
    """A request has ended."""
    return _line({"ended": list(request)})


def chosen(view: View, budget: Budget) -> str:
    """A decision."""
    decodes, prompts = view.decodes, view.prompts
    shown = {
        "now_s": view.now_s, "most": [view.most_tokens, view.most_requests], "num_begun": prompts.num_begun,
        "decodes": [_numbers(column) for column in decodes[:-1]], "context": decodes.context_tokens,
        "prompts": [_numbers(column) for column in prompts[:-1]],
    }  # fmt: skip
    tokens, requests, target_s, reason = budget
    return _line({"view": shown, "budget": [tokens, requests, _number(target_s), reason]})


def full(num_bytes: int) -> str:
    """The last line of a log that may not grow further."""
    return _line({"full": num_bytes})


def replay(lines: Iterable[str], make: Callable[[str], BudgetPolicy]) -> list[Replayed]:
    """Take the decisions of a log again.

    Args:
        make: the policy that decides, told the name of the one that did.

    Raises:
        ValueError: a line, whose number is told, is none of a log.
    """
    policy: BudgetPolicy | None = None
    found: list[Replayed] = []
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
            if "policy" in event:
                policy = make(event["policy"])
            elif policy is None:
                raise ValueError("no policy before it")
            elif "measured" in event:
                policy.measured(Work(*event["measured"]), event["s"])
            elif "ended" in event:
                policy.ended(Ended(*event["ended"]))
            elif "view" in event:
                view, logged = _view(event["view"]), _budget(event["budget"])
                found.append(Replayed(view, logged, policy.choose(view)))
            elif "full" not in event:
                raise ValueError("no event that a log has")
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"line {number} is none of a log of step budgets: {error}") from error
    return found


def _view(found: Any) -> View:
    first, said, left, slo = map(_column, found["decodes"])
    decodes = Decodes(first, said, left, slo, found["context"])
    arrival, rest, done, ttft, tpot = map(_column, found["prompts"])
    prompts = Prompts(arrival, rest, done, ttft, tpot, found["num_begun"])
    return View(found["now_s"], decodes, prompts, *found["most"])


def _budget(found: Any) -> Budget:
    tokens, requests, target_s, reason = found
    return Budget(tokens, requests, inf if target_s is None else target_s, reason)


def _column(numbers: list[float | None]) -> Column:
    return np.array([inf if number is None else number for number in numbers], dtype=float)


def _numbers(column: Column) -> list[float | None]:
    return [_number(number) for number in column.tolist()]


def _number(number: float) -> float | None:
    """Whole ones without a fraction, which is shorter."""
    if isinf(number):
        return None
    return int(number) if number == int(number) else number


def _line(event: dict[str, Any]) -> str:
    return json.dumps(event, separators=(",", ":")) + "\n"
