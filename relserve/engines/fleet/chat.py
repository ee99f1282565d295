"""One request of an OpenAI client: it goes to a member, and to another if that fails before it answers."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from math import inf
from typing import Any, TypeVar

import aiohttp

from relserve.call.rel_tag import DISPATCH, asked_slos
from relserve.engines.fleet.member import ApiPlace, FleetMember
from relserve.engines.fleet.quarantine import MOST_DEATHS
from relserve.engines.fleet.roster import WAIT_S, Roster
from relserve.engines.fleet.watch import PING_S
from relserve.engines.fleet.ways import MemberWay, Ways
from relserve.engines.local.entering import Entering
from relserve.errors import EngineDeadError, EngineError, EngineStartError
from relserve.policies.dispatch.router import Asked

AGAIN_S = 0.1  # after which a member that could not be reached is asked again
LOOK_S = 0.05  # how often members are looked for where none is there
TAGS = "vllm_xargs"
BUSY = (429, 502, 503, 504)  # of a server: another may have room, or live
OURS = (401, 402, 403, 404)  # the key, the bill, the URL and the model's name are not the client's
BAD_GATEWAY = 502

Send = Callable[[Any], Awaitable[None]]
T = TypeVar("T")
_numbers = itertools.count(1)


class _Failed(Exception):
    """A member gave no answer.

    Attributes:
        told: what it said instead: a status, headers and a body; None: nothing.
        useless: why nobody is to ask it any more; None: others may.
    """

    def __init__(
        self, why: str, told: tuple[int, Mapping[str, str], bytes] | None = None,
        useless: EngineError | None = None,
    ) -> None:  # fmt: skip
        self.told, self.useless = told, useless
        super().__init__(why)


class Chat:
    """See the module; a `Holder` of its one row, while it is among the roster's.

    Args:
        path: below /v1, with a slash before it.
        body: what is asked.
        headers: that a member's server is sent: what vLLM's own ids are made of, and the client's span.
    """

    def __init__(
        self, roster: Roster, ways: Ways, path: str, body: dict[str, Any], entering: Entering,
        headers: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._roster, self._ways, self._path, self._body = roster, ways, path, body
        self._asked, self._headers = _asked(body, entering), headers
        self._member: FleetMember | None = None  # that is asked, or to which the way is being found
        self._way_there: MemberWay | None = None  # once it is found
        self._work: asyncio.Timeout | None = None
        self._is_moved = self._has_begun = self._was_silent = False
        self._tried: set[str] = set()
        self._num_tries = self._num_failed = self._num_missed = 0

    @property
    def num_waiting(self) -> int:
        """See `Holder.num_waiting`."""
        return int(self._way_there is None)

    def num_output_tokens(self, ids: Sequence[str]) -> float:
        """Tokens that it has said so far, as far as that is seen."""
        return 0.0 if self._way_there is None else self._way_there.place.num_output_tokens(ids)

    def changed(self) -> None:
        """See `Holder.changed`: a member that says nothing is left for one that does, asked before or not."""
        is_stuck = self._member is not None and self._member.silent and not self._has_begun
        if is_stuck and any(not each.silent for each in self._reachable().values()):
            self._was_silent = True
            self._move()

    def lost(self, member: FleetMember) -> int:
        """See `Holder.lost`: an answer that has begun breaks off."""
        if self._way_there is None or self._member is not member:
            return 0
        self._move()
        return int(not self._has_begun)

    def _move(self) -> None:
        """Ask elsewhere."""
        if self._work is not None and not self._is_moved:
            self._is_moved = True
            self._work.reschedule(0.0)

    async def forward(self, send: Send, num_output_tokens: Callable[[], float]) -> None:
        """Have it answered, in ASGI's messages.

        Args:
            num_output_tokens: tokens of the answer, once it has been sent.

        Raises:
            EngineError: nobody answers now; or the answer that has begun broke off.
        """
        while True:
            member = await self._next()
            try:
                if await self._ask(member, send, num_output_tokens):
                    return
            except _Failed as failure:
                self._tried.add(member.name)
                self._num_failed += not self._was_silent  # it may only be busy
                is_last = self._num_failed >= MOST_DEATHS
                if failure.told is not None and (is_last or not self._others()):
                    await _send_told(send, *failure.told)
                    return
                if is_last:
                    why = f"{self._num_failed} members failed on it: {failure}"
                    raise EngineDeadError(why) from None

    def _reachable(self) -> dict[str, FleetMember]:
        """The open members to which there is a way, as far as is known."""
        members = self._roster.open_members
        return {name: each for name, each in members.items() if not self._ways.is_closed(each)}

    def _others(self) -> dict[str, FleetMember]:
        """Those of them that have not failed on it."""
        return {name: each for name, each in self._reachable().items() if name not in self._tried}

    async def _next(self) -> FleetMember:
        """The member that is to be asked; waits until there is one."""
        roster = self._roster
        since_s = roster.clock()
        while True:
            if members := self._others() or self._reachable():
                return members[roster.router.choose(self._asked, roster.clock(), list(members))]
            if all(map(self._ways.is_closed, roster.members.values())):
                raise EngineDeadError(f"there is no way to any member of {roster.model}")
            roster.see_that_somebody_comes(since_s)
            if roster.clock() - since_s > WAIT_S:
                raise EngineDeadError(f"no member of {roster.model} was there for {WAIT_S:g} s")
            await asyncio.sleep(LOOK_S)

    async def _way(self, member: FleetMember) -> MemberWay | None:
        """The way to a member; None: it is not there, or not any more. Raises as of `forward`."""
        life = member.life
        try:
            way = await self._ways.to(member)
        except EngineError as error:
            self._tried.add(member.name)
            self._num_missed += 1
            lives = await self._lives(member, life, error)
            if lives and self._num_missed > 2 * len(self._roster.members):
                raise
            return None
        return way if member.is_open and member.life == life else None

    async def _ask(self, member: FleetMember, send: Send, num_output_tokens: Callable[[], float]) -> bool:
        """One member's try: whether it was there to be asked.

        Raises:
            EngineError: as of `forward`.
            _Failed: another is to be asked.
        """
        roster, router, life, num_output = self._roster, self._roster.router, member.life, None
        self._num_tries, self._was_silent = self._num_tries + 1, False
        asked = self._asked._replace(request_id=f"{self._asked.request_id}.{self._num_tries}")
        number = router.put([asked], member.name, roster.clock())
        member.sent(1, f"{router.policy.name}, OpenAI")
        self._member = member
        try:
            way = await self._until_moved(self._way(member))
            if way is None:
                return False
            self._way_there = way
            await self._until_moved(self._exchange(member, way, number, send))
            num_output = num_output_tokens() or None
            member.num_answered += 1
        except (aiohttp.ClientError, OSError, _Failed) as error:  # a TimeoutError is an OSError
            why = str(error) or type(error).__name__
            await self._lives(member, life, EngineDeadError(f"it ended while it worked on a request: {why}"))
            if self._has_begun:
                raise EngineDeadError(f"member {member.name} ended while it answered: {why}") from error
            if not isinstance(error, _Failed):
                raise _Failed(why) from error
            if error.useless is not None:
                roster.died(member, life, error.useless)
            raise
        finally:
            self._member = self._way_there = None
            member.num_rows -= 1
            router.ended(asked.request_id, roster.clock(), num_output)
        return True

    async def _until_moved(self, work: Coroutine[Any, Any, T]) -> T:
        """Do some work until it is to be done elsewhere, which is a TimeoutError."""
        self._is_moved = False
        async with asyncio.timeout(None) as self._work:
            try:
                return await work
            finally:
                self._work = None

    async def _exchange(self, member: FleetMember, way: MemberWay, number: int, send: Send) -> None:
        """Ask, and hand the answer on as it comes: nothing before there is something of it."""
        body = json.dumps(_body_for(way.place, self._body, number)).encode()
        headers, life = {"content-type": "application/json", **self._headers}, member.life
        async with way.client.post(way.place.url + self._path, data=body, headers=headers) as response:
            chunks, status = response.content.iter_any(), response.status
            first = await anext(chunks, b"")
            is_failed = _is_failure(status, first)
            is_new = status == HTTPStatus.INTERNAL_SERVER_ERROR and not self._num_failed  # asked once more
            if status in (*BUSY, *OURS) or is_new or (is_failed and not await self._lives(member, life)):
                rest = b"".join([first, *[chunk async for chunk in chunks]])
                told = (BAD_GATEWAY if status in OURS else status, _kept(response), rest)
                refused = EngineStartError(f"it refused the API key: {_message(rest)}")
                useless = refused if status == HTTPStatus.UNAUTHORIZED else None
                raise _Failed(f"it says {status}: {_message(rest)}", told, useless)
            self._has_begun = True
            await _send_start(send, status, _kept(response))
            await send({"type": "http.response.body", "body": first, "more_body": True})
            async for chunk in chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    async def _lives(self, member: FleetMember, life: int, error: EngineError | None = None) -> bool:
        """Whether a member lives, as far as is seen; the roster is told why where it does not."""
        launched = member.launched
        if launched is None or member.life != life:
            return False
        for pause_s in (AGAIN_S, None):
            try:
                return await asyncio.wait_for(member.launcher.ping(launched.engine), PING_S)
            except TimeoutError:
                return True  # it may be busy; the fleet's watch sees to it
            except Exception:  # of any kind: nobody is there, or this one time
                if pause_s is not None:
                    await asyncio.sleep(pause_s)
        if error is not None:
            self._roster.died(member, life, error)
        return False


def _is_failure(status: int, body: bytes) -> bool:
    """Whether an engine failed, as vLLM tells it: by the status, or where a stream has begun, in an event."""
    return status == HTTPStatus.INTERNAL_SERVER_ERROR or body.startswith(b'data: {"error"')


def _message(body: bytes) -> str:
    """What an error says."""
    try:
        return str(json.loads(body.removeprefix(b"data:").split(b"\n\n")[0])["error"]["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return body[:200].decode(errors="replace")


def _asked(body: Mapping[str, Any], entering: Entering) -> Asked:
    """A request as the fleet's router is told of it."""
    ttft_slo_s, tpot_slo_s = asked_slos(body.get(TAGS) or {})
    return Asked(
        f"openai.{next(_numbers)}", max(entering.prompt_tokens, 1), entering.max_tokens,
        ttft_slo_s or inf, tpot_slo_s or inf, f"openai/{entering.user}",
    )  # fmt: skip


def _body_for(place: ApiPlace, body: Mapping[str, Any], number: int) -> dict[str, Any]:
    """What one member is asked: in its name for the model, with what it understands."""
    made = {**body, "model": place.model}
    if place.is_vllm:
        made[TAGS] = {**(body.get(TAGS) or {}), DISPATCH: number}
        return made
    made.pop(TAGS, None)
    if body.get("stream_options"):
        made["stream_options"] = {"include_usage": True}
    return made


def _kept(response: aiohttp.ClientResponse) -> dict[str, str]:
    """The headers of an answer that are the client's."""
    there = ("content-type", "retry-after")
    return {name: response.headers[name] for name in there if name in response.headers}


async def _send_start(send: Send, status: int, headers: Mapping[str, str]) -> None:
    sent = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": int(status), "headers": sent})


async def _send_told(send: Send, status: int, headers: Mapping[str, str], body: bytes) -> None:
    with suppress(OSError):
        await _send_start(send, status, headers)
        await send({"type": "http.response.body", "body": body})
