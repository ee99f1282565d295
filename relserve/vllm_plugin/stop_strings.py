"""Rows that a stop string ended are answered rows: the scheduler is told so.

vLLM's client finds stop strings, for its engine has tokens and no text, and then aborts the request, as it
does one that nobody waits for any more. Here the client sends, with the id of a request that it ended so, the
same id marked; our scheduler counts what is marked as answered. Other schedulers ignore ids that they do not
know, and vLLM's client of several engines (data parallel) sends none of them on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from relserve.vllm_plugin.host import EngineClient

MARK = "relserve-answered:"


def tell(client: EngineClient) -> None:
    """Let a client of vLLM's mark the requests that a stop string ended."""
    of_vllm: Any = client
    processor = of_vllm.output_processor
    process = processor.process_outputs

    def marking(*args: Any, **kwargs: Any) -> Any:
        processed = process(*args, **kwargs)
        if processed.reqs_to_abort:
            processed.reqs_to_abort.extend([MARK + ended for ended in processed.reqs_to_abort])
        return processed

    processor.process_outputs = marking


def told_apart(request_ids: Iterable[str]) -> tuple[list[str], set[str]]:
    """All requests that end, without marks, and those of them that were answered."""
    given = list(request_ids)
    answered = {each.removeprefix(MARK) for each in given if each.startswith(MARK)}
    return [each for each in given if not each.startswith(MARK)], answered
