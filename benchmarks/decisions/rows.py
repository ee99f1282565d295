"""What the parts of `benchmarks.decisions` ask: rows of text, and questions as SQL and as prompts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.beer import create_beer_table, quoted
from relserve.api import Connection, connect
from relserve.call.answer_types import ChoiceAnswer
from relserve.call.decisions import YES_NO
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn

TABLE = "rated"


class PartFindings(NamedTuple):
    """What a part of the benchmark found: its figures of the headline, and everything else that is saved."""

    headline: dict[str, Any]
    details: Any


class DecisionQuestion(NamedTuple):
    """A question about each row, with its choices; none for a yes or no."""

    name: str
    text: str
    choices: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """What a model may answer."""
        return self.choices or YES_NO

    def weighed(self, template: str = "", more: str = "") -> str:
        """The call that gives probabilities."""
        function = "llm_probs" if self.choices else "llm_prob"
        return self._call(function, template, bool(self.choices), more)

    def decoded(self, more: str = "") -> str:
        """The call that decodes a choice under a grammar."""
        return self._call("llm_classify", "", True, more)

    def _call(self, function: str, template: str, has_choices: bool, more: str) -> str:
        options = f", choices := {list(self.options)}" if has_choices else ""
        return f"{function}({quoted(template or self.text + ' {}')}, text{options}{more})"

    def prompts(self, texts: Sequence[str]) -> list[str]:
        """What the model is asked about rows, where its answers are the choices' own words."""
        lead = ChoiceAnswer(self.options).instruction
        return [f"{lead}\n{self.text} {text}" for text in texts]


YES_OR_NO = DecisionQuestion("yes_no", "Is this review of a beer positive?")
FIVE = DecisionQuestion("choices", "How good was the beer?", ("great", "good", "average", "bad", "awful"))
QUESTIONS = (YES_OR_NO, FIVE)


@contextmanager
def engine_of(name: str, path: Path, arguments: Mapping[str, Any]) -> Iterator[LocalEngine]:
    """An engine that is up, and is ended with the block."""
    engine = LocalEngine(name, str(path), engine_args=arguments)
    try:
        spawn(engine.start()).result()
        yield engine
    finally:
        spawn(engine.close()).result()


@contextmanager
def connection_to(engine: LocalEngine, num_rows: int, chars: int) -> Iterator[Connection]:
    """A connection with a table (id, text) of so many different beginnings of beer reviews."""
    with connect(engine=engine, progress=False) as con:
        create_beer_table(con)
        con.raw.execute(
            f"CREATE TABLE {TABLE} AS SELECT min(id) AS id, left(review, {chars}) AS text FROM beer "
            f"WHERE length(review) >= {chars} GROUP BY ALL ORDER BY id LIMIT {num_rows}"
        )
        yield con


def texts_of(con: Connection) -> list[str]:
    """The texts of that table, in order."""
    return [text for (text,) in con.raw.execute(f"SELECT text FROM {TABLE} ORDER BY id").fetchall()]


def seconds_of(con: Connection, engine: LocalEngine, call: str, may_fail: bool = False) -> float:
    """Seconds of a call over the table, from an empty prefix cache; `may_fail`: some rows may be NULL.

    Raises:
        AssertionError: a row has no answer.
    """
    spawn(engine.reset_prefix_cache()).result()
    began_s = time.perf_counter()
    found = con.execute(f"SELECT count(*), count(a) FROM (SELECT {call} AS a FROM {TABLE})").fetchall()
    took_s = time.perf_counter() - began_s
    (num_rows, num_answers), *_ = found
    missing = 0 if may_fail else num_rows - num_answers
    assert not missing, f"{missing} of {num_rows} rows have no answer to {call}"
    return took_s


def tokens_of_last(con: Connection) -> tuple[int, int]:
    """Tokens of prompts and of replies of the latest relQuery."""
    asked = "SELECT prompt_tokens, output_tokens FROM llm_queries() ORDER BY started DESC LIMIT 1"
    ((prompts, replies),) = con.execute(asked).fetchall()
    return prompts, replies
