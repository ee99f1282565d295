"""Processes that are forked off a prepared one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.waiting import is_gone, wait_until

ROOT = Path(__file__).parents[1]
OWNER = """
import time
from tests import prepared

prepared._server.set_forkserver_preload([])
process = prepared.PreparedProcess(target=time.sleep, args=(1000,))
process.start()
print(prepared._server._forkserver_pid, process.pid, flush=True)
time.sleep(1000)
"""


def test_the_server_ends_with_its_owner_though_a_process_of_it_runs_on() -> None:
    """Engines end when the server has: they take it for their parent."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    server, process = map(int, owner.stdout.readline().split())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    try:
        wait_until(lambda: is_gone(server))
    finally:
        os.kill(process, signal.SIGKILL)
