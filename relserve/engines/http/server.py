"""Finding out what stands behind a URL: whether it is an LLM server, of which model, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import NamedTuple

from yarl import URL

from relserve.call.hosted_names import START_HERE, lists_all
from relserve.call.hosts import without_user
from relserve.engines.http.client import NO_RESPONSE, JsonClient, StatusError
from relserve.engines.http.concurrency_limit import ConcurrencyLimit
from relserve.engines.http.decision_wire import DECISIONS, SYSTEM_ONE, DecisionWire
from relserve.engines.http.dialect import Dialect
from relserve.engines.http.faults import RetryAction, fault_of
from relserve.engines.http.reply import in_json, shown
from relserve.engines.keys import ServerKey
from relserve.errors import EngineStartError, ModelError, RelserveError


class ReadingWays(NamedTuple):
    """What is left to try at a server; the first way that it knows stays.

    Its likeliest tokens come first: that is the endpoint of all other functions, under our own labels and
    thresholds, and a server's decision path may be for other models than the one named. Then System One,
    which more servers speak. A way that a server does not know costs nothing: it answers 404, 405, 501 or
    400 before it computes a token. Only a chat without probabilities is computed in vain, and shows itself by
    nothing else. So the first row that a server is asked about goes alone, and at most that one is paid for
    twice. Of a server that knows no way, two rows of each submission are asked about by tokens, in case it
    was mended, and the others are not.

    Attributes:
        left: the ways, the next one first; None is by tokens.
        is_known: whether the server has shown that it knows the first.
    """

    left: tuple[DecisionWire | None, ...] = (None, SYSTEM_ONE, DECISIONS)
    is_known: bool = False

    @property
    def wire(self) -> DecisionWire | None:
        """The way to ask; None: by tokens."""
        return self.left[0]

    def known(self) -> ReadingWays:
        """After the server has shown that it knows the way."""
        return ReadingWays(self.left[:1], True)

    def others(self) -> ReadingWays:
        """After it has shown that it does not; by tokens where it knows none."""
        return ReadingWays(self.left[1:] or (None,))


LIST_S = 30.0
MAX_LISTED = 20


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
    client: JsonClient
    model: str
    dialect: Dialect
    concurrency: ConcurrencyLimit
    key: ServerKey
    reads: ReadingWays = field(default_factory=ReadingWays)


def base_url_of(url: str) -> str:
    """The URL below which the endpoints lie: a bare host gets the customary /v1.

    Raises:
        ModelError: it is no http(s) URL.
    """
    try:
        parts = URL(url)
    except ValueError:  # a port that is none, a bracket that is not closed
        parts = URL()
    if parts.scheme not in ("http", "https") or not parts.host:
        raise ModelError(
            f"{without_user(url)!r} is not the URL of a server; write it as 'http://host:port/v1'; "
            f"{START_HERE}"
        )
    below, mark, query = url.partition("?")
    return below.rstrip("/") + ("" if parts.path.strip("/") else "/v1") + mark + query


async def find_served(client: JsonClient, url: str, wanted: str | None, key: ServerKey) -> RemoteModel:
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
    except (StatusError, *NO_RESPONSE, ValueError) as error:
        if not isinstance(error, StatusError) or error.status != HTTPStatus.NOT_FOUND:
            raise start_error(error, url, key) from error
        if wanted is not None:
            return RemoteModel(wanted)  # it may answer all the same: not every server lists its models
        raise EngineStartError(
            f"{url} answers, but {client.base_url}/models gives HTTP 404: check the URL's path (most end "
            f"in /v1); where a server does not list its models, write '{url}#model'"
        ) from error
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


async def list_models(client: JsonClient) -> object:
    """The body of GET /models; raises as of `JsonClient`, ValueError where it is nested too deeply."""
    try:
        return in_json(await client.get("/models", LIST_S))
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
    if isinstance(error, NO_RESPONSE):
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
