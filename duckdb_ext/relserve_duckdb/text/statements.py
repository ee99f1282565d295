"""A user's text as statements, each with what may be done about its llm calls before it runs."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import duckdb
import sqlglot
from duckdb import StatementType as Type
from sqlglot import ErrorLevel, exp

from relserve.errors import UsageError
from relserve_duckdb.text.aggregate_text import aggregate_text
from relserve_duckdb.text.calls import LlmCall, find_calls
from relserve_duckdb.text.lexical import LEAD, NAME
from relserve_duckdb.text.parameters import masked, spaced
from relserve_duckdb.text.question_calls import QuestionCall, find_question_calls
from relserve_duckdb.text.stand_in import StandIn

log = logging.getLogger(__name__)

_EXPLAIN = re.compile(LEAD + r"explain\s*+(analyze\b|\([^)]*+\)|)\s*+(.*)")
_PLAIN_EXPLAIN = re.compile(r"(?i)|\(\s*format\s+text\s*\)")
_PREPARE = re.compile(LEAD + rf"prepare\s++(?:{NAME}|[^\s(\"]++)(?:\s*+\([^)]*+\))?+\s++as\s++(.*)")
_DESCRIBE = re.compile(LEAD + r"(?:describe|desc|show)\b(.*)")
_PARSED = re.compile(
    LEAD + r"[(\s]*+(select|from|with|values|insert|update|delete|copy|merge|pivot|unpivot"
    r"|create\s++(or\s++replace\s++)?+(temp(orary)?+\s++)?+(table|view))\b"
)
_NAMED_WINDOW = re.compile(rf"(?i)\bover\s++(\w++|{NAME})")
_COLUMNS = re.compile(r"(?i)\bcolumns\s*\(")
_SUMMARIZE = re.compile(LEAD + r"summarize\b(.*)")


@dataclass(frozen=True)
class Statement:
    """One statement of a text.

    Attributes:
        runnable: what to hand to DuckDB: the user's own text, DuckDB's parsed statement, or a stand-in.
        text: the text of that.
        plans_only: it is planned or stored, not run: its calls must ask nothing.
        reads: it only reads, so that DuckDB makes a lazy relation of it.
        gives_rows: its rows are the result of a text in which no other statement that gives rows follows.
        rehearsal: a SELECT that makes the statement's llm calls, "" when there is none.
        is_verbatim: the rehearsal stands so in the user's own text.
        root: the parsed statement, None when sqlglot cannot read it.
        stand_in: what runs instead of the user's text, None where that runs itself.
        questions: its text2sql() calls, whose SQL has to take their place before it runs.
        queries: the SQL that has taken the place of such calls.
    """

    runnable: Any
    text: str
    plans_only: bool
    reads: bool
    rehearsal: str
    is_verbatim: bool
    root: exp.Expr | None
    calls: tuple[LlmCall, ...]
    parameter_names: frozenset[str]
    stand_in: StandIn | None = None
    questions: tuple[QuestionCall, ...] = ()
    queries: tuple[str, ...] = ()
    gives_rows: bool = True


def split(con: duckdb.DuckDBPyConnection, query: Any) -> list[Statement]:
    """The statements of a text (or DuckDB's own parsed statement).

    Raises:
        duckdb.ParserException: as DuckDB does.
        UsageError: a text with half a surrogate pair, which UTF-8 cannot hold.
    """
    if not isinstance(query, str):
        return [_stand_in(con, query, query)]
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"character {error.start} of the query is half a surrogate pair") from error
    parsed = con.extract_statements(query)
    if len(parsed) == 1 or any(each.type == Type.MULTI for each in parsed):
        return [_stand_in(con, each, query) for each in parsed[:1]]
    return [_stand_in(con, each, each) for each in parsed]


def _stand_in(con: duckdb.DuckDBPyConnection, parsed: duckdb.Statement, runnable: Any) -> Statement:
    """A statement, or the one that runs in its place."""
    written = runnable if isinstance(runnable, str) else parsed.query
    if questions := find_question_calls(written):
        return replace(_read(parsed, runnable), questions=questions)
    stand_in = aggregate_text(written, partial(_name_of_item, con))
    if stand_in is None:
        return _read(parsed, runnable)
    (parsed, *_) = con.extract_statements(stand_in.text)
    return replace(_read(parsed, stand_in.text), stand_in=stand_in)


def standing_in(con: duckdb.DuckDBPyConnection, text: StandIn, queries: Sequence[str]) -> Statement:
    """The statement that runs instead of a user's, whose text2sql() calls have become SQL."""
    (parsed, *_) = con.extract_statements(text.text)
    found = _stand_in(con, parsed, text.text)
    whole = text if found.stand_in is None else text.then(found.stand_in)
    return replace(found, stand_in=whole, queries=tuple(queries))


def _name_of_item(con: duckdb.DuckDBPyConnection, item: str) -> str | None:
    """The name that DuckDB gives a SELECT list's item; None when it has an alias or is several columns."""
    windows = {name.lower() for name in _NAMED_WINDOW.findall(item)}
    clause = f" WINDOW {', '.join(f'{name} AS ()' for name in windows)}" if windows else ""
    try:
        con.extract_statements(f"SELECT {item} AS name{clause}")
    except duckdb.ParserException:
        return None
    if _COLUMNS.search(item):
        return None
    try:
        return str(duckdb.SQLExpression(item).get_name())
    except duckdb.Error:  # a window that the statement names elsewhere
        return item


def _read(parsed: duckdb.Statement, runnable: Any) -> Statement:
    text = parsed.query
    plans_only, body = _body(parsed.type, text)
    root = parse_tree(body)
    if isinstance(root, exp.Create) and not plans_only:
        plans_only = not (root.kind == "TABLE" and isinstance(root.expression, exp.Query))
    calls = tuple(find_calls(root)) if root is not None else ()
    rehearsal = "" if plans_only else _rehearsal(parsed.type, body, root)
    reads = parsed.type in (Type.SELECT, Type.EXPLAIN)
    names = frozenset(parsed.named_parameters)
    is_verbatim = rehearsal != "" and rehearsal in body
    gives_rows = parsed.expected_result_type == [duckdb.ExpectedResultType.QUERY_RESULT] or _returns(root)
    return Statement(
        runnable, text, plans_only, reads, rehearsal, is_verbatim, root, calls, names, gives_rows=gives_rows
    )


def only_explains(statement: Statement) -> bool:
    """Whether it is an EXPLAIN that runs nothing."""
    return statement.plans_only and _EXPLAIN.match(statement.text) is not None


def read_select(text: str) -> Statement:
    """The text of a relation as a statement."""
    root = parse_tree(text)
    calls = tuple(find_calls(root)) if root is not None else ()
    return Statement(text, text, False, True, text, True, root, calls, frozenset())


def explained(text: str) -> str | None:
    """The statement inside a plain EXPLAIN, whose result is text for people; None for anything else."""
    match = _EXPLAIN.match(text)
    if match is None or not _PLAIN_EXPLAIN.fullmatch(match[1]):
        return None
    return match[2]


def _returns(root: exp.Expr | None) -> bool:
    """Whether a statement that writes has a RETURNING."""
    return root is not None and root.args.get("returning") is not None


def _body(kind: Type, text: str) -> tuple[bool, str]:
    """Whether a statement only plans, and the statement inside it."""
    if kind == Type.EXPLAIN and (match := _EXPLAIN.match(text)):
        return "analyze" not in match[1].lower(), match[2]
    if kind == Type.PREPARE and (match := _PREPARE.match(text)):
        return True, match[1]
    if match := _DESCRIBE.match(text):
        return True, match[1]
    if match := _SUMMARIZE.match(text):
        return False, match[1]
    return kind in (Type.EXPLAIN, Type.PREPARE), text


def _rehearsal(kind: Type, body: str, root: exp.Expr | None) -> str:
    if kind == Type.SELECT or isinstance(root, exp.Query):
        return body
    query = _source_of(root) if root is not None else None
    if isinstance(root, (exp.Insert, exp.Create)) and query is not None and (text := _end_of(body, query)):
        return text
    try:
        return query.sql("duckdb", unsupported_level=ErrorLevel.RAISE) if query is not None else ""
    except sqlglot.errors.UnsupportedError as error:
        log.debug("sqlglot cannot write the SELECT of %r: %s", body[:200], error)
        return ""


def _end_of(body: str, query: exp.Expr) -> str:
    """The SELECT at the end of a CREATE TABLE AS or INSERT INTO as it is written, "" if that is not plain."""
    for token in sqlglot.tokenize(masked(body), read="duckdb"):
        if token.token_type.name in ("SELECT", "FROM", "WITH"):
            text = body[token.start :].rstrip("; \n\t")
            return text if parse_tree(text) == query else ""
    return ""


def _source_of(root: exp.Expr) -> exp.Expr | None:
    """A SELECT that makes the calls of a statement that writes."""
    match root:
        case exp.Insert() | exp.Create():
            query = root.expression
        case exp.Copy():
            query = root.this.this if isinstance(root.this, exp.Subquery) else None
        case exp.Update():
            others = root.args.get("from_")
            values = [each.expression for each in root.expressions]
            query = _select(values, root, [others.this] if others else [])
        case exp.Delete():
            query = _select([exp.Literal.number(1)], root, root.args.get("using") or [])
        case _:
            query = None
    if not isinstance(query, exp.Query):
        return None
    ctes = root.args.get("with_")
    if ctes and query.args.get("with_"):
        return None
    query = query.copy()
    if ctes:
        query.set("with_", ctes.copy())
    return query


def _select(values: list[exp.Expr], root: exp.Expr, others: list[exp.Expr]) -> exp.Select:
    query = exp.select(*[value.copy() for value in values]).from_(root.this.copy())
    for other in others:
        query = query.join(other.copy(), join_type="cross")
    if where := root.args.get("where"):
        query.set("where", where.copy())
    return query


def parse_tree(text: str) -> exp.Expr | None:
    """What sqlglot reads, None when it cannot or is known to give up with a warning."""
    if not _PARSED.match(text):
        return None
    try:
        return sqlglot.parse_one(spaced(text), read="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError) as error:
        log.debug("sqlglot cannot read %r: %s", text[:200], error)
        return None
