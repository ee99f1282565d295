"""EXPLAIN for llm calls: what a statement would ask, learned from rehearsals; only a sample is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa

from relserve.call.options import Options
from relserve.errors import Cancelled, RelserveError, SpendingError, UsageError
from relserve.session.estimate import Estimate
from relserve_duckdb.explain.call_estimate import CallEstimate
from relserve_duckdb.explain.explanation import Explanation, screen_width
from relserve_duckdb.explain.plan_tree import plan_tree
from relserve_duckdb.explain.sampled import sampled_notes
from relserve_duckdb.late.rewriter import LateCalls
from relserve_duckdb.questions.expander import Expander, NotAsked
from relserve_duckdb.rehearse.probe import Reached, probe
from relserve_duckdb.rehearse.reading import Reading
from relserve_duckdb.rehearse.rehearsal import CannotRehearse, Rehearsal
from relserve_duckdb.rehearse.rehearsal_builder import RehearsalBuilder
from relserve_duckdb.text.call_limits import TOPICS
from relserve_duckdb.text.calls import LlmCall, by_name, template_text
from relserve_duckdb.text.indirect_calls import IndirectCalls
from relserve_duckdb.text.plans import stops_early
from relserve_duckdb.text.question_calls import TEXT2SQL
from relserve_duckdb.text.quoted_errors import EXPLAINED
from relserve_duckdb.text.statements import Statement, explained, read_select, split
from relserve_duckdb.udf.client import Variables
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.handlers import Planning
from relserve_duckdb.udf.plan_only import plan_only
from relserve_duckdb.udf.question_site import QuestionSite
from relserve_duckdb.udf.statement_parser import parse

KEY = "llm_calls"  # of our row about them in the result of EXPLAIN
SAMPLE = "llm_explain_sample"  # DuckDB's variable that has prompts of each call asked by EXPLAIN
MOST_SAMPLED = 1_000  # prompts of each call
_ROWS = "FROM (VALUES {}) plans(explain_key, explain_value)"


@dataclass(frozen=True)
class Explainer:
    """Explains the statements and relations of one connection."""

    raw: duckdb.DuckDBPyConnection
    state: ConnectionState
    indirect_calls: IndirectCalls
    rehearsals: RehearsalBuilder
    expander: Expander
    late_calls: LateCalls

    def explain(self, variables: Variables, query: Any, parameters: Any, sample: int = 0) -> Explanation:
        """What the llm calls of one statement would ask.

        Args:
            sample: prompts of each call that are asked, to tell how sure the model is.

        Raises:
            UsageError: several statements, or a call is wrong.
            ModelError: a call's model is not to be had.
            duckdb.Error: the statement is wrong.
        """
        statements = parse(self.raw, self.state, query, parameters)
        if len(statements) != 1:
            raise UsageError(f"explain_llm() takes one statement, not {len(statements)}")
        (statement,) = statements
        if (body := explained(statement.text)) is not None:
            (statement,) = split(self.raw, body)
        try:
            statement, parameters = self.expander.known(statement, parameters)
        except NotAsked as reason:
            return Explanation((), (str(reason),))
        # raises, as DuckDB does, while an unread result is open: rehearsing would end it
        self.raw.sql("SELECT 1").fetchall()
        statement = self.late_calls.rewritten(variables, statement, parameters)
        variables, statement, parameters = self.rehearsals.executed(variables, statement, parameters)
        if not self._calls_llm(statement):
            return Explanation(())
        if statement.plans_only:
            return Explanation((), (f"{_kind(statement)} asks nothing",))
        if not statement.rehearsal:
            return Explanation(
                (), (f"{_kind(statement)} cannot be told in advance: it has no SELECT to rehearse",)
            )
        build = partial(self.rehearsals.of_statement, variables, statement, parameters)
        return self._explain(statement, build, by_name(parameters), sample)

    def explain_relation(
        self, relation: duckdb.DuckDBPyRelation, reading: Reading, sample: int = 0
    ) -> Explanation:
        """What reading a relation would ask; raises as `explain` does."""
        statement = read_select(relation.sql_query())
        self.state.session.model_hosts.note(statement.text)
        if reading is Reading.PLAN or not self._calls_llm(statement):
            return Explanation(())
        if reading is Reading.ONCE:
            return Explanation((), ("something below it can be read only once, so it was not read",))
        build = partial(self.rehearsals.of_relation, relation, statement)
        return self._explain(statement, build, {}, sample)

    def has_own_rows(self, statement: Statement) -> bool:
        """Whether a statement is a plain EXPLAIN whose result is to have rows about models, too."""
        return explained(statement.text) is not None and (
            bool(statement.queries) or self._plans_calls(statement)
        )

    def rows(self, variables: Variables, statement: Statement, parameters: Any) -> tuple[str, list[str]]:
        """A query, and its parameters, that gives the rows of a plain EXPLAIN and those about models.

        The plans are DuckDB's, drawn by us; then comes the SQL of text2sql(), then what llm calls would ask.
        """
        body = explained(statement.text)
        (runs,) = split(self.raw, body or "")
        runs = self.late_calls.rewritten(variables, runs, parameters)
        run = partial(variables.call, self.raw.execute, f"{EXPLAINED}{runs.text}", parameters)
        plans = plan_only(self.state, run).fetchall()
        values = [(key, plan_tree(plan, screen_width())) for key, plan in plans]
        if statement.queries:
            values.append((TEXT2SQL, ";\n".join(statement.queries)))
        if self._plans_calls(statement):
            explaining = partial(self.explain, variables, body, parameters)
            values.append((KEY, self._in_words(lambda: explaining(self._sample()))))
        return _ROWS.format(", ".join(["(?, ?)"] * len(values))), [text for row in values for text in row]

    def relation_text(self, relation: duckdb.DuckDBPyRelation, reading: Reading) -> str:
        """A relation's plan and what reading it would ask, or why not; "" where it makes no llm call."""
        text = relation.sql_query()
        if not self.indirect_calls.mentions(text) or not self._calls_llm(read_select(text)):
            return ""
        plan = plan_only(self.state, partial(relation.explain, format="json"))
        told = self._in_words(lambda: self.explain_relation(relation, reading, self._sample()))
        return f"{plan_tree(plan, screen_width())}\n{told}\n"

    def _sample(self) -> int:
        """How many prompts of each call SET VARIABLE wants to be asked; 0: none.

        Raises:
            UsageError: its value is no such number.
        """
        # a relation, which an unread result makes an error, where `execute` would end that
        ((sample,),) = self.raw.sql(f"SELECT system.main.getvariable('{SAMPLE}')").fetchall()
        return _checked(SAMPLE, 0 if sample is None else sample)

    def _in_words(self, explaining: Callable[[], Explanation]) -> str:
        """An explanation as text, or why there is none: EXPLAIN must not fail where a query would."""
        try:
            return str(explaining())
        except (Cancelled, duckdb.InterruptException):
            raise
        except (RelserveError, duckdb.Error, pa.ArrowException) as error:
            why, self.state.error = self.state.error or error, None
            return f"the llm calls cannot be told in advance: {why}"

    def _explain(
        self, statement: Statement, build: Callable[[], Rehearsal], parameters: Any, sample: int
    ) -> Explanation:
        _checked("sample", sample)
        try:
            rehearsal = build()
        except CannotRehearse as reason:
            return Explanation((), (f"the llm calls cannot be told in advance: {reason}",))
        notes = []
        with self.state.handled_by(Planning()):
            if not rehearsal.may_call():
                return Explanation(())
            is_cut = stops_early(rehearsal.plan())
        if is_cut:
            notes.append("A LIMIT may end the statement early; the numbers are without that.")
        definitions = self.indirect_calls.calling_definitions(statement.text)
        num_calls = None if definitions or statement.root is None else len(statement.calls)
        names_clusters = TOPICS in f"{statement.text}\n{definitions}".lower()
        found = probe(self.state, rehearsal, num_calls, names_clusters)
        calls = [
            each
            for number, site in enumerate(found, 1)
            for each in self._estimates(number, site, is_cut or bool(site.depends_on) or site.asks_fewer)
        ]
        calls, sampled = self._sampled(found, calls, sample) if sample else (calls, [])
        if not rehearsal.independent:
            calls += _unreached(found, statement.calls, parameters)
        return Explanation(tuple(calls), (*notes, *_notes(calls), *_join_notes(found), *sampled))

    def _estimates(self, number: int, reached: Reached, at_most: bool) -> list[CallEstimate]:
        """Of one call: one, or those of a cascade's two models."""
        folded, site = reached.folded(), reached.site
        depends_on = tuple(reached.depends_on)
        found: list[tuple[Options | None, Estimate]]
        if folded is None or isinstance(site, QuestionSite):
            found = [(None, _question_estimate(reached))]
            untold = "the answers of one stage decide what the next asks"
        else:
            told = self.state.session.estimates(site, folded, self.state.run.cancel)
            found = [(asked.options, each) for asked, each in told]
            untold = "its prompts hold another call's answers" if reached.holds_answers else ""
        return [
            CallEstimate(number, each.function, each.template, each, depends_on, at_most, untold, options)
            for options, each in found
        ]

    def _sampled(
        self, found: Sequence[Reached], calls: Sequence[CallEstimate], num: int
    ) -> tuple[list[CallEstimate], list[str]]:
        """The calls with how sure the model was of so many prompts of each, if caps allow it; notes."""
        untold = {call.number for call in calls if call.untold}
        asked = {
            number: (site, folded)
            for number, reached in enumerate(found, 1)
            if number not in untold
            and not isinstance(site := reached.site, QuestionSite)
            and (folded := reached.folded()) is not None
            and folded.prompts
        }
        try:
            told = self.state.session.sample(list(asked.values()), num, self.state.run.cancel)
        except SpendingError as error:
            return list(calls), [f"No sample was asked: {error}."]
        by_number = dict(zip(asked, told, strict=True))
        calls = [replace(call, sampled=by_number.get(call.number)) for call in calls]
        return calls, sampled_notes(calls, num)

    def _plans_calls(self, statement: Statement) -> bool:
        """Whether the statement inside an EXPLAIN makes llm calls."""
        return any(self._calls_llm(inner) for inner in split(self.raw, explained(statement.text) or ""))

    def _calls_llm(self, statement: Statement) -> bool:
        if statement.root is not None:
            return bool(statement.calls) or bool(self.indirect_calls.calling_definitions(statement.text))
        return self.indirect_calls.mentions(statement.text)


def _checked(name: str, sample: Any) -> int:
    """A sample's size; raises UsageError where it is none."""
    if isinstance(sample, bool) or not isinstance(sample, int) or not 0 <= sample <= MOST_SAMPLED:
        raise UsageError(
            f"{name} is a whole number of prompts of each call, such as 20, at most {MOST_SAMPLED:,}, "
            f"not {sample!r}"
        )
    return sample


def _unreached(found: Sequence[Reached], calls: Sequence[LlmCall], parameters: Any) -> list[CallEstimate]:
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
    numbers: dict[str, dict[str, None]] = {}
    for call in calls:
        source = f"unknown, {call.seconds_from}" if call.seconds is None else f"by {call.seconds_from}"
        numbers.setdefault(source, {})[_label(call, calls)] = None
    notes = [f"Time of {', '.join(which)}: {source}." for source, which in numbers.items()]
    for call in calls:
        if call.estimate is not None and (asked := call.estimate.asked) is not None:
            notes.append(
                f"#{call.number} is a cascade: {call.estimate.model} likely answers {asked.num:,} of "
                f"{asked.num_all:,} prompts, {asked.basis}, and never more than all."
            )
    if any(call.depends_on for call in calls):
        notes.append("What depends on another call's answers is an upper bound, found with made-up answers.")
    return notes


def _join_notes(found: Sequence[Reached]) -> list[str]:
    """How the pairs of each call with `join` will be asked."""
    notes = []
    for number, reached in enumerate(found, 1):
        site = reached.site
        if reached.asks_fewer and not isinstance(site, QuestionSite):
            from relserve.session.join_foreseen import foreseen_plans  # and numpy

            notes.append(f"#{number} {foreseen_plans(site, reached.tally.all().rows)}.")
    return notes


def _label(call: CallEstimate, calls: Sequence[CallEstimate]) -> str:
    """A call's number, with the model where it has two."""
    is_cascade = sum(each.number == call.number for each in calls) > 1
    model = f" ({call.estimate.model})" if is_cascade and call.estimate is not None else ""
    return f"#{call.number}{model}"


def _kind(statement: Statement) -> str:
    return (statement.text.split() or ["this"])[0].upper()


def _question_estimate(reached: Reached) -> Estimate:
    """Its rows and distinct questions; tokens and time are not known."""
    counts = reached.tally.counts
    return Estimate(
        reached.site.function, reached.site.binding.template.text, reached.site.options.model or "",
        num_rows=counts.total(), num_null=counts[None], num_distinct=len(counts.keys() - {None}),
        num_cached=None, prompt_tokens=0, is_counted=False, shared=0.0, max_output_tokens=0, seconds=None,
        basis="",
    )  # fmt: skip
