"""TLS of the server's ports."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

from relserve.errors import UsageError

HANDSHAKE_S = 10.0  # within which a client must have ended it


def tls_context(chain: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """How to speak TLS with a certificate; None where there is none.

    Args:
        chain, key: files of PEM, `--tls-cert` and `--tls-key`.

    Raises:
        UsageError: only one of the two files is given, or they cannot be read.
    """
    if (chain is None) != (key is None):
        raise UsageError("--tls-cert and --tls-key go together")
    if chain is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(chain, key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"cannot read {chain} and {key}: {error}") from error
    return context


def shake_hands(
    plain: asyncio.Transport,
    protocol: asyncio.Protocol,
    context: ssl.SSLContext,
    is_up: Callable[[asyncio.Transport], None],
) -> None:
    """Begin TLS on a client's socket, in the loop; hangs up where the client does not come to its end.

    Args:
        plain: the socket. `plain.abort()` hangs up meanwhile, too.
        is_up: called with what speaks TLS; `protocol.data_received` may have been called before.
    """

    def ended(done: asyncio.Task[asyncio.Transport | None]) -> None:
        if done.cancelled() or done.exception() is not None or (transport := done.result()) is None:
            plain.abort()
            protocol.connection_lost(None)  # asyncio tells nobody that a handshake ended so
        else:
            is_up(transport)

    loop = asyncio.get_running_loop()
    shaking = loop.start_tls(plain, protocol, context, server_side=True, ssl_handshake_timeout=HANDSHAKE_S)
    loop.create_task(shaking).add_done_callback(ended)
