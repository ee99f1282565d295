"""The engine process's manners act in relserve's own engine only, and a bad log does not end it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from relserve.vllm_plugin import register
from relserve.vllm_plugin.child_process import LOG_VARIABLE, PARENT_VARIABLE
from tests.waiting import PATIENCE_S, Limit, is_gone, wait_until

CHILD = """
import multiprocessing, os, sys, time
multiprocessing.current_process().name = sys.argv[1]
from relserve.vllm_plugin import register
group = os.getpgrp()
register(); register()
print("leads", os.getpgrp() == os.getpid() and group != os.getpid(), flush=True)
print("complains", file=sys.stderr, flush=True)
os.write(2, b"from C\\n") if sys.argv[2] != "/dev/full" else None
time.sleep(float(sys.argv[3]))
"""


def run(name="EngineCore", log="", sleep=0.0, parent=None):
    env = {**os.environ, PARENT_VARIABLE: str(parent or os.getpid())}
    if log:
        env[LOG_VARIABLE] = str(log)
    command = [sys.executable, "-c", CHILD, name, str(log), str(sleep)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True)


def test_output_goes_to_the_log(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text("before\n")
    child = run(log=log)
    assert child.communicate(timeout=PATIENCE_S) == ("", "")
    assert child.returncode == 0
    assert log.read_text() == "before\nleads True\ncomplains\nfrom C\n"


def test_a_log_that_cannot_be_opened_is_one_line(tmp_path):
    child = run(log=tmp_path / "no such folder" / "engine.log")
    out, err = child.communicate(timeout=PATIENCE_S)
    assert out == "leads True\n"
    assert err.splitlines()[0].startswith("relserve: cannot log to ")
    assert "No such file or directory" in err.splitlines()[0]
    assert child.returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_does_not_end_the_engine():
    child = run(log="/dev/full", sleep=0.2)
    child.communicate(timeout=PATIENCE_S)
    assert child.returncode in (0, 120)  # 120: Python's word for output lost at exit


def test_other_processes_are_left_alone(tmp_path):
    child = run(name="VllmWorker-0", log=tmp_path / "log")
    assert child.communicate(timeout=PATIENCE_S)[0] == "leads False\n"
    assert not (tmp_path / "log").exists()
    register()  # and this process, which has no such variable


def test_it_ends_when_its_parent_is_gone():
    child = run(parent=1)
    child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 1


@pytest.mark.performance
def test_it_notices_a_parent_that_was_killed(limit_s: Limit):
    script = (
        "import os, subprocess, sys, time\n"
        f"os.environ[{PARENT_VARIABLE!r}] = str(os.getpid())\n"
        f"p = subprocess.Popen([sys.executable, '-c', {CHILD!r}, 'EngineCore', '', '60'])\n"
        "print(p.pid, flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    assert parent.stdout.readline() == "leads True\n"
    parent.kill()
    wait_until(lambda: is_gone(pid), limit_s(3, busy=30))  # it would live for a minute
    parent.wait()
