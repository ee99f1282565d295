"""How a server is started: what `relserve serve` takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PORT = 5433  # PostgreSQL's own is 5432, and may be taken


@dataclass(frozen=True)
class ServerOptions:
    """See `relserve serve --help`.

    Attributes:
        database: DuckDB's file; None: in memory, gone with the server.
        users: the file of `relserve user`; None: everybody who reaches the port is let in, as an admin.
        statement_timeout_s, idle_timeout_s: of clients that set none themselves; None: without end.
        log_statements: a file to which a line a statement is written, "-" for stderr; None: none is.
        http_port: of the page; None: there is none.
        openai_port: of OpenAI's API; None: there is none.
        mcp_port: of the tools for agents; None: there is none.
        reserved_connections: of `max_connections`, those that are kept for admins.
        longest_statement_s: of users who are no admins and have no such limit of their own; None: none.
        only_granted: whether users may use only what they own or what was granted, as in PostgreSQL; else
            tables on which nothing was granted are everybody's.
        share_cache: whether users share kept answers, and what the engine has computed of prompts.
    """

    database: Path | None = None
    host: str = "127.0.0.1"
    port: int = PORT
    users: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    read_only: bool = False
    allow_files: bool = False
    max_connections: int = 100
    model: str | None = None
    examples: bool = False
    cache: bool = True
    statement_timeout_s: float | None = None
    idle_timeout_s: float | None = None
    log_statements: str | None = None
    log_texts: bool = False
    http_port: int | None = None
    http_token: str | None = None
    openai_port: int | None = None
    mcp_port: int | None = None
    share_cache: bool = False
    only_granted: bool = False
    reserved_connections: int = 3
    longest_statement_s: float | None = None
