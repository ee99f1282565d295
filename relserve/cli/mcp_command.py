"""`relserve mcp`: its options and help."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from relserve.cli import common_options as common
from relserve.errors import UsageError

NEEDED = {**dict.fromkeys(("host", "tls_cert", "tls_key"), "http"), "only_granted": "users"}


def mcp_command(
    context: typer.Context,
    db: common.OnlyRead = None,
    examples: common.WithExamples = False,
    http: Annotated[
        int | None, common.at_port(help="Serve streamable HTTP there; without it, stdio.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on, with --http.")] = "127.0.0.1",
    users: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Whose keys are good: see `relserve user key`.")
    ] = None,
    tls_cert: common.TlsCert = None,
    tls_key: common.TlsKey = None,
    only_granted: common.OnlyGranted = False,
    model: common.Model = None,
    rows: common.ShownRows = 200,
    seconds: common.WorkSeconds = 30.0,
    max_rows: common.AskedRows = 1000,
    max_tokens_total: common.AskedTokens = None,
    max_cost: common.AskedCost = None,
    calls_at_once: common.CallsAtOnce = 16,
    calls_per_minute: common.CallsPerMinute = 240,
    cache: common.KeptAnswers = True,
) -> None:
    """Serve a DuckDB database to agents over the Model Context Protocol (MCP), for Claude, Cursor and others.

    Tools: list_tables, describe, query, ask, explain, classify_column. Only SELECT runs.

    Examples:

    * `relserve mcp --db shop.db`: over stdio, as an agent's program starts it
    * `relserve mcp --db shop.db --http 8765`, and then http://127.0.0.1:8765/mcp
    * `relserve user add bot --no-password`, `relserve user key bot`, then
      `relserve mcp --db shop.db --http 8765 --users users.json`
    """
    try:
        from relserve.cli import mcp
    except ModuleNotFoundError as error:
        raise UsageError(f"relserve mcp needs {error.name}: pip install 'relserve[mcp]'") from error
    from relserve.server.mcp.limits import ToolLimits
    from relserve.server.options import ServerOptions
    from relserve.session.caps import Limits

    common.see_that_none_is_idle(context, NEEDED)
    if users is not None and http is None:
        raise UsageError("--users is for --http: over stdio whoever starts the command is the user")
    options = ServerOptions(
        database=db, host=host, users=users, tls_cert=tls_cert, tls_key=tls_key, read_only=db is not None,
        model=model, examples=examples, cache=cache, only_granted=only_granted,
    )  # fmt: skip
    asked = Limits(max_rows, max_tokens_total, max_cost)
    limits = ToolLimits(rows, seconds, asked, calls_at_once, calls_per_minute)
    asyncio.run(mcp.serve(options, limits, http))
