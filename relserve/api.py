"""The front door: a DuckDB connection with the llm functions on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import relserve_duckdb

from relserve.cache.cache import AnswerCache, shared_cache
from relserve.cache.store import FILE_NAME
from relserve.engines import registry
from relserve.engines.protocol import Engine
from relserve.errors import UsageError
from relserve.session.history import History
from relserve.session.session import Session
from relserve.settings import Settings, load

Connection = relserve_duckdb.Connection
close_engines = registry.close_engines


def connect(
    database: str | Path = ":memory:",
    *,
    model: str | None = None,
    engine: Engine | None = None,
    progress: bool | None = None,
    prefetch: bool = True,
    memo: bool = True,
    cache: bool = True,
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
        cache: keep answers on disk and look there first, unless the settings switch that off.
        duckdb_options: passed to duckdb.connect (read_only, config).

    Raises:
        UsageError: an engine and a model.
        ModelError: `model` leads to no model.
    """
    _refuse_both(model, engine)
    if model is not None:
        registry.find_engine(model)  # a wrong name fails here, not in the first query
    con = duckdb.connect(database, **duckdb_options)
    return attach(
        con, model=model, engine=engine, progress=progress, prefetch=prefetch, memo=memo, cache=cache
    )


def attach(
    con: duckdb.DuckDBPyConnection,
    *,
    model: str | None = None,
    engine: Engine | None = None,
    progress: bool | None = None,
    prefetch: bool = True,
    memo: bool = True,
    cache: bool = True,
) -> Connection:
    """Put the llm functions on an open DuckDB connection; use the returned connection from then on.

    Arguments as for `connect`.

    Raises:
        UsageError: an engine and a model.
    """
    _refuse_both(model, engine)
    shown = load().progress if progress is None else progress
    session = new_session(model=model, engine=engine, cache=cache)
    return relserve_duckdb.attach(con, session, progress=shown, prefetch=prefetch, memo=memo)


def new_session(
    *,
    model: str | None = None,
    engine: Engine | None = None,
    history: History | None = None,
    cache: bool = True,
) -> Session:
    """A session on shared engines.

    Args:
        model: the model of calls that name none (default: the setting, else 'tiny').
        engine: an engine object for those calls instead.
        history: where to record; a new one if None.
        cache: as for `connect`.
    """

    def find_engine(name: str | None) -> Engine:
        if engine is not None and name is None:
            return engine
        return registry.find_engine(name or model)

    kept = _cache(load()) if cache else None
    return Session(find_engine, History() if history is None else history, kept)


def _refuse_both(model: str | None, engine: Engine | None) -> None:
    if model is not None and engine is not None:
        raise UsageError("give engine= or model=, not both: an engine answers with its own model")


def _cache(settings: Settings) -> AnswerCache | None:
    if settings.answer_cache_mb == 0:
        return None
    path = settings.cache_dir / FILE_NAME
    return shared_cache(path, settings.answer_cache_mb * 2**20, registry.announce)
