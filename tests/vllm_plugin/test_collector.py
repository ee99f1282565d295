"""The collector rests inside, and nowhere else."""

from __future__ import annotations

import gc
import os

import pytest

from relserve.vllm_plugin.collector import resting


def test_it_rests_inside_only() -> None:
    with resting():
        assert not gc.isenabled()
        with resting():
            pass
        assert not gc.isenabled()  # the outer one goes on
    assert gc.isenabled()
    with pytest.raises(ValueError, match="no vLLM"), resting():
        raise ValueError("no vLLM")
    assert gc.isenabled()


def test_one_that_the_user_turned_off_stays_off() -> None:
    gc.disable()
    try:
        with resting():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("is_off", [False, True])
def test_a_process_that_is_forked_off_meanwhile_collects_as_its_parent_did(is_off: bool) -> None:
    if is_off:
        gc.disable()
    try:
        with resting():
            pid = os.fork()
            if not pid:
                os._exit(gc.isenabled())
    finally:
        gc.enable()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == (not is_off)
