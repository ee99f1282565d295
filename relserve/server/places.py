"""How many sockets each port of a server may have, so that clients of SQL always find a file for theirs;
and who leaves for one more that waits to log in.
"""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from relserve.errors import UsageError
from relserve.machine.open_files import allow_open_files
from relserve.server.options import ServerOptions

MAX_WAITING = 200  # clients of SQL that have not said who they are
MOST, LEAST = 1000, 16  # sockets of a port of HTTP
OTHERS = 320  # the database's files, an engine's sockets, a model server's (256 requests at once), logs
BATCH = 16  # sockets that asyncio accepts at one go, before any of them can be hung up on
_BURST = 6 * BATCH  # of a port: it takes that many turns of the loop from one's coming to its going
QUEUE = 1024  # sockets that wait in the kernel to be accepted


def places_of(options: ServerOptions, allow: Callable[[int], int] = allow_open_files) -> int:
    """How many sockets each port of HTTP may have at once.

    Args:
        allow: see `allow_open_files`.

    Raises:
        UsageError: this process may have too few files open for that many clients; says how many it needs.
    """
    # of a socket of each port: a request to OpenAI's API has one to the engine, too
    files = ((options.http_port, 1), (options.openai_port, 2), (options.mcp_port, 1))
    each = sum(num for port, num in files if port is not None)
    kept = files_kept(options)
    allowed = allow(kept + each * MOST)
    needed = kept + each * LEAST
    if allowed < needed:
        raise UsageError(
            f"--max-connections {options.max_connections} needs {needed:,} open files, and this process may "
            f"have {allowed:,}: raise its limit (ulimit -n), or let fewer clients in"
        )
    return (allowed - kept) // max(each, 1)


def files_kept(options: ServerOptions) -> int:
    """How many open files no socket of HTTP may have."""
    num_ports = 4 - (options.http_port, options.openai_port, options.mcp_port).count(None)
    return options.max_connections + MAX_WAITING + OTHERS + num_ports * _BURST


class WaitingClient(Protocol):
    """Whoever waits to log in."""

    @property
    def network(self) -> str:
        """From which they come; "" until they are accepted."""


Waiting = TypeVar("Waiting", bound=WaitingClient)


def who_leaves(waiting: Collection[Waiting]) -> Waiting:
    """Who goes for one more: of the network from which most wait, who has waited longest.

    So who opens sockets at speed shuts out their own, and others have the time to log in. Of those who come
    at one go nobody knows yet from where: they stay while others are there.

    Args:
        waiting: as they came.
    """
    accepted = [each for each in waiting if each.network] or waiting
    ((network, _),) = Counter(each.network for each in accepted).most_common(1)
    return next(each for each in accepted if each.network == network)


def lengthen_queue(listening: int) -> None:
    """Let `QUEUE` sockets wait to be accepted, where asyncio, told to accept few at a time, lets only as few.

    Args:
        listening: the file of the socket that listens.
    """
    with socket.socket(fileno=os.dup(listening)) as same:
        same.listen(QUEUE)
