"""OpenAI's API over a fleet, at a Unix socket: the fleet's router chooses the member of each request."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from relserve.engines.fleet.chat import Chat
from relserve.engines.fleet.roster import Roster
from relserve.engines.fleet.ways import Ways
from relserve.engines.local.asgi_socket import EngineSocket
from relserve.engines.local.entering import ENTERS, REQUEST_ID, Entering, OpenAICaller, send_whole
from relserve.errors import EngineDeadError, EngineError, OptionError
from relserve.gate.gate import Gate
from relserve.machine.traces import trace_of

PREFIX = "/v1"


class OpenAIFleet(Protocol):
    """What it is to a fleet."""

    model: str
    roster: Roster
    gate: Gate
    say: Callable[[str], None]

    async def start(self) -> None:
        """Bring the members up, and wait until one is; raises EngineError."""

    async def begin(self) -> None:
        """Have the members brought up; raises EngineError."""

    def look(self) -> None:
        """See from now on whether the members live."""


class FleetSocket(EngineSocket):
    """Serves chats and completions of whichever members are up; they are brought up by the first request.

    A request whose client hangs up ends in its member. The arguments are those of `EngineSocket`, for members
    that the fleet starts.
    """

    gone = "the member ended while it worked on the request"
    is_refused = False  # each member's server reads the arguments for itself

    def __init__(
        self,
        fleet: OpenAIFleet,
        path: Path,
        arguments: Mapping[str, Any],
        working: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        super().__init__(path, arguments, working)
        self._fleet, self._ways = fleet, Ways(arguments, fleet.model, fleet.say)

    async def close(self) -> None:
        """Give up what is under way."""
        await super().close()
        await self._ways.close()

    async def _tell_model(self, send: Any) -> None:
        """The one model, with what the first member that answers says of it."""
        await self._fleet.start()
        why = "no member is up"
        for member in self._fleet.roster.open_members.values():
            try:
                way = await self._ways.to(member)
            except EngineError as error:
                why = f"member {member.name}: {error}"
                continue
            if way is not None:
                card = {"id": self._fleet.model, "object": "model", "max_model_len": way.context}
                await send_whole(send, 200, json.dumps({"object": "list", "data": [card]}).encode())
                return
        if all(map(self._ways.is_closed, self._fleet.roster.members.values())):
            why = "all members run on other machines, where their OpenAI servers cannot be reached"
        raise EngineDeadError(f"OpenAI clients are answered by no member of {self._fleet.model}: {why}")

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "GET":
            await self._tell_model(send)
            return
        caller = await OpenAICaller.read(receive)
        fleet, entering = self._fleet, Entering.read(scope)
        if entering is None:
            raise OptionError(f"the header {ENTERS} is missing: this socket is for `relserve serve`")
        told = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        path, body = scope["path"].removeprefix(PREFIX), json.loads(caller.body)
        headers = {REQUEST_ID: told.get(REQUEST_ID) or uuid.uuid4().hex, **trace_of(told)}
        chat = Chat(fleet.roster, self._ways, path, body, entering, headers)
        await fleet.begin()
        async with entering.entered(fleet.gate, chat.num_output_tokens, caller) as permit:
            counted = entering.counting(send, permit, caller)
            fleet.roster.holders.add(chat)
            fleet.look()
            try:
                await caller.unless_left(chat.forward(counted, lambda: permit.num_output_tokens))
            finally:
                fleet.roster.holders.discard(chat)
