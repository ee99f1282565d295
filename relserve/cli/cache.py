"""`relserve cache`: what is kept of earlier queries' answers and of their lengths, and clearing it."""

from __future__ import annotations

import math
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from relserve.cache.faults import what_to_do
from relserve.cache.kept_batches import BatchBook
from relserve.cache.kept_errors import FILE_NAME as ERRORS
from relserve.cache.store import FILE_NAME, TOUCH_AFTER_S, NotOurs, Store
from relserve.cli.console import console
from relserve.cli.plain_text import counted
from relserve.errors import RelserveError, UsageError
from relserve.settings import load
from relserve.text2sql.retrieval.place import value_indexes, values_dir

WAIT_S = 10.0  # for other processes' locks
UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}

app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode="markdown",
)


@app.callback()
def show(context: typer.Context) -> None:
    """Show where answers are kept, how many of which model, and how often they were used again.

    Greedy answers (temperature 0) are kept, so that a query that runs again, after a crash or Ctrl-C too,
    asks only for rows that have no answer yet. `docs/answer_cache.md` says what is in the file. How long
    answers were is kept apart, for scheduling: `docs/settings.md` says how. So are indexes of the values of
    databases, for text2sql.

    Examples:

    * `relserve cache`
    * `relserve cache clear --model tiny --older-than 30d`
    * `relserve sql --no-cache ".."` neither reads nor writes it
    """
    if context.invoked_subcommand is not None:
        return
    from relserve.machine.length_file import lengths_files

    settings, screen = load(), console()
    path = settings.cache_dir / FILE_NAME
    screen.print(f"file     {path}", soft_wrap=True)
    if settings.answer_cache_mb == 0:
        screen.print("limit    RELSERVE_ANSWER_CACHE_MB is 0: nothing is read from it or added to it")
    else:
        screen.print(f"limit    {settings.answer_cache_mb:,} MB")
    screen.print(f"lengths  {_of_lengths(lengths_files())}", soft_wrap=True)
    screen.print(f"values   {_of_values(value_indexes())}", soft_wrap=True)
    if not path.exists():
        screen.print("answers  none yet")
        return
    with _opened(path) as store:
        stats, size = store.by_model(), store.file_bytes
    screen.print(f"size     {_megabytes(size)}")
    screen.print(f"answers  {sum(each.answers for each in stats):,}")
    from rich.table import Table

    table = Table(header_style="bold")
    table.add_column("model")
    for name in ("answers", "text", "used again", "last used from", "to"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in stats:
        used = (f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M}" for at in (each.first_used, each.last_used))
        table.add_row(each.model, f"{each.answers:,}", _megabytes(each.bytes), f"{each.hits:,}", *used)
    if stats:
        screen.print(table)


@app.command("clear")
def clear_command(
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only answers of this model, as `relserve cache` names it."),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Only answers not used for so long: 12h, 30d, 8w (or up to an hour more)."
        ),
    ] = None,
    lengths: Annotated[
        bool, typer.Option("--lengths", help="Only what was learnt of answers' lengths, and no answers.")
    ] = False,
    values: Annotated[
        bool, typer.Option("--values", help="Only the indexes of databases' values, and no answers.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete kept answers, those of batches that ended, and indexes of databases' values. Asks before.

    Running queries are not disturbed; what they answer from then on is kept again.

    Examples:

    * `relserve cache clear`
    * `relserve cache clear --older-than 30d --yes`
    * `relserve cache clear --model http://127.0.0.1:8000/v1`
    * `relserve cache clear --lengths`
    """
    is_some = model is not None or older_than is not None
    if lengths or values:
        if is_some:
            raise UsageError("--lengths and --values delete all; leave --model and --older-than out")
        if lengths:
            _clear_lengths(yes)
        if values:
            _clear_values(yes)
        return
    _clear_answers(model, older_than, yes)
    if not is_some:
        (load().cache_dir / ERRORS).unlink(missing_ok=True)
        BatchBook(load().cache_dir).clear()
    if not is_some and value_indexes():
        _clear_values(yes)


def _clear_answers(model: str | None, older_than: str | None, yes: bool) -> None:
    """Delete kept answers, all or those of a model, or not used for so long."""
    age_s = seconds_of(older_than) if older_than is not None else None
    path, screen = load().cache_dir / FILE_NAME, console()
    if not path.exists():
        screen.print(f"nothing to delete: there is no {path}", soft_wrap=True)
        return
    with _opened(path) as store:
        # a use is written down at most once in TOUCH_AFTER_S: the last one may be so much later than it says
        before = math.inf if age_s is None else time.time() - age_s - TOUCH_AFTER_S
        _check_model(store, model)
        num, size = store.count(model, before)
        whose = "" if model is None else f" of {model}"
        when = "" if older_than is None else f" not used for {older_than}"
        if num == 0:
            screen.print(f"nothing to delete: no answers{whose}{when}")
            return
        if not yes:
            _ask(f"Delete {num:,} answers ({_megabytes(size)} of text){whose}{when}?")
        deleted = store.clear(model, before)
        screen.print(f"deleted {deleted:,} answers{whose}{when}")


def _clear_lengths(yes: bool) -> None:
    """Delete the files of learnt lengths; engines that run learn on."""
    from relserve.machine.length_file import lengths_dir, lengths_files

    screen, files = console(), lengths_files()
    if not files:
        screen.print(f"nothing to delete: there is nothing in {lengths_dir()}", soft_wrap=True)
        return
    if not yes:
        _ask(f"Delete {_of_lengths(files)}?")
    for path in files:
        path.unlink(missing_ok=True)
    screen.print(f"deleted what was learnt of answers' lengths, of {counted(len(files), 'model')}")


def _clear_values(yes: bool) -> None:
    """Delete the indexes of databases' values; they are built anew where a question needs them."""
    screen, indexes = console(), value_indexes()
    if not indexes:
        screen.print(f"nothing to delete: there is nothing in {values_dir()}", soft_wrap=True)
        return
    if not yes:
        _ask(f"Delete the values {_of_values(indexes)}?")
    for index in indexes:
        shutil.rmtree(index, ignore_errors=True)
    left = len(value_indexes())
    screen.print(f"deleted the values of {counted(len(indexes) - left, 'database')}")


def _of_values(indexes: list[Path]) -> str:
    """What is kept of databases' values, in words."""
    if not indexes:
        return "none kept yet"
    size = sum(path.stat().st_size for index in indexes for path in index.rglob("*"))
    return f"of {counted(len(indexes), 'database')}, {_megabytes(size)} in {indexes[0].parent}"


def _of_lengths(files: list[Path]) -> str:
    """What was learnt of answers' lengths, in words."""
    if not files:
        return "none learnt yet"
    size = sum(path.stat().st_size for path in files)
    return f"of answers of {counted(len(files), 'model')}, {size / 1000:,.1f} kB in {files[0].parent}"


def seconds_of(text: str) -> float:
    """A length of time such as 90s, 45m, 12h, 30d or 8w, in seconds.

    Raises:
        UsageError: it is none.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", text)
    if found is None:
        raise UsageError(
            f"--older-than {text!r} is no length of time; write a number and a unit: 90s, 45m, 12h, 30d, 8w"
        )
    return float(found[1]) * UNIT_S[found[2]]


def _ask(question: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"{question} stdin is no terminal, so nobody can be asked; add --yes")
    typer.confirm(question, abort=True)


def _check_model(store: Store, model: str | None) -> None:
    names = [each.model for each in store.by_model()] if model is not None else []
    if model is not None and model not in names:
        there = ", ".join(repr(name) for name in names) or "none"
        raise UsageError(f"no answers of {model!r} are kept; there are answers of: {there}")


@contextmanager
def _opened(path: Path) -> Iterator[Store]:
    """The file of the cache; what is wrong with it becomes one message."""
    try:
        with closing(Store(path, WAIT_S)) as store:
            store.prepare()
            yield store
    except (sqlite3.Error, OSError, NotOurs) as error:
        raise RelserveError(what_to_do(error, path)) from error


def _megabytes(num_bytes: int) -> str:
    return f"{num_bytes / 2**20:,.1f} MB"
