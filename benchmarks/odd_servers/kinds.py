"""A kind of misbehaviour, and what is to come of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from benchmarks.odd_servers.server import Behaviour, OddReply, OddRequest, completion, good, http

TRIES = 3  # of a row: one and two more
PATIENCE_S = 60.0  # for a reply, where the kind is not about time


class OddRowOutcome(Enum):
    """What is to come of the odd row."""

    RIGHT = "its right answer"
    NULL = "NULL, on record"
    EITHER = "one of these two"
    ENDS = "the statement ends with an error of the engine"


class Misbehaviour(NamedTuple):
    """One kind of misbehaviour.

    Attributes:
        least: requests that the odd row takes at least, by whether its answer is wanted as {"answer": ..}.
        on_every_row: the server does it on every row; `least` is then of the whole statement.
        patience_s: the engine's time-out.
        if_wrapped: it does it only where the answer is wanted as {"answer": ..}; else it behaves.
    """

    area: str
    name: str
    behaviour: Behaviour
    outcome: OddRowOutcome
    least: Callable[[bool], int]
    on_every_row: bool = False
    patience_s: float = PATIENCE_S
    if_wrapped: bool = False


def always(area: str, name: str, said: Any, outcome: OddRowOutcome, least: int = 1) -> Misbehaviour:
    """A server that says the same of the odd row however often it is asked.

    Args:
        said: a `OddReply`, the body of a completion, or what makes one of these for a request.
    """

    def behaviour(asked: OddRequest) -> OddReply:
        made = said(asked) if callable(said) else said
        return made if isinstance(made, OddReply) else http(200, made)

    return Misbehaviour(area, name, behaviour, outcome, lambda _: least)


def once(area: str, name: str, sent: OddReply, patience_s: float = PATIENCE_S) -> Misbehaviour:
    """A server that misbehaves on the first try alone: the second one has the answer."""

    def behaviour(asked: OddRequest) -> OddReply:
        return sent if asked.number == 1 else good(asked)

    return Misbehaviour(area, name, behaviour, OddRowOutcome.RIGHT, lambda _: 2, patience_s=patience_s)


def wrapped(area: str, name: str, content: Callable[[str], Any], outcome: OddRowOutcome) -> Misbehaviour:
    """A server that writes an answer that was asked for as {"answer": ..} otherwise; others are right.

    Args:
        content: makes the content of the right one.
    """

    def said(asked: OddRequest) -> Any:
        return completion(content(asked.content) if asked.is_wrapped else asked.content)

    return always(area, name, said, outcome)._replace(if_wrapped=True)
