"""The front door: a DuckDB connection with the llm functions on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import relserve_duckdb

from relserve.engines import registry
from relserve.engines.protocol import Engine
from relserve.session import Session
from relserve.settings import load

Connection = relserve_duckdb.Connection


def connect(
    database: str | Path = ":memory:",
    *,
    model: str | None = None,
    engine: Engine | None = None,
    progress: bool | None = None,
    prefetch: bool = True,
    memo: bool = True,
    **duckdb_options: Any,
) -> Connection:
    """Open a DuckDB database whose SQL knows llm() and its siblings.

    Args:
        database: file or ":memory:", as for duckdb.connect.
        model: the model of calls that name none (default: the setting, else 'tiny').
        engine: an engine object to use instead of looking a model up.
        progress: show progress bars; None shows them on terminals and in notebooks.
        prefetch: collect a call's inputs over the whole query first, so that they become one relQuery.
        memo: keep the answers of a statement; off, each chunk of rows asks its own again, without prefetch.
        duckdb_options: passed to duckdb.connect (read_only, config).

    Raises:
        ModelError: `model` leads to no model.
    """
    if model is not None and engine is None:
        registry.find_engine(model)  # a wrong name fails here, not in the first query
    con = duckdb.connect(database, **duckdb_options)
    return attach(con, model=model, engine=engine, progress=progress, prefetch=prefetch, memo=memo)


def attach(
    con: duckdb.DuckDBPyConnection,
    *,
    model: str | None = None,
    engine: Engine | None = None,
    progress: bool | None = None,
    prefetch: bool = True,
    memo: bool = True,
) -> Connection:
    """Put the llm functions on an open DuckDB connection; use the returned connection from then on.

    Arguments as for `connect`.
    """

    def find_engine(name: str | None) -> Engine:
        if engine is not None and name is None:
            return engine
        return registry.find_engine(name or model)

    shown = load().progress if progress is None else progress
    return relserve_duckdb.attach(con, Session(find_engine), progress=shown, prefetch=prefetch, memo=memo)
