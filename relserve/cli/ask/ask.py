"""One question, or one after another: the SQL that answers it is shown, run, and its rows written."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import duckdb
import pyarrow as pa
from relserve_duckdb.text.question_calls import TEXT2SQL
from relserve_duckdb.text.question_options import options_of

from relserve.api import Connection
from relserve.cli import demo
from relserve.cli.ask.source import QuestionSource, open_source
from relserve.cli.console import confirmed, console
from relserve.cli.formats import Format
from relserve.cli.interrupted import STOPPED
from relserve.cli.output import print_table, write
from relserve.cli.picture import bars_of, picture
from relserve.errors import RelserveError, UnlinkedWordsError
from relserve.settings import load
from relserve.text2sql.guard.limits import limited
from relserve.text2sql.writers import reads_question_alone

__all__ = ["Manner", "QuestionSource", "run"]

STEPS = "SELECT workflow_id, stage, calls, seconds FROM llm_steps()"
FOLLOWED = 3  # questions that a further one may go on from
ASKED_BEFORE = "The question before was: {question}\nIts SQL was: {sql}"
_PROMPT = "ask> "
_HINT = "Ask in plain words; a question may go on from those before. Ctrl-D leaves."
_LEAVE = ("exit", "quit")

_Questions: TypeAlias = Iterator[str]


class Manner(NamedTuple):
    """How questions are answered.

    Attributes:
        confirms: ask before SQL runs.
        format: of the rows.
        stats: write llm_steps() to stderr at the end.
        with_llm: where the tables do not know a word, run the query in which a model reads the texts.
    """

    confirms: bool
    format: Format
    stats: bool
    with_llm: bool = False


def run(
    question: str | None,
    source: QuestionSource,
    options: Mapping[str, Any],
    manner: Manner,
    cache: bool,
) -> None:
    """Answer a question, or those that are typed, or that come on stdin, a line each.

    Args:
        options: of text2sql().
        cache: use kept answers, and keep new ones.

    Raises:
        UsageError: there is nothing to ask about.
        Text2SqlError: the only question became no SQL.
    """
    with open_source(source, cache) as con:
        asker = QuestionDialogue(con, options, manner)
        if question is not None:
            asker.answer(question)
        else:
            _answer_all(asker, typed_questions())
        if manner.stats:
            print_table(console(stderr=True), demo.rows(con, STEPS))


def _answer_all(asker: QuestionDialogue, questions: _Questions) -> None:
    """Questions one after another; one that fails leaves the others."""
    for question in questions:
        try:
            asker.answer(question)
        except STOPPED:
            sys.stderr.write("\rcancelled\n")
        except (RelserveError, duckdb.Error) as error:
            sys.stderr.write(f"relserve: {error}\n")


class QuestionDialogue:
    """Answers questions about one connection; each may go on from those before, where the model reads more
    than the question."""

    def __init__(self, con: Connection, options: Mapping[str, Any], manner: Manner) -> None:
        self._con, self._options, self._manner = con, dict(options), manner
        self._before: list[str] = []

    def answer(self, question: str) -> None:
        """Show the SQL of a question, and write its rows.

        Raises:
            Text2SqlError: it became no SQL.
        """
        tells = self._before and not reads_question_alone(self._options.get("model") or load().model)
        before = {"evidence": "\n".join(self._before)} if tells else {}
        try:
            found = self._con.text2sql(question, **before, **self._options)
        except UnlinkedWordsError as error:
            self._answer_with_llm(question, error)
            return
        self._remember(question, found.sql)
        if not self._manner.confirms or confirmed("Run it?", default=True):
            self._write(found.arrow())

    def _answer_with_llm(self, question: str, error: UnlinkedWordsError) -> None:
        """Run the query in which a model reads the texts, where that was asked for, or the user says so now.

        Raises:
            UnlinkedWordsError: there is none, or it may not run and nobody can be asked.
        """
        if error.proposal is None:
            raise error
        if not self._manner.with_llm:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise error.retold(f"{error.problem} `relserve ask --with-llm` runs that query.")
            sys.stderr.write(f"relserve: {error}\n")
            if not confirmed("Have a model read these rows' texts?", default=False):
                return
        self._remember(question, error.proposal)
        if self._manner.with_llm and self._manner.confirms and not confirmed("Run it?", default=True):
            return
        relation = self._con.sql(limited(error.proposal, options_of(TEXT2SQL, self._options).held_to))
        assert relation is not None
        self._write(relation.to_arrow_table())

    def _remember(self, question: str, sql: str) -> None:
        """Show the SQL; questions that follow may go on from it."""
        self._before.append(ASKED_BEFORE.format(question=question, sql=sql))
        del self._before[:-FOLLOWED]
        self._screen.print(sql, style="cyan", soft_wrap=True)

    def _write(self, rows: pa.Table) -> None:
        write(rows, self._manner.format)
        if self._is_for_people and self._screen.is_terminal and (bars := bars_of(rows)) is not None:
            self._screen.print(picture(bars))

    @property
    def _is_for_people(self) -> bool:
        return self._manner.format is Format.table

    @property
    def _screen(self) -> Any:
        return console(stderr=not self._is_for_people)


def typed_questions() -> _Questions:
    """What is typed at a prompt on a terminal; else the lines of stdin. Blank ones are left out."""
    lines = _from_prompt() if sys.stdin.isatty() and sys.stdout.isatty() else sys.stdin
    for line in lines:
        if question := line.strip():
            if question.lower() in _LEAVE:
                return
            yield question


def _from_prompt() -> _Questions:
    """Lines typed at a prompt that keeps them; Ctrl-C clears one, Ctrl-D leaves."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
    from prompt_toolkit.patch_stdout import patch_stdout

    from relserve.cli.shell.history import open_history

    history = open_history(load().cache_dir, "ask_history")
    session: PromptSession[str] = PromptSession(
        _PROMPT, history=history, auto_suggest=AutoSuggestFromHistory()
    )
    sys.stderr.write(_HINT + "\n")
    while True:
        try:
            with patch_stdout(raw=True):
                yield session.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
