"""What policies see of vLLM's requests."""

from __future__ import annotations

from types import SimpleNamespace

from relserve.policies.scheduling.state import Work
from relserve.vllm_plugin.identity import Identity
from relserve.vllm_plugin.view import RelView


def test_rows_beyond_those_announced_have_the_relquery_estimated_anew() -> None:
    """A list of prompts over HTTP announces one row, and its rows may come over several steps."""
    view = RelView()
    announced, listed = Identity("announced", 3, 5), Identity("listed", 1, 5)
    for identity in (announced, listed):
        view.arrive(SimpleNamespace(num_prompt_tokens=10), identity, 0.0)
        state = view.states[identity.rel_id]
        state.fcfs, state.priority = Work(10.0, 5.0, 5.0), 1.0
        view.arrive(SimpleNamespace(num_prompt_tokens=10), identity, 0.1)
    assert view.states["announced"].fcfs is not None
    assert view.states["announced"].num_rows == 3
    assert (view.states["listed"].fcfs, view.states["listed"].priority) == (None, None)
    assert view.states["listed"].num_rows == 2
