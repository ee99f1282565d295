"""The gateway of a server: its engine, its users and their quota."""

from __future__ import annotations

from relserve.engines.protocol import ServesOpenAI
from relserve.errors import UsageError
from relserve.server.openai.gateway import Gateway
from relserve.server.openai.upstream import EngineUpstream
from relserve.server.server import Server
from relserve.server.users.exposure import check_exposed
from relserve.settings import load


def gateway_of(server: Server) -> Gateway:
    """A gateway to the server's engine, which is started meanwhile; in the server's event loop.

    Raises:
        UsageError: the model is neither one that relserve runs on this machine nor a fleet, or others could
            come in.
    """
    options, engine = server.options, server.engine
    check_exposed(options.host, options.tls_cert is not None, server.users is not None)
    if not isinstance(engine, ServesOpenAI):
        raise UsageError(
            f"--openai is for a model that relserve runs on this machine, and {engine.model!r} is none: give "
            "--model a folder, a hub id, 'tiny' or a fleet, or have OpenAI clients ask that server itself"
        )
    settings = load()
    upstream = EngineUpstream(engine, engine.model, settings.openai_args)
    upstream.start()
    folder = settings.cache_dir / "openai-batches"
    return Gateway(upstream, server.users, server.quota, server.counters, server.salts, folder)
