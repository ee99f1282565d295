"""The ways to members' OpenAI servers: where each is, and the connections there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from relserve.call.token_counts import count_of
from relserve.engines.fleet.member import ApiPlace, FleetMember, Launched
from relserve.engines.http.client import CONNECT_S, proxy_of
from relserve.errors import EngineDeadError, EngineError

APP_S = 20.0  # in which a member that was started here makes its web app
LIST_S = 1.0  # in which a server that is up lists its models
NOT_HERE = "it runs on another machine, where its OpenAI server cannot be reached; its rows of SQL it gets"


class MemberWay(NamedTuple):
    """A way to one life of a member.

    Attributes:
        context: tokens that a prompt and its answer may have together; None: it does not tell.
    """

    place: ApiPlace
    client: aiohttp.ClientSession
    context: int | None


class Ways:
    """Found when they are first gone; on the engine loop.

    Args:
        arguments: of vLLM's web app, for members that the fleet starts.
        model: the name by which clients ask for the model.
        say: told in one line of a member to which there is no way.
    """

    def __init__(self, arguments: Mapping[str, Any], model: str, say: Callable[[str], None]) -> None:
        self._arguments, self._model, self._say = arguments, model, say
        self._closed: dict[str, Launched] = {}  # members to which there is none
        self._found: dict[str, tuple[Launched, asyncio.Future[MemberWay | None]]] = {}

    def is_closed(self, member: FleetMember) -> bool:
        """Whether it is known that there is no way to a member."""
        return member.launched is not None and self._closed.get(member.name) is member.launched

    async def to(self, member: FleetMember) -> MemberWay | None:
        """The way to a member that is up; None: there is none.

        Raises:
            EngineError: it does not answer, or not as it should.
        """
        launched = member.launched
        if launched is None:
            raise EngineDeadError(f"member {member.name} is gone")
        known, finding = self._found.get(member.name, (None, None))
        if finding is None or known is not launched or (finding.done() and not _is_found(finding)):
            self._forget(member.name)
            finding = asyncio.ensure_future(self._find(member, launched))
            self._found[member.name] = launched, finding
        return await asyncio.shield(finding)

    async def close(self) -> None:
        """Let all connections go."""
        for _, finding in self._found.values():
            finding.cancel()
        for name in list(self._found):
            self._forget(name)
        await asyncio.sleep(0)  # `_let_go` is called
        if _closing:
            await asyncio.wait(_closing)

    def _forget(self, name: str) -> None:
        """Let a way go, once it is found: others may wait for that."""
        _, finding = self._found.pop(name, (None, None))
        if finding is not None:
            finding.add_done_callback(_let_go)

    async def _find(self, member: FleetMember, launched: Launched) -> MemberWay | None:
        place = await member.launcher.api(launched.engine, self._arguments, self._model)
        if place is None:
            if member.name not in self._closed:
                self._say(f"{self._model}: member {member.name} answers no OpenAI clients: {NOT_HERE}")
            self._closed[member.name] = launched
            return None
        client = _client_of(place)
        try:
            return MemberWay(place, client, await _context(place, client))
        except BaseException as error:
            await client.close()
            if isinstance(error, (aiohttp.ClientError, OSError, ValueError)):
                raise EngineDeadError(f"its OpenAI server does not answer: {error}") from error
            raise


def _is_found(finding: asyncio.Future[MemberWay | None]) -> bool:
    return not finding.cancelled() and finding.exception() is None


def _let_go(finding: asyncio.Future[MemberWay | None]) -> None:
    if _is_found(finding) and (way := finding.result()) is not None:
        closing = asyncio.ensure_future(way.client.close())
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)


_closing: set[asyncio.Future[None]] = set()


def _client_of(place: ApiPlace) -> aiohttp.ClientSession:
    at = place.socket
    connector = aiohttp.TCPConnector(limit=0) if at is None else aiohttp.UnixConnector(str(at), limit=0)
    return aiohttp.ClientSession(
        connector=connector, headers=place.headers, cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(sock_connect=CONNECT_S), proxy=None if at else proxy_of(URL(place.url)),
    )  # fmt: skip


async def _context(place: ApiPlace, client: aiohttp.ClientSession) -> int | None:
    """What the model's card says of it, of a server that lists its models in time."""
    timeout = aiohttp.ClientTimeout(APP_S if place.socket is not None else LIST_S)
    try:
        return await _listed(place, client, timeout)
    except TimeoutError:
        if place.socket is not None:
            raise EngineError(f"its OpenAI server does not answer for {APP_S:g} s") from None
        return None


async def _listed(
    place: ApiPlace, client: aiohttp.ClientSession, timeout: aiohttp.ClientTimeout
) -> int | None:
    async with client.get(f"{place.url}/models", timeout=timeout) as answer:
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise EngineError(f"its OpenAI server does not answer: {(await answer.text())[:500]}")
        if answer.status != HTTPStatus.OK:
            return None
        cards = _cards(await answer.text())
    card = next((each for each in cards if each.get("id") == place.model), cards[0] if cards else {})
    return count_of(card.get("max_model_len"))


def _cards(text: str) -> list[dict[str, Any]]:
    """The models that a server lists; none where what it sent is no list of models."""
    try:
        listed = json.loads(text)["data"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
