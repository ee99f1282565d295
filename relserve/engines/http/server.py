"""Finding out what stands behind a URL: whether it is an LLM server, and which model it serves."""

from __future__ import annotations

import importlib
import math
import os
import ssl
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import openai

from relserve.call.hosted_names import START_HERE, lists_all
from relserve.engines.http.concurrency_limit import ConcurrencyLimit
from relserve.engines.http.dialect import Dialect
from relserve.engines.http.faults import RetryAction, fault_of
from relserve.engines.http.reply import in_json, shown
from relserve.engines.keys import ServerKey
from relserve.errors import EngineStartError, ModelError, RelserveError

NO_KEY = "none"  # the openai package insists on a key; servers without keys ignore it
CONNECT_S = 10.0
LIST_S = 30.0
MAX_LISTED = 20
PER_POOL = 32
MAX_POOLS = 16

Clients = tuple[openai.AsyncOpenAI, ...]


class RemoteModel(NamedTuple):
    """The model that a server serves: its name there, and which kind of server it is."""

    model: str
    is_vllm: bool = False
    is_llama_cpp: bool = False  # its own server or llama-cpp-python's
    one_at_a_time: bool = False


@dataclass
class ModelServer:
    """A server that was found to serve the model, and what was learned of it since."""

    name: str  # by which users know it
    clients: Clients
    model: str
    dialect: Dialect
    concurrency: ConcurrencyLimit
    key: ServerKey

    def client(self, index: int) -> openai.AsyncOpenAI:
        """The client for a row."""
        return self.clients[index % len(self.clients)]


def base_url_of(url: str) -> str:
    """The URL below which the endpoints lie: a bare host gets the customary /v1.

    Raises:
        ModelError: it is no http(s) URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelError(
            f"{url!r} is not the URL of a server; write it as 'http://host:port/v1'; {START_HERE}"
        )
    return url.rstrip("/") + ("" if parts.path.strip("/") else "/v1")


def clients_of(base_url: str, api_key: str | None, timeout_s: float, max_in_flight: int) -> Clients:
    """Clients that do not retry by themselves: the concurrency limit must see every refusal.

    Several, since a connection pool looks at all of its connections for each request: with 256 in one
    pool that costs more than the request itself.
    """
    # A proxy named in the environment cannot reach this machine's own ports.
    host = urlsplit(base_url).hostname or ""
    local = host in ("localhost", "::1") or host.startswith("127.")
    # Rows that queued for a connection, under a limit of the pool's own, would time out there.
    limits = type(openai.DEFAULT_CONNECTION_LIMITS)(
        max_connections=None, max_keepalive_connections=max_in_flight
    )
    tls = _tls_context(not local, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return tuple(
        openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key or NO_KEY,
            max_retries=0,
            timeout=openai.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s)),
            http_client=openai.DefaultAsyncHttpxClient(verify=tls, trust_env=not local, limits=limits),
        )
        for _ in range(min(MAX_POOLS, math.ceil(max_in_flight / PER_POOL)))
    )


@lru_cache(maxsize=8)
def _tls_context(trust_env: bool, file: str | None, folder: str | None) -> ssl.SSLContext:
    """The one that httpx makes for a client by itself, where reading the certificates takes 40 ms each time.

    Args:
        file, folder: what SSL_CERT_FILE and SSL_CERT_DIR say, which it reads.
    """
    httpx = importlib.import_module(type(openai.DEFAULT_CONNECTION_LIMITS).__module__.partition(".")[0])
    made: ssl.SSLContext = httpx.create_ssl_context(trust_env=trust_env)
    return made


async def close_all(clients: Clients) -> None:
    """Close their connections."""
    for client in clients:
        await client.close()


async def find_served(
    client: openai.AsyncOpenAI, url: str, wanted: str | None, key: ServerKey
) -> RemoteModel:
    """Ask the server which models it serves.

    Args:
        key: that the client sends.

    Raises:
        EngineStartError: no LLM server answers there, or it does not let us in.
        ModelError: it does not serve the wanted model, or leaves it open which one is meant.
    """
    if wanted is not None and not lists_all(url):
        return RemoteModel(wanted)
    try:
        cards = _cards(await list_models(client), url)
    except openai.NotFoundError as error:
        if wanted is not None:
            return RemoteModel(wanted)  # it may answer all the same: not every server lists its models
        raise EngineStartError(
            f"{url} answers, but {client.base_url}models gives HTTP 404: check the URL's path (most end "
            f"in /v1); where a server does not list its models, write '{url}#model'"
        ) from error
    except (openai.OpenAIError, ValueError) as error:
        raise start_error(error, url, key) from error
    names = [str(card["id"]) for card in cards]
    owners = {card.get("owned_by") for card in cards}
    is_vllm = "vllm" in owners
    is_llama_cpp_python = owners == {"me"} and all("permissions" in card for card in cards)
    return RemoteModel(
        _chosen(names, wanted, url, is_vllm),
        is_vllm=is_vllm,
        is_llama_cpp="llamacpp" in owners or is_llama_cpp_python,
        one_at_a_time=is_llama_cpp_python,
    )


async def list_models(client: openai.AsyncOpenAI) -> object:
    """The body of GET /models; ValueError where it is nested too deeply to be read."""
    timeout = client.timeout.read if isinstance(client.timeout, openai.Timeout) else None
    options: Any = {"timeout": min(LIST_S, timeout or LIST_S)}
    try:
        return in_json(await client.get("/models", cast_to=object, options=options))
    except RecursionError:
        raise ValueError("GET /models gave JSON that is nested too deeply") from None


def start_error(error: Exception, url: str, key: ServerKey) -> RelserveError:
    """Why the server at `url` cannot be used, and how to mend it."""
    fault = fault_of(error)
    if fault.status in (401, 403):
        return EngineStartError(key.refused(url, fault.message))
    if fault.status:
        return EngineStartError(f"{url} answered GET /models with {fault.message}")
    if fault.action is RetryAction.RETRY_ONCE:
        return EngineStartError(
            f"no LLM server answers at {url} in time: it may be busy, as one that answers one request at a "
            "time is, or be something else; try again later, or check host and port in the URL"
        )
    if isinstance(error, openai.APIConnectionError):
        return EngineStartError(
            f"no LLM server answers at {url} ({fault.message}): start it, or check host and port in the URL"
        )
    return _not_a_server(url, fault.message)


def _cards(data: object, url: str) -> list[dict[str, object]]:
    cards = data.get("data") if isinstance(data, dict) else None
    if not isinstance(cards, list) or not all(isinstance(c, dict) and "id" in c for c in cards):
        raise _not_a_server(url, f"GET /models gave {shown(data, 80)}")
    return cards


def _not_a_server(url: str, message: str) -> EngineStartError:
    return EngineStartError(
        f"what answers at {url} is not an OpenAI-compatible server ({message}): check host, port and path"
    )


def _chosen(names: list[str], wanted: str | None, url: str, is_vllm: bool) -> str:
    if wanted is not None:
        # Ollama lists tags that one need not write, Gemini a folder's name.
        for name in (wanted, f"{wanted}:latest", f"models/{wanted}"):
            if name in names:
                return name
        raise ModelError(f"{url} does not serve {wanted!r}; it serves {_listed(names)}")
    if not names:
        raise ModelError(f"{url} serves no model; load one there, or write '{url}#model'; {START_HERE}")
    if len(names) > 1 and not is_vllm:  # vLLM serves one model; further names are aliases and adapters of it
        raise ModelError(f"{url} serves several models; write '{url}#model' with one of {_listed(names)}")
    return names[0]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return (", ".join(repr(name) for name in names[:MAX_LISTED]) or "none") + more
