"""A fleet as its file and the settings want it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from relserve.call.slo import classes
from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.fleet.file import MemberSpec, read_fleet
from relserve.engines.fleet.gpus import gpus_here, share_out
from relserve.engines.fleet.launch import LocalLauncher, UrlLauncher
from relserve.engines.fleet.member import Launcher
from relserve.engines.fleet.name import PREFIX
from relserve.engines.fleet.ray_members import RayLauncher
from relserve.engines.fleet.state_channel import StateChannel
from relserve.engines.keys import server_key
from relserve.engines.local.engine import LocalEngine
from relserve.gate.made import make_gate
from relserve.policies.admission.request import SloClasses
from relserve.policies.model.linear import CostModel
from relserve.settings import Settings
from relserve.vllm_plugin.settings import read


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
