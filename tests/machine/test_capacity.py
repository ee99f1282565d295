"""Cores and free memory as this process may use them: of the machine, its containers and its NUMA nodes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from relserve.machine import capacity

GIB = 2**30
NO_LIMIT_V1 = str(2**63 - 4096)


@pytest.fixture
def write(monkeypatch, tmp_path):
    """Writes files of a made-up machine: /sys/fs/cgroup, /proc/self/cgroup, the CPUs and the nodes."""
    monkeypatch.setattr(capacity, "_ROOT", tmp_path / "cgroup")
    monkeypatch.setattr(capacity, "_OWN", tmp_path / "own")
    monkeypatch.setattr(capacity, "_CPUS", tmp_path / "cpu")
    monkeypatch.setattr(capacity, "_NODES", tmp_path / "node")
    monkeypatch.setattr(capacity, "_allowed_cpus", lambda: {0, 1, 2, 3})

    def write(files: dict[str, object]) -> None:
        for name, text in files.items():
            path = Path(tmp_path / name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    return write


def test_the_machine_tells_its_cores_and_free_memory():
    assert 1 <= capacity.num_cores() <= os.cpu_count()
    free = capacity.free_bytes()
    assert free is None or 0 < free < 2**50


def test_without_limits_all_is_ours(write):
    write({"cgroup/cpu.max": "max 100000", "cgroup/memory.max": "max", "cgroup/memory.current": GIB})
    assert capacity.num_cores() == 4
    assert capacity.memory_left() is None


def test_a_container_limits_both(write):
    write({
        "cgroup/cpu.max": "150000 100000", "cgroup/memory.max": GIB, "cgroup/memory.current": GIB // 2,
        "cgroup/memory.stat": "anon 5\ninactive_file 1024",
    })  # fmt: skip
    assert capacity.num_cores() == 1
    assert capacity.memory_left() == GIB // 2 + 1024
    assert capacity.free_bytes() <= GIB // 2 + 1024


def test_groups_around_the_process_limit_it_too(write):
    write({
        "own": "0::/jobs.slice/mine.service", "cgroup/jobs.slice/mine.service/memory.max": 5 * GIB,
        "cgroup/jobs.slice/mine.service/memory.current": GIB, "cgroup/jobs.slice/memory.max": 4 * GIB,
        "cgroup/jobs.slice/memory.current": 2 * GIB, "cgroup/jobs.slice/cpu.max": "300000 100000",
        "cgroup/jobs.slice/mine.service/cpu.max": "200000 100000", "cgroup/other/cpu.max": "1000 100000",
    })  # fmt: skip
    assert capacity.num_cores() == 2
    assert capacity.memory_left() == 2 * GIB


@pytest.mark.parametrize("path", ["", "docker/abc/"], ids=["root", "own"])
def test_version_1_limits_both(write, path):
    write({
        "own": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n0::/",
        f"cgroup/memory/{path}memory.limit_in_bytes": GIB,
        f"cgroup/memory/{path}memory.usage_in_bytes": GIB // 2,
        f"cgroup/memory/{path}memory.stat": "inactive_file 1\ntotal_inactive_file 1024",
        f"cgroup/cpu/{path}cpu.cfs_quota_us": 250_000, f"cgroup/cpu/{path}cpu.cfs_period_us": 100_000,
    })  # fmt: skip
    assert capacity.num_cores() == 2
    assert capacity.memory_left() == GIB // 2 + 1024


def test_version_1_without_limits(write):
    write({
        "own": "5:memory:/\n4:cpu,cpuacct:/", "cgroup/memory/memory.limit_in_bytes": NO_LIMIT_V1,
        "cgroup/memory/memory.usage_in_bytes": GIB, "cgroup/cpu/cpu.cfs_quota_us": -1,
        "cgroup/cpu/cpu.cfs_period_us": 100_000,
    })  # fmt: skip
    assert capacity.num_cores() == 4
    free = capacity.free_bytes()
    assert free is None or 0 < free < 2**50


def test_threads_of_one_core_count_once(write):
    write({
        f"cpu/cpu{cpu}/topology/thread_siblings_list": siblings
        for cpu, siblings in enumerate(("0,2", "1,3", "0,2", "1,3"))
    })  # fmt: skip
    assert capacity.num_cores() == 2


def node(number: int, cpus: str, free_kib: int) -> dict[str, object]:
    """Files of a node; as many KiB as are free hold files or can be reclaimed."""
    counted = {"MemTotal": 10**9, "MemFree": free_kib, "Active(file)": free_kib // 2,
               "Inactive(file)": free_kib // 4, "SReclaimable": free_kib // 4}  # fmt: skip
    lines = "\n".join(f"Node {number} {name}: {kib} kB" for name, kib in counted.items())
    return {f"node/node{number}/cpulist": cpus, f"node/node{number}/meminfo": lines}


def test_the_numa_node_with_the_least_memory_counts(write):
    write(node(0, "0-1,8", 4096) | node(1, "2-3", 1024) | node(2, "4-7", 4) | node(3, "", 4))
    assert capacity.free_bytes_of_node() == 2 * 1024 * 1024


def test_one_numa_node_is_the_machine(write):
    assert capacity.free_bytes_of_node() is None
    write(node(0, "0-3", 4096))
    assert capacity.free_bytes_of_node() is None
