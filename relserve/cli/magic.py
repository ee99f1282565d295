"""`%load_ext relserve` in IPython and Jupyter: `%relserve --db shop.db`, and `%%relserve` above SQL."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any, NoReturn

import duckdb

from relserve import api
from relserve.cli.chart import chart_of
from relserve.cli.console import console
from relserve.errors import UsageError


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise, where a command would end the process."""
        raise UsageError(f"{message}\n{self.format_usage().strip()}")


def _arguments() -> argparse.ArgumentParser:
    parser = _Arguments("%relserve", allow_abbrev=False, add_help=False)
    parser.add_argument("--db", type=Path, metavar="FILE", help="open this database instead of one in memory")
    parser.add_argument("--con", metavar="NAME", help="use a connection that the notebook has")
    parser.add_argument("--model", help="the model of calls that name none")
    parser.add_argument(
        "--chart", action="store_true", help="draw the result, too, as `relserve sql --chart`"
    )
    parser.add_argument("--out", metavar="NAME", help="the variable that gets the result, an Arrow table")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    return parser


class Magic:
    """What `%relserve` and `%%relserve` do.

    Args:
        shell: IPython's.

    Attributes:
        con: the connection of the cells; None before the first.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._arguments = _arguments()
        self.con: api.Connection | None = None
        self._is_own = False  # opened here, and not by the user

    def __call__(self, line: str, cell: str | None = None) -> Any:
        """Run the SQL of the cell, after opening the database that the line names.

        Returns:
            The last statement's result as a relation, which the notebook shows; None where it gives no rows.

        Raises:
            UsageError: an option is unknown, or names no connection.
            duckdb.Error, RelserveError: the SQL failed.
        """
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise UsageError(f"%relserve cannot read its options: {error}") from error
        options = self._arguments.parse_args(words)
        if options.words:
            raise UsageError(
                f"SQL goes into the lines below %%relserve, not beside it: {' '.join(options.words)}"
            )
        if options.db or options.con or options.model or self.con is None:
            self._connect(options)
        return self._run(cell, options) if cell is not None else None

    def _connect(self, options: argparse.Namespace) -> None:
        if options.con and (options.db or options.model):
            raise UsageError("--con takes a connection as it is: give neither --db nor --model with it")
        con = self._shell.user_ns.get(options.con) if options.con else None
        if options.con and not isinstance(con, api.Connection):
            raise UsageError(f"--con {options.con} is no connection: make it with relserve.connect(..)")
        opened = con or api.connect(options.db or ":memory:", model=options.model)
        if self.con is not None and self._is_own:
            self.con.close()  # only now: where the next one is not to be had, this one stays
        self.con, self._is_own = opened, con is None

    def _run(self, sql: str, options: argparse.Namespace) -> Any:
        # from a frame whose variables are the notebook's, for the SQL may name its DataFrames
        call = {"_con": self.con, "_sql": sql}
        relation = eval("_con.sql(_sql)", self._shell.user_ns, call)
        if relation is None:
            return None
        rows = relation.to_arrow_table()
        is_select = duckdb.extract_statements(sql)[-1].type is duckdb.StatementType.SELECT
        if rows.column_names in (["Success"], ["Count"]) and not rows.num_rows and not is_select:
            return None  # so DuckDB answers SET, CREATE and the like
        if options.out:
            self._shell.user_ns[options.out] = rows
        if options.chart:
            console().print(chart_of(rows))
        return None if options.out else self.con.from_arrow(rows)  # type: ignore[union-attr]


def install(shell: Any) -> None:
    """Give IPython the magic."""
    shell.register_magic_function(Magic(shell), "line_cell", "relserve")
