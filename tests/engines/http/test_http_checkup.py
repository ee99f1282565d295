"""`relserve models check` on a real `vllm serve`."""

from __future__ import annotations

import pytest

from relserve import api
from relserve.checkup import run

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]


def test_a_vllm_server_has_a_page(serve_url: str) -> None:
    try:
        page = run.check(serve_url, lambda _: None)
    finally:
        api.close_engines(serve_url)
    assert page.served is not None
    assert (page.served.name, page.served.is_vllm, page.served.refused) == ("tiny", True, [])
    assert all(probe.ok for probe in (*page.grammars, page.logprobs))
    failed = [sample.function for sample in page.samples if sample.problem]
    assert failed == ["llm_probs"]  # of a server choices are read by letters, which this model does not give
    told = ["--scheduler-cls", "no answer from llm_probs", "wrong answers"]
    assert [words in line for words, line in zip(told, page.advice, strict=True)] == [True] * 3
