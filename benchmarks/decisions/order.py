"""A question as long as the state, before it and after it: rows share what stands before.

Beside it, four questions about a state of 600 tokens and one: they share the state.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from benchmarks.beer import create_beer_table
from benchmarks.common import table
from benchmarks.decisions.rows import (
    TABLE,
    YES_OR_NO,
    PartFindings,
    connection_to,
    engine_of,
    seconds_of,
    texts_of,
)
from relserve.api import Connection, connect
from relserve.engines.local.engine import LocalEngine
from relserve.tiny import MODEL_DIR

LENGTH = {"max_model_len": 2048}
CHARS = 500  # of a state
STATE_TOKENS = 600
GUIDE = (
    "You read what a guest wrote about a beer, and say whether this review is positive. It is positive where "
    "the guest would drink the beer again, praises how it smells, tastes or looks, or calls it good for its "
    "price. It is not positive where the guest poured it away, found it thin, stale, flat or too sweet, or "
    "was sent the wrong bottle. Of a guest who names good and bad things alike, what he says last counts "
    "most. What others said of the beer, the weather and the company do not count. Is this review positive?"
)
TAGS = ("smell", "taste", "price", "service")


def measure_order(quick: bool) -> PartFindings:
    """A long question before its state, and after it."""
    num_rows, num_turns = (200, 1) if quick else (1_000, 3)
    templates = {"question first": f"{GUIDE} {{}}", "state first": f"{{}} {GUIDE}"}
    with engine_of("tiny", MODEL_DIR, LENGTH) as engine, connection_to(engine, num_rows, CHARS) as con:
        calls = {name: YES_OR_NO.weighed(template) for name, template in templates.items()}
        took = _in_turns(con, engine, calls, num_turns)
        tokens = _tokens(engine, [GUIDE]), _tokens(engine, texts_of(con)) / num_rows
    print(f"tokens of the question {tokens[0]:.0f}, of a state {tokens[1]:.0f}")
    gain = _ratio(took, "state first", "question first")
    return PartFindings({"question_first_gain": round(gain, 2)}, {"seconds": took, "tokens": tokens})


def measure_questions(quick: bool) -> PartFindings:
    """Four questions about a state, and one."""
    num_rows, num_turns = (60, 1) if quick else (300, 3)
    calls = {
        str(num): f"llm_tags('What is this about? {{}}', text, choices := {list(TAGS[:num])})"
        for num in (1, len(TAGS))
    }
    with engine_of("tiny", MODEL_DIR, LENGTH) as engine, _long_states(engine, num_rows) as con:
        took = _in_turns(con, engine, calls, num_turns)
    over = _ratio(took, "4", "1")
    return PartFindings({"four_over_one": round(over, 2)}, {"rows": num_rows, "seconds": took})


def _in_turns(
    con: Connection, engine: LocalEngine, calls: Mapping[str, str], num_turns: int
) -> dict[str, list[float]]:
    """Seconds of each call in each turn."""
    took: dict[str, list[float]] = {name: [] for name in calls}
    seconds_of(con, engine, next(iter(calls.values())))  # what is learnt of a tokenizer, once
    for turn in range(num_turns):
        for name in list(calls)[:: -1 if turn % 2 else 1]:
            took[name].append(seconds_of(con, engine, calls[name]))
    lines = [[name, turn, s] for name, seconds in took.items() for turn, s in enumerate(seconds)]
    print(table(["asked", "turn", "s"], lines), "\n")
    return took


def _ratio(took: Mapping[str, list[float]], one: str, other: str) -> float:
    return statistics.median(a / b for a, b in zip(took[one], took[other], strict=True))


def _tokens(engine: LocalEngine, texts: list[str]) -> int:
    assert engine.running is not None
    return sum(engine.running.encoder.num_tokens(texts))


@contextmanager
def _long_states(engine: LocalEngine, num_rows: int) -> Iterator[Connection]:
    """A connection with a table (id, text), whose texts are reviews one after another, of `STATE_TOKENS`."""
    with connect(engine=engine, progress=False) as con:
        create_beer_table(con)
        reviews = con.raw.execute("SELECT review FROM beer WHERE review <> '' ORDER BY id").fetchall()
        texts, begun, num_tokens = list[str](), list[str](), 0
        for (review,) in reviews:
            begun.append(review)
            num_tokens += _tokens(engine, [review])
            if num_tokens >= STATE_TOKENS:
                texts.append(_cut(engine, " ".join(begun)))
                begun, num_tokens = [], 0
            if len(texts) == num_rows:
                break
        made: Any = pa.table({"id": range(len(texts)), "text": texts})
        con.raw.register("made", made)
        con.raw.execute(f"CREATE TABLE {TABLE} AS FROM made")
        yield con


def _cut(engine: LocalEngine, text: str) -> str:
    """The beginning of a text that has so many tokens, about."""
    return text[: round(len(text) * STATE_TOKENS / _tokens(engine, [text]))]
