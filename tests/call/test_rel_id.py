"""Ids of relQueries: no two alike, also from processes with equal pids."""

from __future__ import annotations

import subprocess
import sys

from relserve.call.relquery import new_rel_id

ASK = "import os; os.getpid = lambda: 1; from relserve.call.relquery import new_rel_id; print(new_rel_id())"


def test_no_two_are_alike() -> None:
    assert len({new_rel_id() for _ in range(1000)}) == 1000


def test_processes_in_containers_have_equal_pids_and_other_ids() -> None:
    ids = {
        subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(ids) == 2
    assert all(each.startswith("rel-1-") for each in ids)
