"""Texts of a plain user, generated: what readers of SQL differ in, what backtracks, names and columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from random import Random

import duckdb

from benchmarks.hostile.attempts import Attempts
from benchmarks.hostile.eye import Eye
from benchmarks.hostile.house import AttackedServer
from benchmarks.hostile.outcome import HostileOutcome
from benchmarks.hostile.texts import REFUSED
from benchmarks.lock.texts import made
from relserve.server.users.refused import SESSION

# One of every class of what is a blank, or is not seen, or looks like a quote.
BLANKS = (
    "\t", "\n", "\v", "\f", "\r", "\x1c", "\x1f", "\x7f", "\x85", "\u00a0", "\u00ad", "\u034f", "\u061c",
    "\u1680", "\u180e", "\u2000", "\u2003", "\u2009", "\u200a", "\u200b", "\u200c", "\u200d", "\u200e",
    "\u2028", "\u2029", "\u202e", "\u202f", "\u205f", "\u2060", "\u2066", "\u3000", "\u3164", "\ufeff",
    "\ufff9", "\U000e0020", "/**/", "--\n", "/*\u00a0*/", "--\u2028\n", "\r\n",
)  # fmt: skip
QUOTES = (
    "''", "'\\'", "e'\\''", "E'\\''", "e'\\\\'", "x''", "b''", "u&''", "n''", "$$$$", "$a$'$a$", "$é$'$é$",
    '""""', '"\'"', "``", "`'`", "‘", "’", "‚", "‛", "“", "”", "„", "«", "»", "‹", "›", "′", "″", "＇", "＂",
    "´", "ʼ", "'a'\n'b'", "'a' /* ' */", "{'a': 1}", "{#'", "1e''", "1'", "$1", ":'a'", "\\'", "\\q",
)  # fmt: skip
# What a reader may go over again and again, and what may stand around it.
PIECES = (
    "/**/", "/*", "/* ", "*/", "--\n", "-- ", "$a$", "$$", "$", "'", "''", "e'\\'",
    "\\'", '"', '""', "`", " ",
    "\t", "\n", "\r", "\u00a0", "\u200b", "(", "()", "[", "{", "{#", ";", ",", ".", "a.", '"a".', "::",
    ":", "?",
    "$1,", "-", "+ ", "NOT ", "1e", "0x", "9", "a ", "é", "\nLINE 1: ", "^ ", "SELECT ", "SELECT 1;",
    "SELECT (", "WITH a AS (", "CASE WHEN ", "a IN (", "[1,", "x -> ", "|| 'a' ", "UNION ALL SELECT 1 ",
    "BEGIN;", "SET ",
    "AS ", "FROM t ", ", t", "llm(", "llm('{}', ", "text2sql('", "COPY ", "E''", "U&'",
)  # fmt: skip
AROUND = (
    ("", ""), ("SELECT ", " 1"), ("SELECT '", "'"), ("DECLARE c CURSOR FOR ", " SELECT 1"), ("SET ",
    " x = 1"),
    ("SET search_path = ", ""), ("COPY t ", " FROM STDIN"), ("COPY (SELECT 1 ", ") TO STDOUT"),
    ("FETCH ", " c"),
    ("PREPARE p AS ", " SELECT 1"), ("EXPLAIN ", " SELECT 1"), ("CREATE TABLE x (a INT DEFAULT ", "1)"),
    ("INSERT INTO t VALUES (1, ", "'x')"), ("SELECT llm('Say {}', ", "1)"),
    ("SELECT * FROM pg_class WHERE ", "1"),
    ("SELECT $a$", "$b$"), ("SELECT $", "1"),
    ("GRANT SELECT ON ", " t TO ann"), ("CREATE MACRO x() AS ", "1"),
)  # fmt: skip
SIZES = (24, 300, 4_000, 40_000)
FORMS = (
    "CREATE TABLE x (a VARCHAR, q VARCHAR DEFAULT {}::VARCHAR)",
    "CREATE TABLE x (a VARCHAR CHECK ({}::VARCHAR <> 'x'))",
    "CREATE TABLE x (a VARCHAR, q VARCHAR AS ({}::VARCHAR))",
    "CREATE TABLE x (a VARCHAR, CONSTRAINT c CHECK (upper({}::VARCHAR) > a))",
    "CREATE OR REPLACE TABLE t (a VARCHAR DEFAULT concat('x', {}::VARCHAR))",
    "ALTER TABLE t ADD COLUMN q VARCHAR DEFAULT {}::VARCHAR",
    "ALTER TABLE t ALTER b SET DEFAULT {}::VARCHAR", "CREATE INDEX i ON t (({}::VARCHAR))",
    "CREATE UNIQUE INDEX i ON t (a, (upper({}::VARCHAR)))",
    "CREATE MACRO own(x) AS x; BEGIN; CREATE OR REPLACE MACRO own(x) AS {}; "
    "CREATE TABLE x (a VARCHAR DEFAULT own('1')); COMMIT",
    "CREATE TEMP MACRO own(x) AS x; CREATE TABLE x (a VARCHAR DEFAULT own({}::VARCHAR))",
    "EXPLAIN ANALYZE CREATE TABLE x (a VARCHAR DEFAULT {}::VARCHAR)",
    "CREATE MACRO own(x) AS {}; CREATE TABLE x (a VARCHAR DEFAULT own(1))",
    "CREATE TABLE x (a VARCHAR DEFAULT CASE WHEN true THEN {}::VARCHAR END, references_ INT)",
)  # fmt: skip
CALLS = (
    "{f}({a})", '"{f}"({a})', "{F}({a})", "`{f}`({a})", "{f} ({a})", "{f}/**/({a})", "{f}\u00a0({a})",
    "{f}\n({a})",
    "main.{f}({a})", "temp.main.{f}({a})", '("{f}")({a})', "(NULL).{f}({a})", "('x').{f}({a})",
    "list_transform([1], lambda z: {f}({a}))", "[{f}({a}) for z in [1]][1]", "{f}--\n({a})",
    "'{f}'({a})", "$${f}$$({a})",
)  # fmt: skip
ARGUMENTS = {
    "llm": "'Say {}', 'x'", "llm_filter": "'Is {}', 'x'", "llm_int": "'Of {}', 'x'",
    "llm_agg_list": "'Of {}', ['x']",
    "text2sql_query": "'How many?'", "twice": "1", "asked": "", "getvariable": "'v'",
    "current_setting": "'TimeZone'",
    "pg_cancel_backend": "1", "pg_terminate_backend": "1",
}  # fmt: skip
_WORD = re.compile(r"\b(?=\w)")
_STRINGS = re.compile(r"'[^']*+'")


def made_up(house: AttackedServer, eye: Eye, count: int, seed: int) -> HostileOutcome:
    """The texts of `benchmarks.server_lock`, sent to a server."""
    outcome = HostileOutcome("made-up SQL for what is not theirs")
    return Attempts(house, eye, outcome).send(made(seed, number).text for number in range(count))


def unicode(house: AttackedServer, eye: Eye, count: int, seed: int) -> HostileOutcome:
    """Blanks and quotes of every class before every word of what a plain user may not run."""
    outcome = HostileOutcome("blanks and quotes of every class before every keyword")
    return Attempts(house, eye, outcome).send(_sample(_odd(house), count, seed))


def growing(house: AttackedServer, eye: Eye, count: int, seed: int) -> HostileOutcome:
    """What a pattern may go back over, many times; nobody else waits for it."""
    outcome = HostileOutcome("SQL that patterns could backtrack over")
    texts = (f"{a}{piece * size}{b}" for size, piece, (a, b) in product(SIZES, PIECES, AROUND))
    return Attempts(house, eye, outcome).send(_sample(texts, count, seed))


def names(house: AttackedServer, eye: Eye, count: int, seed: int) -> HostileOutcome:
    """Every name that all have, defined by a plain user."""
    outcome = HostileOutcome("names that all have, defined by one")
    return Attempts(house, eye, outcome).send(_sample(_definitions(), count, seed))


def columns(house: AttackedServer, eye: Eye, count: int, seed: int) -> HostileOutcome:
    """Defaults, CHECKs, generated columns and indexes that ask a session, a model or a macro."""
    outcome = HostileOutcome("columns that ask for what is others'")
    functions = ((f, ARGUMENTS.get(f, "")) for f in sorted({*ARGUMENTS, *SESSION}))
    calls = (call.format(f=f, F=f.upper(), a=a) for (f, a), call in product(functions, CALLS))
    texts = (form.replace("{}", call) for call, form in product(calls, FORMS))
    return Attempts(house, eye, outcome).send(_sample(texts, count, seed))


def _odd(house: AttackedServer) -> Iterator[str]:
    for text in REFUSED:
        whole = text.format(db=house.database)
        inside = [range(*found.span()) for found in _STRINGS.finditer(whole)]
        places = [found.start() for found in _WORD.finditer(whole)]
        for place in places:
            if any(place in each for each in inside):
                continue
            before, behind = whole[:place], whole[place:]
            yield from (f"{before}{blank}{behind}" for blank in BLANKS)
            yield from (f"{before}{quote} {behind}" for quote in QUOTES)
        yield from (
            f"SELECT{blank}{quote} AS q; {whole} --'" for blank, quote in product(BLANKS, QUOTES[:14])
        )


def _definitions() -> Iterator[str]:
    with duckdb.connect() as con:
        functions, types, words, views = (
            [name for (name,) in con.execute(f"SELECT DISTINCT {what} ORDER BY ALL").fetchall()]
            for what in (
                "function_name FROM duckdb_functions()", "type_name FROM duckdb_types()",
                "keyword_name FROM duckdb_keywords()", "view_name FROM duckdb_views()",
            )
        )  # fmt: skip
    for name in (
        *functions,
        *words,
        *types,
        "@@@",
        "<=>",
        "!",
        "llm",
        "llm_agg",
        "text2sql_query",
        "pg_typeof",
    ):
        yield f'CREATE MACRO "{name}"(a, b) AS 42'
        yield f'CREATE OR REPLACE FUNCTION main."{name.upper()}"() AS TABLE SELECT 42 AS mine'
        yield f"CREATE MACRO IF NOT EXISTS `{name}` (a) AS 42"
        yield f"EXPLAIN ANALYZE CREATE MACRO\u00a0'{name}'(a) AS 42"
    for name in (*views, "pg_class", "pg_stat_activity", "pg_settings", "pg_roles"):
        yield f'CREATE VIEW "{name}" AS SELECT 42 AS mine'
        yield f'CREATE TABLE main."{name}" (a INT)'
        yield f'ALTER TABLE t RENAME TO "{name}"'
        yield f"ALTER VIEW v RENAME TO `{name}`"
        yield f'CREATE SEQUENCE "{name}"'
    for name in (*types, "jsonb", "regclass", "regtype", "oid", "name"):
        yield f"CREATE TYPE \"{name}\" AS ENUM ('a')"
        yield f'CREATE TYPE main."{name.upper()}" AS INT'
    for name in ("system", "temp", "pg_catalog", "information_schema", "_pg", "pg_temp"):
        yield f'CREATE SCHEMA IF NOT EXISTS "{name}"'


def _sample(texts: Iterator[str], count: int, seed: int) -> list[str]:
    """So many of the texts, drawn by the seed; all where there are no more."""
    found = list(dict.fromkeys(texts))
    return found if len(found) <= count else Random(seed).sample(found, count)
