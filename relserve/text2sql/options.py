"""The options of text2sql(), declared once and checked, and what its efforts stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from relserve.call.checks import one_of, text, texts, truth, whole
from relserve.call.durations import seconds_of
from relserve.call.option_specs import OptionSpec
from relserve.text2sql.guard.limits import DEFAULT, StatementLimits, read_limits


class Effort(NamedTuple):
    """How much is done for a question.

    Attributes:
        num_candidates: SQL texts that are made, each by another prompt.
        max_revisions: of each candidate.
        asks_keywords, asks_schema: whether the model is asked, or code alone decides.
        runs: whether candidates are run, so that errors and empty results are seen and results can vote.
        tests: whether the model writes unit tests and judges candidates by them.
    """

    num_candidates: int
    max_revisions: int
    asks_keywords: bool
    asks_schema: bool
    runs: bool
    tests: bool


EFFORTS: Mapping[str, Effort] = {
    "quick": Effort(1, 1, asks_keywords=False, asks_schema=False, runs=False, tests=False),
    "standard": Effort(3, 3, asks_keywords=False, asks_schema=True, runs=True, tests=False),
    "thorough": Effort(5, 10, asks_keywords=True, asks_schema=True, runs=True, tests=True),
}
MOST_CANDIDATES, MOST_REVISIONS = 5, 20

OPTIONS: Mapping[str, OptionSpec] = {
    "tables": OptionSpec("VARCHAR[]", "the only tables to look at (default: all)", texts),
    "schema": OptionSpec("VARCHAR", "the only schema of the database to look at", text),
    "evidence": OptionSpec("VARCHAR", "what one must know to understand the question", text),
    "model": OptionSpec("VARCHAR", "'tiny-sql', a local path, a hub id, or a server's URL", text),
    "effort": OptionSpec(
        "VARCHAR",
        "'quick', 'standard' (default) or 'thorough'",
        one_of(tuple(EFFORTS), f"one of {', '.join(map(repr, EFFORTS))}"),
    ),
    "candidates": OptionSpec(
        "BIGINT", "SQL texts to choose from (by effort: 1, 3, 5)", whole(1, MOST_CANDIDATES)
    ),
    "max_revisions": OptionSpec(
        "BIGINT", "most revisions of a candidate (by effort: 1, 3, 10)", whole(0, MOST_REVISIONS)
    ),
    "deadline_s": OptionSpec(
        "ANY",
        "the longest time for all of it: seconds, or an interval",
        lambda _, value: seconds_of("deadline", value),
    ),
    "seed": OptionSpec("BIGINT", "of what is done in an order of chance", whole(0, 2**63 - 1)),
    "examples": OptionSpec("VARCHAR", "your table of questions and their right SQL", text),
    "grammar": OptionSpec("BOOLEAN", "names that exist, by grammar (default: where the engine can)", truth),
    "limits": OptionSpec("ANY", "of the SQL's time, memory, rows and disk; 'none' for none", read_limits),
}


@dataclass(frozen=True)
class Text2SqlOptions:
    """What a call asked for; an option that is None is decided by the effort, the engine or the database.

    Raises:
        OptionError: a value of the wrong type, or out of range; the message says what is allowed.
    """

    tables: tuple[str, ...] | None = None
    schema: str | None = None
    evidence: str | None = None
    model: str | None = None
    effort: str = "standard"
    candidates: int | None = None
    max_revisions: int | None = None
    deadline_s: float | None = None
    seed: int | None = None
    examples: str | None = None
    grammar: bool | None = None
    limits: StatementLimits | None = None

    def __post_init__(self) -> None:
        for name, spec in OPTIONS.items():
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, spec.check(name, value))

    @property
    def models(self) -> tuple[str | None, ...]:
        """As of `relserve.call.options.Options`."""
        return (self.model,)

    @property
    def held_to(self) -> StatementLimits:
        """What the SQL may take, when it is tried and when it runs."""
        return DEFAULT if self.limits is None else self.limits

    @property
    def work(self) -> Effort:
        """What is done for each question: the effort's, but for what is given by itself."""
        effort = EFFORTS[self.effort]
        num_candidates = effort.num_candidates if self.candidates is None else self.candidates
        max_revisions = effort.max_revisions if self.max_revisions is None else self.max_revisions
        return effort._replace(
            num_candidates=num_candidates, max_revisions=max_revisions,
            runs=effort.runs or num_candidates > 1,
        )  # fmt: skip
