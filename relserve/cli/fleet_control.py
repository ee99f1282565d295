"""What `relserve fleet up`, `status`, `drain`, `resume` and `down` do."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec

from relserve.cli import engine_control
from relserve.cli.console import console
from relserve.cli.fleet_table import fleet_head, members_table
from relserve.engines.fleet.name import PREFIX
from relserve.engines.loop import spawn
from relserve.engines.registry import shared_engine
from relserve.engines.shared.place import is_held
from relserve.engines.shared.start import connect
from relserve.engines.shared.wire import read_json, write_json
from relserve.errors import EngineError
from relserve.machine.engine_status import status_json
from relserve.machine.fleet_status import FleetStatus
from relserve.settings import load
from relserve.version import VERSION

LOOK_S = 0.2  # between two looks at members that come up


def up(file: Path) -> None:
    """Start a fleet; raises EngineError where no member comes up."""
    engine, began = shared_engine(f"{PREFIX}{file}", load()), time.monotonic()
    spawn(engine.start()).result()
    status = _status(file)
    while any(each.state == "starting" for each in status.members):
        time.sleep(LOOK_S)
        status = _status(file)
    num_up = sum(each.state == "up" for each in status.members)
    took = time.monotonic() - began
    print(f"{num_up} of {len(status.members)} members of {engine.model} are up ({took:.1f} s)")
    for member in status.members:
        if member.state != "up":
            print(f"  {member.name}: {member.shown}: {member.why}")


def show(file: Path, as_json: bool) -> None:
    """Show a fleet's members; raises EngineError where it is not up."""
    status = _status(file)
    if as_json:
        print(status_json(status))
        return
    console().print(fleet_head(status))
    console().print(members_table(status.members))


def tell(file: Path, what: str, members: list[str]) -> None:
    """Drain or resume members; raises EngineError where the fleet is not up, or has no such member."""
    status = _status(file)
    names = [each.name for each in status.members]
    if unknown := [name for name in members if name not in names]:
        raise EngineError(f"{file} has no member {', '.join(unknown)}; there are: {', '.join(names)}")
    for name in members:
        status = _status(file, {"do": what, "member": name})
    for each in status.members:
        if each.name in members:
            print(f"{each.name}: {each.shown}, {each.rows:,} rows")


def down(file: Path) -> None:
    """Stop a fleet; raises EngineError where it does not end."""
    name = f"{PREFIX}{file}"
    if not is_held(engine_control.find_place(name)):
        print(f"the fleet of {file} is not up")
        return
    engine_control.stop(name, every=False)


def _status(file: Path, does: dict[str, Any] | None = None) -> FleetStatus:
    """What a fleet tells of itself, after it did something; its file may have changed, or be gone, since."""
    place = engine_control.find_place(f"{PREFIX}{file}")

    async def ask() -> dict[str, Any] | None:
        line = await connect(place, {"service": "fleet"}) if is_held(place) else None
        if line is None:
            return None
        try:
            await write_json(line.writer, does or {})
            return await read_json(line.reader)
        except (OSError, asyncio.IncompleteReadError):
            return None
        finally:
            line.close()

    found = asyncio.run(ask())
    if found is None:
        raise EngineError(f"the fleet of {file} is not up; `relserve fleet up {file}` starts it")
    if error := found.get("error"):
        raise EngineError(str(error))
    try:
        return msgspec.convert(found, FleetStatus)
    except msgspec.ValidationError:
        raise EngineError(
            f"the fleet of {file} runs under another release of relserve, and tells of itself in other words "
            f"than this one ({VERSION}) reads; `relserve fleet down {file}`, then `relserve fleet up {file}`"
        ) from None
