"""A statement whose text2sql() calls become SQL before it runs.

`FROM text2sql('How many ..?') t(n)` becomes `FROM (SELECT count(*) ..) t(n)`, where it stands: what runs is
the user's own statement with a subquery in it, so joins, CTEs, views and EXPLAIN work as with any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from relserve.errors import OptionError, Text2SqlError, UsageError
from relserve.linking.schema import literal
from relserve.text2sql.guard.limits import limited
from relserve_duckdb.questions.arguments import Question, question_of
from relserve_duckdb.questions.asker import Asker
from relserve_duckdb.questions.chosen import ChosenQuery
from relserve_duckdb.questions.qualifying import hidden_in, qualified
from relserve_duckdb.text.calls import by_name
from relserve_duckdb.text.macros import has_parameters, makes_macro
from relserve_duckdb.text.parameters import find_parameters
from relserve_duckdb.text.question_calls import TEXT2SQL, QuestionCall, find_question_calls
from relserve_duckdb.text.quoted_errors import quoted
from relserve_duckdb.text.stand_in import StandIn, TextPiece, replaced, with_numbers
from relserve_duckdb.text.statements import Statement, only_explains, split, standing_in
from relserve_duckdb.udf.connection_state import ConnectionState

_ROW = f"FROM (VALUES ('{TEXT2SQL}', {{}})) plans(explain_key, explain_value)"

Queries = Callable[
    [StandIn, Sequence[Question]], Mapping[Question, ChosenQuery]
]  # the SQL of a text's questions


class NotAsked(Exception):
    """The SQL of a question is not known, and nobody may be asked; its text says so to people."""


@dataclass(frozen=True)
class Expander:
    """Expands the statements of one connection."""

    raw: duckdb.DuckDBPyConnection
    state: ConnectionState
    asker: Asker

    def expanded(self, statement: Statement, parameters: Any) -> tuple[Statement, Any]:
        """What runs instead of a statement, and the parameters that are left for it.

        EXPLAIN asks no model: of a question whose SQL is not known, it says so in a row.

        Raises:
            UsageError: a call is not given constants; the message shows it.
            Text2SqlError: a question became no SQL.
            ModelError, Cancelled: see `Asker.ask`.
        """
        if not only_explains(statement):
            return self._expanded(statement, parameters, self._asked)
        try:
            return self.known(statement, parameters)
        except NotAsked as reason:
            return split(self.raw, _ROW.format(literal(str(reason))))[0], None

    def known(self, statement: Statement, parameters: Any) -> tuple[Statement, Any]:
        """The same, without asking.

        Raises:
            NotAsked: the SQL of a question is not known.
            UsageError: as `expanded`.
        """
        return self._expanded(statement, parameters, self._kept)

    def _expanded(self, statement: Statement, parameters: Any, queries: Queries) -> tuple[Statement, Any]:
        if not statement.questions:
            return statement, parameters
        written = statement.runnable if isinstance(statement.runnable, str) else statement.text
        numbered = with_numbers(written)
        _check_macro(numbered.text)
        calls = find_question_calls(numbered.text)
        given = by_name(parameters)
        questions = [self._question(numbered, call, given) for call in calls]
        sql_of = queries(numbered, questions)
        chosen = [sql_of[question] for question in questions]
        around = replaced(numbered.text, [TextPiece("", call.start, call.end) for call in calls]).text
        is_hidden = hidden_in(around)
        sqls = [qualified(self.raw, each, is_hidden) for each in chosen]
        held = [limited(sql, each.options.held_to) for sql, each in zip(sqls, questions, strict=True)]
        text = _embedded(numbered, calls, held)
        found = standing_in(self.raw, text, [each.sql for each in chosen])
        self.state.stand_ins = [*self.state.stand_ins, found.stand_in or text]
        self.asker.last_sql = standing_in(self.raw, _embedded(numbered, calls, sqls), ()).text
        return found, _left(parameters, numbered.text, found.text)

    def _question(self, text: StandIn, call: QuestionCall, parameters: Mapping[str, Any]) -> Question:
        try:
            return question_of(self.raw, call, parameters)
        except UsageError as error:
            kind = OptionError if isinstance(error, OptionError) else UsageError
            raise kind(f"{error}\n\n{_place(text, call)}") from error

    def _asked(self, text: StandIn, questions: Sequence[Question]) -> dict[Question, ChosenQuery]:
        """Ask: those of one statement that have the same options together."""
        found: dict[Question, ChosenQuery] = {}
        for options in dict.fromkeys(each.options for each in questions):
            texts = [each.text for each in dict.fromkeys(questions) if each.options == options]
            for outcome in self.asker.ask(texts, options, self.state.run.cancel, to_run=True):
                question = Question(outcome.question, options)
                if outcome.failure is not None:
                    call = find_question_calls(text.text)[questions.index(question)]
                    raise _at(outcome.failure, _place(text, call))
                if (kept := self.asker.kept(question)) is not None:
                    found[question] = kept
        return found

    def _kept(self, text: StandIn, questions: Sequence[Question]) -> dict[Question, ChosenQuery]:
        known = {each: self.asker.known(each) for each in questions}
        if unknown := [_not_asked(each) for each, sql in known.items() if sql is None]:
            raise NotAsked("\n".join(unknown))
        return {each: sql for each, sql in known.items() if sql is not None}


def _check_macro(text: str) -> None:
    """A parameter would take the place of every column of its name in the SQL of the question."""
    if makes_macro(text) and has_parameters(text):
        raise UsageError(
            "text2sql() cannot stand in a macro that takes parameters: they would hide columns of the same "
            "name in its SQL. Make a macro without parameters, or a view, and filter what it gives"
        )


def _embedded(text: StandIn, calls: Sequence[QuestionCall], queries: Sequence[str]) -> StandIn:
    """A text with queries in the place of its calls, as subqueries in brackets."""
    parts = []
    for call, query in zip(calls, queries, strict=True):
        alias = "" if call.has_alias else f" AS {TEXT2SQL}"
        parts.append(TextPiece(f"({query}){alias}", call.start, call.end))
    return text.then(replaced(text.text, parts))


def _left(parameters: Any, text: str, expanded: str) -> Any:
    """The parameters without those that only the calls used."""
    if not parameters:
        return parameters
    before, after = ({place.name for place in find_parameters(each)} for each in (text, expanded))
    return {name: value for name, value in by_name(parameters).items() if name not in before - after} or None


def _place(text: StandIn, call: QuestionCall) -> str:
    """The line of the user's text in which a call stands."""
    return quoted(text.written, *text.origin(call.start, call.end))


def _at(failure: Text2SqlError, place: str) -> Text2SqlError:
    """A failure that shows which call it is of."""
    return failure.retold(f"{failure.problem}\n\n{place}\n")


def _not_asked(question: Question) -> str:
    work, model = question.options.work, question.options.model
    return (
        f'"{question.text}" has not been asked on this connection, or its tables changed since, and EXPLAIN '
        f"asks no model. Run the statement, or EXPLAIN ANALYZE it: {model or 'the default model'} is then "
        f"asked for candidates, {work.num_candidates} at this effort, and EXPLAIN shows the SQL."
    )
