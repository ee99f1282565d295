"""The servers that models' names mean, and lists of hosts that settings have."""

from __future__ import annotations

import re
from collections.abc import Container
from urllib.parse import urlsplit

ANY = "*"  # in a list of hosts: every one
BATCH = "batch:"  # before a URL: its rows are sent as batches
_PORTS = {"http": 80, "https": 443}


def is_url(model: str) -> bool:
    """Whether a model's name is the URL of a server, or of one that is sent batches."""
    return re.match(r"(?:batch:)?https?://", model) is not None


def host_of(url: str) -> str:
    """The server that a URL means, as HOST:PORT; what is no such URL as it is."""
    try:
        parts = urlsplit(url.removeprefix(BATCH))
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return url
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def without_user(url: str) -> str:
    """A URL as messages show it, without the user and the password that it may name."""
    return re.sub(r"//[^/?#]*@", "//", url, count=1)


def is_among(host: str, hosts: Container[str]) -> bool:
    """Whether a list of HOST, HOST:PORT and `ANY` has a server, as `host_of` gives it."""
    return host in hosts or host.rpartition(":")[0] in hosts or ANY in hosts
