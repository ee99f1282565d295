"""What is asked about: a database that is only read, files as tables, the shipped tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from relserve import api
from relserve.cli import demo
from relserve.cli.data_files import scan_of
from relserve.cli.spending_question import ask_before_spending
from relserve.errors import UsageError
from relserve.settings import prefer_shared

_NO_LETTER = re.compile(r"\W+")


class QuestionSource(NamedTuple):
    """What a question may be about.

    Attributes:
        db: a DuckDB file; None: none.
        files: of rows; each is a table of its name.
        examples: the shipped tables, too.
    """

    db: Path | None = None
    files: tuple[Path, ...] = ()
    examples: bool = False


def open_source(source: QuestionSource, cache: bool) -> api.Connection:
    """A connection on which all of it is tables.

    Raises:
        UsageError: there is nothing to ask about, or a file is not there.
    """
    if source == QuestionSource():
        raise UsageError(
            "what is the question about? Give --db FILE (a DuckDB database), --csv FILE (CSV, Parquet or "
            "JSON; several may be given) or --examples (the shipped tables)"
        )
    for path in filter(None, (source.db, *source.files)):
        if not path.is_file():
            raise UsageError(f"there is no file {str(path)!r}")
    names = _names_of(source.files)
    prefer_shared()
    database, read_only = (str(source.db), True) if source.db else (":memory:", False)
    con = api.connect(database, cache=cache, read_only=read_only)
    con.raw.execute("SET enable_progress_bar = false")
    ask_before_spending(con)
    if source.examples:
        demo.prepare(con)
    for path, name in names.items():
        con.raw.execute(f'CREATE TEMP TABLE "{name}" AS FROM {scan_of(str(path))}')
    return con


def _names_of(files: tuple[Path, ...]) -> dict[Path, str]:
    """A table's name for each file: what its own begins with."""
    names = {path: _NO_LETTER.sub("_", path.name.partition(".")[0]).strip("_") or "rows" for path in files}
    taken = [name.casefold() for name in names.values()]
    if twice := sorted(name for name in set(taken) if taken.count(name) > 1):
        raise UsageError(f"two files would be a table {twice[0]!r}; rename one of them")
    return names
