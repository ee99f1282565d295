"""Calls of tools in the log of statements, beside the statements of SQL clients."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from relserve.server.client.state import EndedStatement
from relserve.server.mcp.work import ToolWork
from relserve.server.server import Server
from relserve.server.users.users import User
from relserve.server.wire.faults import fields_of

NO_PID = 0  # a call is no connection
STOPPED = "57014"


@contextmanager
def logged(server: Server, user: User, request: Any, text: str, work: ToolWork) -> Iterator[None]:
    """The call inside is counted and logged when it has ended.

    Args:
        request: of HTTP, which says from where it came; None: over stdio.
        text: what was called, as the log shows it.
    """
    began_s, sqlstate = time.monotonic(), None
    try:
        yield
    except BaseException as error:
        sqlstate = _sqlstate(error)
        raise
    finally:
        ended = EndedStatement(text, time.monotonic() - began_s, work.num_rows, sqlstate)
        address = request.client.host if request is not None and request.client else ""
        server.log(user, address, NO_PID, ended, work.num_tokens())


def _sqlstate(error: BaseException) -> str:
    """By what failed; a call that was cancelled, or took too long, was stopped."""
    cause = error.__cause__ if isinstance(error, ToolError) else error
    return fields_of(cause).sqlstate if isinstance(cause, Exception) else STOPPED
