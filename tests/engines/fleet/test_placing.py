"""What is said of members that no machine of a Ray cluster can have, and whose Ray it is."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from relserve.engines.fleet import ray_members
from relserve.engines.fleet.file import MemberSpec
from relserve.engines.fleet.placing import why_unplaceable

HEAD = {"node:10.0.0.1": 1.0, "node:__internal_head__": 1.0, "CPU": 8.0}
WITH_GPUS = {"node:10.0.0.2": 1.0, "GPU": 4.0}


def test_a_member_that_some_machine_can_have() -> None:
    for spec in (
        MemberSpec("m"), MemberSpec("m", gpus=4), MemberSpec("m", machine="10.0.0.1"),
        MemberSpec("m", gpus=0.5, machine="10.0.0.2"),
    ):  # fmt: skip
        assert why_unplaceable(spec, [HEAD, WITH_GPUS]) == ""


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (MemberSpec("m", gpus=5), "it is to have 5 GPUs, and no machine of the Ray cluster has more than 4"),
        (MemberSpec("m", gpus=1, machine="10.0.0.1"), "1 GPUs, and the machine 10.0.0.1 has 0; mend `gpus`"),
        (MemberSpec("m", machine="node-7"), "no machine 'node-7'; there are: 10.0.0.1, 10.0.0.2; mend `mach"),
    ],
)
def test_one_that_none_can_have(spec: MemberSpec, said: str) -> None:
    assert said in why_unplaceable(spec, [HEAD, WITH_GPUS])


def test_the_users_own_ray_is_used_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(
        is_initialized=lambda: True, util=SimpleNamespace(get_node_ip_address=lambda: "10.0.0.1")
    )
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    connection = ray_members._Connection()
    connection._connect("")
    assert connection.node == "10.0.0.1"
    assert "RAY_AUTH_TOKEN" not in os.environ
    connection.end()  # it is not ours to end
