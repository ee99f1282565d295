"""What clients of a resident process are told while its engine starts."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from relserve.engines.loop import spawn
from relserve.engines.registry import path_of
from relserve.engines.shared.greeting import Resident
from relserve.engines.shared.place import EnginePlace
from relserve.engines.shared.wire import read_json, write_json
from relserve.resident.listeners import Milestones
from relserve.resident.process import Process
from relserve.version import VERSION
from tests.waiting import PATIENCE_S


def test_who_asks_for_openais_api_waits_until_the_engine_has_started() -> None:
    async def talk(folder: Path) -> str:
        resident = Resident("scripted", path_of("scripted"), {}, 5.0, VERSION, None, folder)
        process = Process(resident, EnginePlace(folder, "engine"), -1, Milestones(time.time()))
        server = await asyncio.start_unix_server(process._connected, folder / "s")
        reader, writer = await asyncio.open_unix_connection(folder / "s")
        await write_json(writer, resident.hello("openai"))
        assert (await read_json(reader))["ok"]
        await write_json(writer, {"arguments": {}})
        answer = asyncio.ensure_future(read_json(reader))
        while not (process._busy or answer.done()):
            await asyncio.sleep(0.01)
        assert not answer.done()
        await process._answers.start_engine()
        told = await answer
        writer.close()
        server.close()
        return str(told["error"])

    with tempfile.TemporaryDirectory() as folder:
        told = spawn(talk(Path(folder))).result(timeout=PATIENCE_S)
    assert told == "scripted serves no OpenAI API of its own"
