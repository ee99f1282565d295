"""The limit on a process's memory, in processes of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process's memory so")

_TRY = """
import resource, subprocess, sys
from relserve.machine import memory_limit
memory_limit.free_bytes = lambda: 2 << 30
memory_limit.limit_memory()
try:
    bytearray(3 << 30)
except MemoryError:
    print("refused", flush=True)
print(len(bytearray(1 << 28)), flush=True)
child = "import resource; from relserve.machine.memory_limit import lift_memory_limit as lift; lift(); lift()"
show = "; print(resource.getrlimit(resource.RLIMIT_DATA)[0])"
subprocess.run([sys.executable, "-c", child + show], check=True)
"""


def run(program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


def test_more_is_refused_and_a_child_may_be_freed_of_it():
    assert run(_TRY) == ["refused", str(1 << 28), "-1"]


@pytest.mark.long
def test_a_smaller_limit_of_the_user_stays():
    mine = 1 << 30
    set_mine = f"import resource; resource.setrlimit(resource.RLIMIT_DATA, ({mine}, -1))"
    assert run(set_mine + _TRY) == ["refused", str(1 << 28), str(mine)]


_FOR_A_WHILE = """
import os, resource
from relserve.machine import memory_limit
def limit(): return resource.getrlimit(resource.RLIMIT_DATA)[0]
memory_limit.free_bytes = lambda: 2 << 30
with memory_limit.limited_memory():
    with memory_limit.limited_memory():
        within = limit()
    print(limit() == within, memory_limit.VARIABLE in os.environ)
    try:
        bytearray(3 << 30)
    except MemoryError:
        print("refused")
print(limit(), memory_limit.VARIABLE in os.environ)
memory_limit.limit_memory()
of_server = limit()
with memory_limit.limited_memory():
    print(limit() == of_server)
print(limit() == of_server, os.environ[memory_limit.VARIABLE])
"""


def test_a_limit_for_a_while_leaves_the_one_before_it():
    assert run(_FOR_A_WHILE) == ["True", "True", "refused", "-1", "False", "True", "True", "-1"]
