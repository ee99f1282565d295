"""The resident process: it listens, greets, hands each connection to its service, and ends when idle."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timezone
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.start import is_engine
from relserve.engines.loop import engine_loop, spawn
from relserve.engines.protocol import Engine, ServesOpenAI
from relserve.engines.registry import own_engine
from relserve.engines.shared.greeting import PROTOCOL, Resident, refusal
from relserve.engines.shared.place import EnginePlace, is_still, sign
from relserve.engines.shared.wire import is_own, read_json, write_json
from relserve.errors import EngineError, RelserveError
from relserve.machine import traces
from relserve.resident import fork
from relserve.resident.answers import SubmissionService
from relserve.resident.listeners import Listeners, Milestones
from relserve.resident.variables import forks
from relserve.settings import OWN, SHARED, load
from relserve.version import VERSION
from relserve.vllm_plugin.child_process import lose_what_does_not_fit

if TYPE_CHECKING:
    from relserve.engines.local.asgi_socket import EngineSocket
    from relserve.session.session import Session

CLOSE_S = 4.0  # how long the engine may take to end by itself
FLUSH_S = 1.5  # how long the last spans may take to be sent
CHECK_S = 0.2  # how often it looks whether it has been idle for long enough
HUNG_UP = (OSError, asyncio.IncompleteReadError, EngineError)
CALLS = "calls"  # the service of DuckDB's extension
OPEN_TO_ALL = ("status", "stop", "fleet")  # services for every release of relserve

Handler = Callable[[dict[str, Any], asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def serve(task: Mapping[str, Any], lock: int) -> None:
    """Serve until idle for long enough, told to stop, or terminated; then end the process.

    Args:
        lock: that this process holds as long as it lives.
    """
    log_path = Path(task["log_path"]) if task["log_path"] else None
    resident = Resident(
        task["model"], task["path"], task["engine_args"], task["idle_min"], VERSION, log_path,
        Path(task["cache_dir"]), task["admission"],
    )  # fmt: skip
    lose_what_does_not_fit()
    sign(lock)
    socket = Path(task["socket"])
    process = Process(resident, EnginePlace(socket.parent, socket.stem), lock, Milestones(task["asked"]))
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: process.stop())
    served = spawn(process.run())
    while not served.done():  # a signal's handler runs between two looks
        time.sleep(CHECK_S)
    if error := served.exception():
        traceback.print_exception(error)
    sys.stdout.flush()
    sys.stderr.flush()
    traces.flush(FLUSH_S)
    for child in filter(is_engine, multiprocessing.active_children()):  # one that is just starting
        child.kill()
    os._exit(1 if error else 0)  # vLLM's own clearing up would take seconds


class Process:
    """One resident engine; runs on the engine loop."""

    def __init__(self, resident: Resident, place: EnginePlace, lock: int, milestones: Milestones) -> None:
        self.resident, self._place, self._lock, self._milestones = resident, place, lock, milestones
        self._listeners = Listeners()
        self.engine = _engine_of(resident, self._listeners.say)
        self._answers = SubmissionService(self.engine, self._listeners, milestones)
        self._services: dict[str, Handler] = {
            "engine": self._answers.serve, "start": self._answers.start,
            "fingerprint": self._fingerprint, "status": self._status, "stop": self._stop,
            CALLS: self._calls, "openai": self._openai_socket, "fleet": self._fleet,
        }  # fmt: skip
        self._busy, self._idle_since, self._started = 0, time.monotonic(), datetime.now(timezone.utc)
        self._done = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._openai: EngineSocket | None = None

    async def run(self) -> None:
        """Listen until there is a reason to end."""
        server = await asyncio.start_unix_server(self._connected, self._place.socket)
        self._listeners.say(f"process {os.getpid()} listens at {self._place.socket}")
        self._milestones.reach("listening")
        fork.prepare(lambda: self._milestones.reach("forked"))
        fork.close_in_child([each.fileno() for each in server.sockets])
        starting = asyncio.ensure_future(self._answers.start_engine())
        await self._until_done()
        if is_still(self._place, self._lock):
            with contextlib.suppress(OSError):
                self._place.socket.unlink()  # before it stops to listen: who comes now waits for the lock
        server.close()
        starting.cancel()
        if self._openai is not None:
            await self._openai.close()
        await self._answers.stop()
        for task in list(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections, timeout=1)
        with contextlib.suppress(TimeoutError):  # one that is starting is not waited for
            await asyncio.wait_for(self.engine.close(), CLOSE_S)

    def stop(self) -> None:
        """End soon; may be called from a signal's handler."""
        engine_loop().call_soon_threadsafe(self._done.set)

    async def _until_done(self) -> None:
        while not self._done.is_set() and not self._is_idle():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._done.wait(), CHECK_S)

    def _is_idle(self) -> bool:
        """Whether it has been idle for long enough, or will never be of use."""
        if self._busy:
            return False
        idle_s = time.monotonic() - self._idle_since
        is_lost = not is_still(self._place, self._lock)  # nobody finds it any more
        return is_lost or self._answers.has_failed or (0 < self.resident.idle_min * 60 < idle_s)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """While inside, the process is not idle."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            self._idle_since = time.monotonic()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        connection = writer.get_extra_info("socket")
        forget = fork.close_in_child([connection.fileno()])
        try:
            if is_own(connection):
                await self._greet(reader, writer)
        except HUNG_UP:
            pass
        finally:
            forget()
            self._connections.discard(task)
            writer.close()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello = await read_json(reader)
        service = str(hello.get("service"))
        if (why := self._refusal(service, hello)) is not None:
            await write_json(writer, {"error": why})
            return
        await write_json(writer, {"ok": True, "relserve": VERSION, "model": self.resident.model})
        if service in ("engine", "start"):
            with self.working():
                await self._services[service](hello, reader, writer)
        else:
            await self._services[service](hello, reader, writer)

    def _refusal(self, service: str, hello: dict[str, Any]) -> str | None:
        if service not in self._services:
            return f"the shared engine for {self.resident.model} has no service {service!r}"
        if service in OPEN_TO_ALL:
            return None
        if service != CALLS:
            return refusal(self.resident.hello(service), hello, self.resident.named)
        mine = self.resident.hello(service)  # DuckDB's extension takes the engine as it is
        why = refusal(mine, {**hello, "engine_args": mine["engine_args"]}, self.resident.named)
        return why and f"{why}; DuckDB's extension is made anew by `relserve shell --install`"

    async def _calls(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        # DuckDB and all of SQL, which only this service needs: they take a second to import
        await self._answers.started.wait()
        service = await asyncio.to_thread(import_module, "relserve.resident.calls")
        await service.serve_calls(hello, reader, writer, self._session, self._answering)

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        with self.working():
            self._answers.num_running += 1
            try:
                yield
            finally:
                self._answers.num_running -= 1

    @cached_property
    def _session(self) -> Session:
        """What answers the calls of DuckDB's extension; other models have processes of their own."""
        from relserve.api import ENGINES, new_session

        def find(name: str | None) -> Engine:
            if name in (None, self.resident.model):
                return self.engine
            return ENGINES.find(name, replace(load(), engine=SHARED))

        session = new_session(load(), engine=self.engine)
        session.model_hosts.allow([self.resident.model, self.resident.named])
        return replace(session, find_engine=find)

    async def _openai_socket(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Have vLLM's OpenAI server listen, and say where."""
        arguments = (await read_json(reader)).get("arguments") or {}
        with self.working():
            await self._answers.started.wait()
        if not isinstance(self.engine, ServesOpenAI) or self._answers.has_failed:
            why = self._answers.start_error or f"{self.resident.model} serves no OpenAI API of its own"
            await write_json(writer, {"error": str(why)})
            return
        if self._openai is not None and self._openai.arguments != arguments and self._openai.is_refused:
            await self._openai.close()
            self._openai = None
        if self._openai is None:
            self._openai = _openai_of(self.engine, self._place.openai, arguments, self._answering)
        if self._openai.arguments != arguments:
            mend = f"`relserve engine stop --model {self.resident.named}` ends it for everybody"
            other = f"other arguments (openai in RELSERVE_ENGINE_ARGS): {self._openai.arguments}"
            why = f"the shared engine for {self.resident.model} serves OpenAI's API with {other}"
            await write_json(writer, {"error": f"{why}; {mend}"})
            return
        await self._openai.open()
        await write_json(writer, {"socket": str(self._openai.path)})

    async def _fingerprint(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await self._answers.started.wait()  # no work in threads before the engine's process is forked
        try:
            found = await self.engine.fingerprint()
        except RelserveError:
            found = None
        await write_json(writer, {"fingerprint": found})

    async def _status(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        idle_s = 0.0 if self._busy else time.monotonic() - self._idle_since
        await write_json(
            writer,
            {
                "protocol": PROTOCOL, "relserve": VERSION, "pid": os.getpid(),
                "engine_pid": getattr(self.engine, "pid", None), "model": self.resident.model,
                "path": self.resident.path, "engine_args": dict(self.resident.engine_args),
                "started": self._started.isoformat(timespec="seconds"), "queries": self._answers.num_running,
                "answered": self._answers.num_answered, "idle_s": round(idle_s, 1),
                "start_s": self._milestones.seconds, "idle_min": self.resident.idle_min,
                "log": str(self.resident.log_path or ""),
            },
        )  # fmt: skip

    async def _fleet(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Drain or resume a member where that is asked, and tell of all."""
        from relserve.engines.fleet.engine import FleetEngine  # and the policies of dispatch, and numpy

        asked, engine = await read_json(reader), self.engine
        if not isinstance(engine, FleetEngine):
            await write_json(writer, {"error": f"{self.resident.model} is one engine, and no fleet"})
            return
        try:
            if asked.get("do") == "drain":
                engine.drain(str(asked.get("member")))
            elif asked.get("do") == "resume":
                engine.resume(str(asked.get("member")))
        except EngineError as error:
            await write_json(writer, {"error": str(error)})
            return
        await write_json(writer, msgspec.to_builtins(engine.status()))

    async def _stop(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._done.set()


def _openai_of(
    engine: Any, path: Path, arguments: Mapping[str, Any], working: Callable[[], AbstractContextManager[None]]
) -> EngineSocket:
    """OpenAI's API of an engine, or of a fleet, by their sockets; uvicorn is of the extra `server`."""
    if isinstance(engine, LocalEngine):
        from relserve.engines.local.openai import OpenAISocket

        return OpenAISocket(engine, path, arguments, working)
    from relserve.engines.fleet.openai import FleetSocket

    return FleetSocket(engine, path, arguments, working)


def _engine_of(resident: Resident, announce: Callable[[str], None]) -> Engine:
    """The engine that a task names."""
    settings = replace(load(), engine_args=resident.engine_args, engine=OWN, admission=resident.admission)
    return own_engine(resident.model, resident.path, settings, announce, forks(resident.path))
