"""Where relserve may differ from PostgreSQL: each difference by name, narrow, and listed in docs/bi.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

ANYTHING = (r"(?s).*", "")


class Difference(NamedTuple):
    """One that is meant to be.

    Attributes:
        name: under which docs/bi.md explains it.
        checks: patterns "client/check" of those that it may touch.
        ours: what must stand in our answer, for the difference to be this one.
        rewritten: pairs of a pattern and a text, which make both answers equal where nothing else differs.
    """

    name: str
    checks: tuple[str, ...]
    ours: str
    rewritten: tuple[tuple[str, str], ...]

    def explains(self, ours: str, theirs: str) -> bool:
        """Whether the two answers differ by this alone."""
        return re.search(self.ours, ours) is not None and self._in_common(ours) == self._in_common(theirs)

    def _in_common(self, told: str) -> str:
        for pattern, text in self.rewritten:
            told = re.sub(pattern, text, told)
        return told


DIFFERENCES = (
    Difference(
        "owner",
        ("psql/*",),
        r"\bduckdb\b",
        ((r"(?<=[|\"])(duckdb|bob)(?=[|\"])", "OWNER"),),
    ),
    Difference("owner", ("psql/list_databases",), r'"duckdb"', ((r'"(duckdb|bob)"', "OWNER"),)),
    Difference(
        "text of a check",
        ("psql/d_customers", "sqlalchemy*/get_check_constraints"),
        r"score >= 0\b",
        ((r"0::double precision", "0"),),
    ),
    Difference(
        "text of a view",
        ("psql/d_plus_view", "psql/sv", "sqlalchemy*/view_definition"),
        r"amount > 90",
        ((r"orders\.|[\"\s,();]|::numeric", ""), (r"(?i)from orders where", "fromorderswhere")),
    ),
    Difference("functions", ("psql/df",), r"main\|llm_filter\|", (ANYTHING,)),
    Difference("functions", ("psql/df_abs",), r"pg_catalog\|abs\|integer\|integer\|func", (ANYTHING,)),
    Difference(
        "version 15.0",
        ("psql/conninfo", "psql/show", "psql/settings"),
        r"\b150000\b",
        (
            (r"\b1500\d\d\b", "VERSION"),
            (r"repeatable read|read committed", "ISOLATION"),
        ),
    ),
    Difference(
        "isolation",
        ("sqlalchemy*/isolation_levels", "pgjdbc/transaction_isolation"),
        r"REPEATABLE READ|\[4, |\[2, ",
        ((r"REPEATABLE READ|READ COMMITTED", "ISOLATION"), (r"\[[248], [248]\]", "")),
    ),
    Difference("settings are locked", ("psql/set_unknown",), r"ERROR:  42501", ((r"42501|42704", "CODE"),)),
    Difference(
        "division by zero",
        ("psql/errors",),
        r"Infinity",
        ((r', "ERROR:  22012"', ""), (r'"out": \[.*?\]', "")),
    ),
    Difference(
        "division by zero",
        ("*/errors",),
        r"22P02",
        ((r'\["DivisionByZero(Error)?", "22012"\], ', ""),),
    ),
    Difference(
        "types of expressions",
        (
            "psycopg2/expression_types",
            "psycopg2/copy_from",
            "psycopg2/execute_values",
            "psycopg/prepared_statement_*",
            "psycopg/executemany",
            "psycopg/copy_in_*",
            "asyncpg/executemany",
            "asyncpg/copy_records_to_table",
            "asyncpg/parameters_with_casts",
            "pg8000/executemany",
            "sqlalchemy*/expressions",
            "psql/gdesc_expressions",
            "pgjdbc/result_metadata_of_expressions",
            "DBD::Pg/copy_in",
            "pyodbc/executemany",
            "pyodbc/fast_executemany",
        ),
        r"Decimal \d+\"|\"5050\"|Decimal 2\.500|float 47\.185|, 2024\]|numeric\(2,1\)|float8|\"numeric\", 2",
        (
            (r'"5050"', "5050"),
            (r'"(?:Decimal |float )(\d+(?:\.\d*?[1-9])?)\.?0*"', r"\1"),
            (r"numeric\(2,1\)", "numeric"),
            (r"1700, 1700, (1700|701),", "AVG"),
            (r'\["s", "numeric", 2, \d+, \d+\]|\["d", "numeric", 2, \d+, \d+\]', "NUMERIC"),
        ),
    ),
    Difference(
        "to_timestamp",
        ("psql/to_timestamp",),
        r"04:05\.678\|",
        ((r"\+00", ""),),
    ),
    Difference(
        "notices",
        ("*/notice", "*/notices", "pgjdbc/warnings", "polars/*"),
        r"^(\[\]|false)$",
        (ANYTHING,),
    ),
    Difference(
        "enums are text",
        ("psycopg/*_binary",),
        r'"(sad|happy)"',
        (
            (r"bytes 736164", "sad"),
            (r"bytes 6861707079", "happy"),
            (r"bytes 6f6b", "ok"),
        ),
    ),
    Difference(
        "savepoints",
        ("*",),
        r"(?s)error 0A000: .*savepoints",
        (ANYTHING,),
    ),
    Difference(
        "two-phase commit", ("pg8000/two_phase_is_refused",), r"error 0A000: .*two-phase", (ANYTHING,)
    ),
    Difference(
        "cursors go forward", ("psycopg2/scrolled_cursor",), r"error 0A000: .*only go forward", (ANYTHING,)
    ),
    Difference("rows are JSON", ("asyncpg/introspected_composite",), r"[{(]", (ANYTHING,)),
    Difference("SERIAL", ("sqlalchemy*/orm_with_a_serial_key",), r"error 42704: .*SERIAL", (ANYTHING,)),
    Difference(
        "enums are text",
        ("pgjdbc/result_metadata", "asyncpg/attributes"),
        r'"a_mood", ("text"|25)',
        ((r'\["a_mood", [^]]*\]', "MOOD"),),
    ),
    Difference(
        "owner",
        ("pgjdbc/getTablePrivileges", "pgjdbc/getColumnPrivileges"),
        r'\["duckdb"',
        ((r'"(duckdb|bob)"', "OWNER"),),
    ),
    Difference(
        "owner",
        ("psql/dt_aligned",),
        r"\| duckdb\"",
        ((r"duckdb|bob", "OWNER"), (r"[-+ ]", "")),
    ),
    Difference("savepoints", ("psql/error_rollback",), r"ERROR:  0A000", (ANYTHING,)),
    Difference("savepoints", ("pyodbc/error_leaves_*",), r"error (0A000|25P02)", (ANYTHING,)),
    Difference("functions", ("pyodbc/procedures",), r"^\d+$", (ANYTHING,)),
    Difference(
        "columns of results",
        ("pyodbc/description",),
        r'"id", "int", 10, 10, 0, true',
        ((r"true|false", "NULLS"), (r'\["(a_mood|some_\w+)", "str", \d+, \d+', "WIDTH")),
    ),
)


def differences_of(client: str, check: str) -> Iterator[Difference]:
    """Those that may touch this check."""
    for difference in DIFFERENCES:
        if any(fnmatchcase(f"{client}/{check}", pattern) for pattern in difference.checks):
            yield difference
