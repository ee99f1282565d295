"""Where a server may listen."""

from __future__ import annotations

import ipaddress

from relserve.errors import UsageError


def check_exposed(host: str, has_tls: bool, has_users: bool) -> None:
    """Refuse to listen where others could read along, or come in without a password.

    Args:
        host: a name or address to listen on, or the path of a Unix socket's folder.
        has_tls: whether connections are encrypted.
        has_users: whether there is a users file, so that clients need a password.

    Raises:
        UsageError: says what is missing.
    """
    if is_loopback(host):
        return
    missing = [
        *([] if has_tls else ["TLS (--tls-cert and --tls-key)"]),
        *([] if has_users else ["passwords (--users, a file that `relserve user add NAME` makes)"]),
    ]
    if missing:
        raise UsageError(
            f"--host {host} can be reached from other machines, which needs {' and '.join(missing)}; "
            "without them the server listens on 127.0.0.1 only"
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address; of names only localhost is known to be its own."""
    if host == "localhost" or host.startswith("/"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
