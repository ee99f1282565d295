"""A program: a server over stdio as `relserve mcp` runs it, but that the scripted engine answers.

Usage: stdio_child.py DATABASE SECONDS, which DuckDB may work for a call.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "duckdb_ext"), str(ROOT / "kernels")]

from relserve.engines.scripted import ScriptedEngine  # noqa: E402
from relserve.server.mcp.limits import ToolLimits  # noqa: E402
from relserve.server.mcp.start import serve_stdio  # noqa: E402
from relserve.server.options import ServerOptions  # noqa: E402
from relserve.server.server import Server  # noqa: E402
from tests.server.mcp.agents import answer  # noqa: E402

engine = ScriptedEngine(answer)
server = Server(ServerOptions(database=Path(sys.argv[1]), read_only=True), engine)
try:
    asyncio.run(serve_stdio(server, ToolLimits(seconds=float(sys.argv[2]))))
finally:
    server.close()
