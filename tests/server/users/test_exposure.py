"""Where a server may listen, and options that do not go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from relserve.engines.scripted import ScriptedEngine
from relserve.errors import UsageError
from relserve.server.options import ServerOptions
from relserve.server.server import Server
from relserve.server.users.exposure import check_exposed


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "/run/relserve"])
def test_this_machine_alone_needs_nothing(host):
    check_exposed(host, has_tls=False, has_users=False)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "10.0.0.5", "db.example.org", "localhost.example.org", "127.1"]
)
def test_other_machines_need_both(host):
    check_exposed(host, has_tls=True, has_users=True)
    with pytest.raises(UsageError, match=r"needs TLS .* and passwords"):
        check_exposed(host, has_tls=False, has_users=False)
    with pytest.raises(UsageError, match="needs TLS"):
        check_exposed(host, has_tls=False, has_users=True)
    with pytest.raises(UsageError, match="needs passwords"):
        check_exposed(host, has_tls=True, has_users=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tls_cert": Path("chain.pem")}, "--tls-cert and --tls-key go together"),
        ({"tls_key": Path("key.pem")}, "--tls-cert and --tls-key go together"),
        ({"read_only": True}, "--read-only needs a database file"),
    ],
)
def test_half_of_what_is_needed_is_an_error(options, said):
    with pytest.raises(UsageError, match=said):
        Server(ServerOptions(port=0, **options), ScriptedEngine())
