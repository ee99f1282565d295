"""Which servers the API key of the settings goes to: those that it was given for."""

from __future__ import annotations

from typing import NamedTuple

from relserve.call.hosts import host_of, is_among, is_url
from relserve.settings import DEFAULT_HOST, Settings


class ServerKey(NamedTuple):
    """The key for one server.

    Attributes:
        text: None: none is sent.
        is_withheld: whether there is one, for other servers.
    """

    text: str | None
    is_withheld: bool = False

    def refused(self, url: str, message: str) -> str:
        """What to tell when the server lets nobody in with it, and how to mend it."""
        if self.is_withheld:
            return (
                f"{url} wants an API key ({message}), and none was sent: the key that is set is for another"
                f" server; if it is for this one, set RELSERVE_API_KEY_HOSTS={host_of(url)}"
            )
        return f"{url} refused the API key ({message}): check the key set for it"


def server_key(url: str, settings: Settings, is_named: bool) -> ServerKey:
    """The key of the settings for a server, unless it was given for others.

    Args:
        is_named: whether a program or a command names the server, as the model of a connection or of a call,
            and not SQL alone, which may stand in a database of somebody else's.
    """
    if not settings.api_key:
        return ServerKey(None)
    host, hosts = host_of(url), settings.api_key_hosts
    has_own = is_url(settings.model)  # then the key stands beside the model that it is for
    is_default = host == host_of(settings.model) if has_own else is_named
    if is_among(host, hosts) or (DEFAULT_HOST in hosts and is_default):
        return ServerKey(settings.api_key)
    return ServerKey(None, is_withheld=True)
