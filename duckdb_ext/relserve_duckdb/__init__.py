"""The SQL layer: llm functions for a DuckDB connection."""

from __future__ import annotations

import duckdb

from relserve.session.session import Session
from relserve_duckdb.user.connection import Connection
from relserve_duckdb.user.python_client import PythonClient

__all__ = ["Connection", "attach"]


def attach(
    con: duckdb.DuckDBPyConnection | Connection,
    session: Session,
    *,
    progress: bool | None = None,
    prefetch: bool = True,
    memo: bool = True,
) -> Connection:
    """Give a DuckDB connection the llm functions.

    Args:
        con: an open connection; it stays usable by itself, with the functions but without prefetch.
        session: what answers.
        progress: a bar a relQuery on stderr; None: when a person looks.
        prefetch: ask all rows of a statement at once, before it runs; off, rows go chunk by chunk.
        memo: keep the answers of a statement; off, each chunk asks its own again, and nothing is prefetched.
    """
    raw = con.raw if isinstance(con, Connection) else con
    return Connection(raw, session, PythonClient(progress), prefetch, memo)
