"""The SQL layer: llm functions for a DuckDB connection."""

from __future__ import annotations

import duckdb

from relserve.session.session import Session
from relserve_duckdb.describe.description import Description
from relserve_duckdb.questions.asker import Pipeline
from relserve_duckdb.udf.client import Client
from relserve_duckdb.user.connection import Connection
from relserve_duckdb.user.python_client import PythonClient
from relserve_duckdb.user.variables import NoVariables

__all__ = ["Client", "Connection", "Description", "NoVariables", "Pipeline", "attach"]


def attach(
    con: duckdb.DuckDBPyConnection | Connection,
    session: Session,
    *,
    progress: bool | None = None,
    prefetch: bool = True,
    memo: bool = True,
    client: Client | None = None,
    pipeline: Pipeline | None = None,
) -> Connection:
    """Give a DuckDB connection the llm functions.

    Args:
        con: an open connection; it stays usable by itself, with the functions but without prefetch.
        session: what answers.
        progress: a bar a relQuery on stderr; None: when a person looks.
        prefetch: ask all rows of a statement at once, before it runs; off, rows go chunk by chunk.
        memo: keep the answers of a statement; off, each chunk asks its own again, and nothing is prefetched.
        pipeline: turns text2sql()'s questions into SQL; None: that of `relserve.text2sql`.
        client: who runs the statements, instead of this Python program; shows progress in its own way.
    """
    raw = con.raw if isinstance(con, Connection) else con
    return Connection(raw, session, client or PythonClient(progress), prefetch, memo, None, pipeline)
