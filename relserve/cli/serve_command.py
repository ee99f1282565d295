"""`relserve serve`: its options and help."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from relserve.cli import common_options as common
from relserve.errors import UsageError
from relserve.server.options import PORT, ServerOptions

NEEDED = {
    **dict.fromkeys((
        "mcp_rows", "mcp_seconds", "mcp_max_rows", "mcp_max_tokens_total", "mcp_max_cost",
        "mcp_calls_at_once", "mcp_calls_per_minute",
    ), "mcp"),
    "http_token": "http", "log_texts": "log_statements",
    **dict.fromkeys(("only_granted", "share_cache", "reserved_connections"), "users"),
}  # fmt: skip
_after = partial(typer.Option, min=0, metavar="SECONDS")


def serve_command(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="DuckDB database file (default: in memory).")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: a free one.")] = PORT,
    users: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who may come, with passwords: see `relserve user`.")
    ] = None,
    tls_cert: common.TlsCert = None,
    tls_key: common.TlsKey = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Nobody changes the database.")] = False,
    allow_files: Annotated[
        bool, typer.Option("--allow-files", help="Statements may read and write files, and load extensions.")
    ] = False,
    max_connections: Annotated[int, typer.Option(min=1, help="Clients at once.")] = 100,
    reserved_connections: Annotated[
        int, typer.Option(min=0, help="Of these, those that are kept for admins.")
    ] = 3,
    model: common.Model = None,
    examples: common.WithExamples = False,
    cache: common.KeptAnswers = True,
    statement_timeout: Annotated[
        float | None, _after(help="Longest statement, of clients that set none.")
    ] = None,
    longest_statement: Annotated[
        float | None, _after(help="Of all users but admins, whatever they set.")
    ] = None,
    idle_timeout: Annotated[float | None, _after(help="After which a silent client is disconnected.")] = None,
    log_statements: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a line of JSON a statement; - is stderr.")
    ] = None,
    log_texts: Annotated[bool, typer.Option("--log-texts", help="With the statements' texts.")] = False,
    http: Annotated[int | None, common.at_port(help="A page to look at, and /metrics.")] = None,
    http_token: Annotated[
        str | None, typer.Option(envvar="RELSERVE_HTTP_TOKEN", help="What the page wants to be told.")
    ] = None,
    openai: Annotated[int | None, common.at_port(help="OpenAI's API, answered by the same engine.")] = None,
    mcp: Annotated[int | None, common.at_port(help="Tools for agents over MCP, at /mcp.")] = None,
    mcp_rows: common.ShownRows = 200,
    mcp_seconds: common.WorkSeconds = 30.0,
    mcp_max_rows: common.AskedRows = 1000,
    mcp_max_tokens_total: common.AskedTokens = None,
    mcp_max_cost: common.AskedCost = None,
    mcp_calls_at_once: common.CallsAtOnce = 16,
    mcp_calls_per_minute: common.CallsPerMinute = 240,
    share_cache: Annotated[
        bool, typer.Option("--share-cache", help="Users share kept answers and the engine's prefix cache.")
    ] = False,
    only_granted: common.OnlyGranted = False,
) -> None:
    """Serve a DuckDB database with llm functions over PostgreSQL's protocol.

    For psql, BI tools over ODBC or JDBC, and every other client of PostgreSQL, many at once. Ctrl-C ends it.

    Examples:

    * `relserve serve shop.db`, and then `psql -h 127.0.0.1 -p 5433`
    * `relserve serve --examples --model http://127.0.0.1:8000/v1 --http 8080`
    * `relserve serve --openai 8000`, and then any OpenAI client with http://127.0.0.1:8000/v1
    * `relserve serve shop.db --mcp 8765`, and then any MCP client with http://127.0.0.1:8765/mcp
    * `relserve user add ann`, then
      `relserve serve shop.db --host 0.0.0.0 --users users.json --tls-cert cert.pem --tls-key key.pem`
    """
    common.see_that_none_is_idle(context, NEEDED)
    try:
        from relserve.cli import serve
    except ModuleNotFoundError as error:
        raise UsageError(f"relserve serve needs {error.name}: pip install 'relserve[server]'") from error
    from relserve.server.mcp.limits import ToolLimits
    from relserve.session.caps import Limits

    asked = Limits(mcp_max_rows, mcp_max_tokens_total, mcp_max_cost)
    serve.run(
        ServerOptions(
            database=file, host=host, port=port, users=users, tls_cert=tls_cert, tls_key=tls_key,
            read_only=read_only, allow_files=allow_files, max_connections=max_connections, model=model,
            examples=examples, cache=cache, statement_timeout_s=statement_timeout,
            idle_timeout_s=idle_timeout, log_statements=log_statements, log_texts=log_texts, http_port=http,
            http_token=http_token, openai_port=openai, mcp_port=mcp, share_cache=share_cache,
            only_granted=only_granted, reserved_connections=reserved_connections,
            longest_statement_s=longest_statement or None,
        ),
        ToolLimits(mcp_rows, mcp_seconds, asked, mcp_calls_at_once, mcp_calls_per_minute),
    )  # fmt: skip
