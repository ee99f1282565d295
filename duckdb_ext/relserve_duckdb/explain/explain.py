"""EXPLAIN for llm calls: what a statement would ask, learned from rehearsals; nothing is asked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from relserve.errors import Cancelled, RelserveError, UsageError
from relserve_duckdb.explain.explanation import CallEstimate, Explanation
from relserve_duckdb.rehearse.prefetch import Rehearsal
from relserve_duckdb.rehearse.probe import Reached, probe
from relserve_duckdb.text.calls import Call, by_name, template_text
from relserve_duckdb.text.plans import stops_early
from relserve_duckdb.text.statements import Statement, explained, read_select, split
from relserve_duckdb.user.relation import Reading
from relserve_duckdb.user.variables import Variables

if TYPE_CHECKING:
    from relserve_duckdb.user.runner import Runner

log = logging.getLogger(__name__)

KEY = "llm_calls"  # of our row in the result of EXPLAIN
_ROWS = "FROM (VALUES {}) plans(explain_key, explain_value)"


def explain(runner: Runner, variables: Variables, query: Any, parameters: Any) -> Explanation:
    """What the llm calls of one statement would ask.

    Raises:
        UsageError: several statements, or a call is wrong.
        ModelError: a call's model is not to be had.
        duckdb.Error: the statement is wrong.
    """
    statements = runner.check(query, parameters)
    if len(statements) != 1:
        raise UsageError(f"explain_llm() takes one statement, not {len(statements)}")
    (statement,) = statements
    if (body := explained(statement.text)) is not None:
        (statement,) = split(runner.raw, body)
    # raises, as DuckDB does, while an unread result is open: rehearsing would end it
    runner.raw.sql("SELECT 1").fetchall()
    if not _calls_llm(runner, statement):
        return Explanation(())
    if statement.plans_only:
        return Explanation((), (f"{_kind(statement)} asks nothing",))
    if not statement.rehearsal:
        return Explanation(
            (), (f"{_kind(statement)} cannot be told in advance: it has no SELECT to rehearse",)
        )
    rehearsal = runner.build_rehearsal(variables, statement, parameters)
    return _explain(runner, statement, rehearsal, by_name(parameters))


def explain_relation(runner: Runner, relation: duckdb.DuckDBPyRelation, reading: Reading) -> Explanation:
    """What reading a relation would ask; raises as `explain` does."""
    statement = read_select(relation.sql_query())
    if reading is Reading.PLAN or not _calls_llm(runner, statement):
        return Explanation(())
    if reading is Reading.ONCE:
        return Explanation((), ("something below it can be read only once, so it was not read",))
    return _explain(runner, statement, runner.build_relation_rehearsal(relation, statement), {})


def has_calls_row(runner: Runner, statement: Statement) -> bool:
    """Whether the result of a statement is to have a row about llm calls: it is a plain EXPLAIN of some."""
    body = explained(statement.text)
    return body is not None and any(_calls_llm(runner, inner) for inner in split(runner.raw, body))


def with_calls_row(
    runner: Runner, variables: Variables, statement: Statement, parameters: Any, rows: list[Any]
) -> tuple[str, list[str]]:
    """A query, and its parameters, that gives the rows of an EXPLAIN and one more about the llm calls.

    Args:
        rows: what DuckDB says: (explain_key, explain_value).
    """
    told = in_words(runner, lambda: explain(runner, variables, explained(statement.text), parameters))
    values = [*rows, (KEY, told)]
    return _ROWS.format(", ".join(["(?, ?)"] * len(values))), [text for row in values for text in row]


def relation_in_words(runner: Runner, relation: duckdb.DuckDBPyRelation, reading: Reading) -> str:
    """What reading a relation would ask, or why that cannot be told; "" where it makes no llm call."""
    text = relation.sql_query()
    if not runner.indirect_calls.mentions(text) or not _calls_llm(runner, read_select(text)):
        return ""
    return in_words(runner, lambda: explain_relation(runner, relation, reading))


def in_words(runner: Runner, explaining: Callable[[], Explanation]) -> str:
    """An explanation as text, or why there is none: EXPLAIN must not fail where a query would."""
    try:
        return str(explaining())
    except (Cancelled, duckdb.InterruptException):
        raise
    except (RelserveError, duckdb.Error, pa.ArrowException) as error:
        why, runner.scope.error = runner.scope.error or error, None
        return f"the llm calls cannot be told in advance: {why}"


def _explain(
    runner: Runner, statement: Statement, rehearsal: Rehearsal | str, parameters: Any
) -> Explanation:
    if isinstance(rehearsal, str):
        return Explanation((), (f"the llm calls cannot be told in advance: {rehearsal}",))
    notes = []
    with runner.scope.planning():
        is_cut = stops_early(rehearsal.plan())
    if is_cut:
        notes.append("A LIMIT may end the statement early; the numbers are without that.")
    hidden = bool(runner.indirect_calls.hidden(statement.text)) or statement.root is None
    found = probe(runner.scope, rehearsal, None if hidden else len(statement.calls))
    calls = [
        _forecast(runner, number, site, is_cut or bool(site.depends_on))
        for number, site in enumerate(found, 1)
    ]
    if not rehearsal.independent:
        calls += _unreached(found, statement.calls, parameters)
    return Explanation(tuple(calls), (*notes, *_notes(calls)))


def _forecast(runner: Runner, number: int, reached: Reached, at_most: bool) -> CallEstimate:
    found = runner.scope.session.estimate(reached.relquery(), runner.scope.cancel)
    return CallEstimate(
        number,
        found.function,
        found.template,
        found,
        tuple(reached.depends_on),
        at_most,
        reached.holds_answers,
    )


def _unreached(found: Sequence[Reached], calls: Sequence[Call], parameters: Any) -> list[CallEstimate]:
    """The calls of the text that no rehearsal reached, though others were: answers decide about them.

    Where no call was reached, no row needs one, whatever any answer would be.
    """
    seen = {(each.site.function, each.site.binding.template.text) for each in found}
    missing: dict[tuple[str, str], None] = {}
    for call in calls:
        text = template_text(call, parameters)
        if found and text is not None and (call.function, text) not in seen:
            missing[call.function, text] = None
    before = tuple(range(1, len(found) + 1))
    return [
        CallEstimate(number, function, text, None, before, at_most=True)
        for number, (function, text) in enumerate(missing, len(found) + 1)
    ]


def _notes(calls: Sequence[CallEstimate]) -> list[str]:
    """What times rest on, and what is not known, a sentence for each reason."""
    numbers: dict[str, list[str]] = {}
    for call in calls:
        said = f"unknown, {call.seconds_from}" if call.seconds is None else f"by {call.seconds_from}"
        numbers.setdefault(said, []).append(f"#{call.number}")
    notes = [f"Time of {', '.join(which)}: {said}." for said, which in numbers.items()]
    if any(call.depends_on for call in calls):
        notes.append("What depends on another call's answers is an upper bound, found with made-up answers.")
    return notes


def _calls_llm(runner: Runner, statement: Statement) -> bool:
    if statement.root is not None:
        return bool(statement.calls) or bool(runner.indirect_calls.hidden(statement.text))
    return runner.indirect_calls.mentions(statement.text)


def _kind(statement: Statement) -> str:
    return (statement.text.split() or ["this"])[0].upper()
