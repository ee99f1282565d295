"""A fleet as its file and the settings want it.

Members that run as children of the fleet's owner have a GPU each, as far as there are any: left alone, every
engine would take the first GPU, and nine tenths of its memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from relserve.call.slo import classes
from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.fleet.file import MemberSpec, read_fleet
from relserve.engines.fleet.launch import LocalLauncher, UrlLauncher
from relserve.engines.fleet.member import Launcher
from relserve.engines.fleet.name import PREFIX
from relserve.engines.fleet.ray_members import RayLauncher
from relserve.engines.fleet.state_channel import StateChannel
from relserve.engines.keys import server_key
from relserve.engines.local.cpu import is_cpu_build, workers_of
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.start import GPUS
from relserve.errors import UsageError
from relserve.gate.made import make_gate
from relserve.machine.hardware import gpus
from relserve.policies.admission.request import SloClasses
from relserve.policies.model.linear import CostModel
from relserve.settings import Settings
from relserve.vllm_plugin.settings import read

SHARE = "gpu_memory_utilization"  # vLLM's argument: an engine's share of its GPU's memory

Children = Mapping[str, Mapping[str, Any]]  # vLLM's arguments of each, by the member's name


def make_fleet(
    name: str, path: Path, settings: Settings, engine_args: Mapping[str, Any],
    announce: Callable[[str], None], log_path: Callable[[str], Path | None], folder_of: Callable[[str], str],
) -> FleetEngine:  # fmt: skip
    """The engine of a fleet, none of whose members is asked or started yet.

    Args:
        name: by which users ask for it.
        engine_args: of vLLM, for members that it starts, below those of the file.
        log_path: of an engine, by its name.
        folder_of: the folder or hub id of a model that runs here, by its name; raises ModelError.

    Raises:
        UsageError: the file says what cannot be, or wants more GPUs than there are.
        EngineStartError: it wants members in Ray actors, and Ray is not installed.
        ModelError: it is not there, or its model's name leads to no model.
    """
    file = read_fleet(path)
    are_servers = all(member.url for member in file.members)

    def first_cost() -> CostModel:
        return read(None, file.model if are_servers else folder_of(file.model)).first_cost

    gate = make_gate(
        settings.admission, settings.shares, SloClasses(classes()), name, first_cost, len(file.members)
    )
    servers = UrlLauncher(
        file.model,
        partial(server_key, settings=settings, is_named=True),
        settings.timeout_s,
        settings.max_in_flight,
        settings.max_retries,
    )
    if are_servers:
        return FleetEngine(name, file, lambda _: servers, announce=announce, gate=gate)
    folder = folder_of(file.model)
    stem = f"{PREFIX}{path.stem}-"
    wants_ray = {spec.name for spec in file.members if not spec.url and _wants_ray(spec, file.address)}
    its_args = {spec.name: {**engine_args, **spec.engine_args} for spec in file.members}
    own = {name: args for name, args in its_args.items() if name not in wants_ray}
    gpus = share_out(own, gpus_here(), str(path))

    def log_of(member: str) -> Path | None:
        return log_path(stem + member)

    channel = StateChannel(lambda member, report: fleet.report(member, report))
    children: Launcher = LocalLauncher(file.model, folder, engine_args, log_of, channel, gpus)
    actors = children
    if wants_ray:
        actors = RayLauncher(file.model, folder, engine_args, log_of, file.address, channel)

    def launcher_of(spec: MemberSpec) -> Launcher:
        return servers if spec.url else actors if spec.name in wants_ray else children

    first, *others = its_args.values()
    are_alike = all(each == first for each in others)  # else nothing is said before one is up
    files = LocalEngine(file.model, folder, engine_args=first) if are_alike else None
    fleet = FleetEngine(name, file, launcher_of, announce=announce, files=files, gate=gate)
    return fleet


def _wants_ray(spec: MemberSpec, address: str) -> bool:
    return bool(address or spec.machine or spec.gpus)


def gpus_here() -> list[str]:
    """The GPUs that this process may use, as CUDA's variable names them; none for a vLLM of CPUs."""
    found = [] if is_cpu_build() else gpus()
    told = os.environ.get(GPUS)
    if not found or told is None:
        return [str(number) for number in range(len(found))]
    return [each.strip() for each in told.split(",") if each.strip()]


def share_out(children: Children, there: Sequence[str], where: str) -> dict[str, str]:
    """What CUDA's variable is to say in each child, by name; nothing for a single one, or without GPUs.

    Args:
        there: the GPUs, as of `gpus_here`.
        where: the fleet's file, for messages.

    Raises:
        UsageError: there are not enough, and some child does not say which share of a GPU it takes.
    """
    if len(children) < 2 or not there:
        return {}
    wanted = {name: workers_of(args).number for name, args in children.items()}
    greedy = [name for name, args in children.items() if SHARE not in args]
    if sum(wanted.values()) > len(there) and (greedy or max(wanted.values()) > len(there)):
        raise UsageError(
            f"{where}: {len(children)} members on this machine take {sum(wanted.values())} GPUs, and there "
            f"are {len(there)}: have fewer replicas, or give all of them engine_args with a {SHARE}, such as "
            "0.4, so that several share a GPU; members on other machines take Ray (docs/fleet.md)"
        )
    found, place = dict[str, str](), 0
    for name, num in wanted.items():
        found[name] = ",".join(there[each % len(there)] for each in range(place, place + num))
        place += num
    return found
