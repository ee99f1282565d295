"""Which GPUs children of the owner get; how many there are is made up here."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from relserve.engines.fleet import make
from relserve.engines.fleet.make import gpus_here, share_out
from relserve.engines.registry import own_engine, path_of
from relserve.errors import UsageError
from relserve.settings import load

FILE = "model = 'tiny'\n[[members]]\nname = 'm'\nreplicas = {replicas}\nengine_args = {{ {args} }}\n"


def test_each_has_its_own_in_turn() -> None:
    assert share_out({"a": {}, "b": {}}, ["0", "1", "2"], "f") == {"a": "0", "b": "1"}
    pair = {"tensor_parallel_size": 2}
    assert share_out({"a": pair, "b": {}}, ["4", "5", "GPU-1"], "f") == {"a": "4,5", "b": "GPU-1"}


def test_without_gpus_or_with_one_child_nothing_is_said() -> None:
    assert share_out({"a": {}, "b": {}}, [], "f") == {}
    assert share_out({"a": {}}, ["0"], "f") == {}


def test_several_share_one_where_they_say_how_much_they_take() -> None:
    half = {"gpu_memory_utilization": 0.4}
    assert share_out(dict.fromkeys("abc", half), ["0", "1"], "f") == {"a": "0", "b": "1", "c": "0"}


@pytest.mark.parametrize(
    "args", [[{}, {}], [{"gpu_memory_utilization": 0.4}, {}], [{"tensor_parallel_size": 2}, {}]]
)
def test_too_few_are_told_in_words(args: list[dict[str, float]]) -> None:
    with pytest.raises(UsageError, match=r"f.toml: 2 members on this machine take . GPUs, and there are 1"):
        share_out(dict(zip("ab", args, strict=True)), ["0"], "f.toml")


def test_those_are_counted_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "is_cpu_build", lambda: False)
    monkeypatch.setattr(make, "gpus", lambda: ["H200"] * 3)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpus_here() == ["0", "1", "2"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2, 0")
    assert gpus_here() == ["2", "0"]
    monkeypatch.setattr(make, "is_cpu_build", lambda: True)
    assert gpus_here() == []


def test_a_fleet_gives_them_to_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "gpus_here", lambda: ["0", "1"])
    path = tmp_path / "fleet.toml"
    path.write_text(FILE.format(replicas=2, args=""))
    name = f"fleet:{path}"
    fleet = own_engine(name, path_of(name), load(), lambda _: None)
    launchers = [member.launcher for member in fleet.roster.members.values()]  # type: ignore[attr-defined]
    assert [launcher.gpus for launcher in launchers] == [{"m-1": "0", "m-2": "1"}] * 2
    path.write_text(FILE.format(replicas=3, args=""))
    with pytest.raises(UsageError, match="3 members on this machine take 3 GPUs, and there are 2"):
        own_engine(name, path_of(name), load(), lambda _: None)


def test_those_that_share_one_start_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "gpus_here", lambda: ["0", "1"])
    path = tmp_path / "fleet.toml"
    path.write_text(FILE.format(replicas=3, args="gpu_memory_utilization = 0.4"))
    name, most, running = f"fleet:{path}", dict[str, int](), list[str]()
    fleet = own_engine(name, path_of(name), load(), lambda _: None)
    members = fleet.roster.members  # type: ignore[attr-defined]
    launcher = members["m-1"].launcher

    async def start(spec: object, state: str) -> None:
        gpu = launcher.gpus[spec.name]  # type: ignore[attr-defined]
        running.append(gpu)
        most[gpu] = max(most.get(gpu, 0), running.count(gpu))
        most["all"] = max(most.get("all", 0), len(running))
        await asyncio.sleep(0.01)
        running.remove(gpu)

    async def start_all() -> None:
        await asyncio.gather(*[launcher.start(each.spec) for each in members.values()])
        for each in members:
            launcher.channel.forget(each)

    monkeypatch.setattr(type(launcher), "_start", lambda self, spec, state: start(spec, state))
    asyncio.run(start_all())
    assert most == {"0": 1, "1": 1, "all": 2}
