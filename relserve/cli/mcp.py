"""What `relserve mcp` does."""

from __future__ import annotations

from relserve.engines.registry import announce, announce_with_times
from relserve.errors import UsageError
from relserve.machine.memory_limit import limit_memory
from relserve.server.log_lines import log_to_stderr
from relserve.server.mcp.limits import ToolLimits
from relserve.server.mcp.start import run
from relserve.server.options import ServerOptions
from relserve.settings import prefer_shared


async def serve(options: ServerOptions, limits: ToolLimits, port: int | None) -> None:
    """Serve until the client leaves, or until told to stop; stdout is the client's over stdio.

    Raises:
        UsageError: there is no database, or as of `start.run`.
    """
    if options.database is None and not options.examples:
        raise UsageError("relserve mcp is about a database: --db FILE, or --examples for the shipped tables")
    prefer_shared()
    limit_memory()
    announce_with_times()
    log_to_stderr()
    await run(options, limits, port, announce)
