"""The SQL layer: llm functions for a DuckDB connection."""

from __future__ import annotations

import duckdb

from relserve.errors import UsageError
from relserve.session.session import Session
from relserve.text2sql.catalog.relations import in_transaction
from relserve_duckdb.describe.description import Description
from relserve_duckdb.questions.asker import Pipeline
from relserve_duckdb.udf.client import Client, NoVariables
from relserve_duckdb.user.connection import Connection
from relserve_duckdb.user.python_client import PythonClient

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
    is_new: bool = False,
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
        is_new: the database has just been made in memory, so it has no views and macros to look for, which
            takes as long as opening it.

    Raises:
        UsageError: a transaction is open, to which the functions would belong: ROLLBACK would end them.
    """
    raw = con.raw if isinstance(con, Connection) else con
    _refuse_transaction(raw)
    return Connection(raw, session, client or PythonClient(progress), prefetch, memo, None, pipeline, is_new)


def _refuse_transaction(raw: duckdb.DuckDBPyConnection) -> None:
    try:
        is_open = in_transaction(raw.execute)
    except duckdb.TransactionException:  # aborted, and not yet rolled back
        is_open = True
    if is_open:
        raise UsageError(
            "attach() takes a connection without an open transaction: ROLLBACK would take the llm functions "
            "with it. COMMIT or ROLLBACK first, then attach"
        )
