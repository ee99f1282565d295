"""An engine that says how sure it is by a number in the prompt, and rows of which it is too sure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from relserve.call.relquery import Reply, Submission, Usage
from relserve.engines.scripted import ScriptedEngine


class TooSureEngine(ScriptedEngine):
    """Gives the prompt's last number to the first choice, and the rest to the others alike."""

    def _weighed(self, index: int, prompt: str, submission: Submission) -> Reply:
        assert submission.sampling.grammar is not None
        num, first = len(submission.sampling.grammar.choices), float(re.findall(r"\d+(?:\.\d+)?", prompt)[-1])
        others = [(1 - first) / (num - 1)] * (num - 1)
        return Reply(index, "?", usage=Usage(1, 0, 1), probabilities=(first, *others))


def labelled_rows(right: str = "true", others: Sequence[str] = ("false",)) -> list[dict[str, Any]]:
    """380 rows: of those said to be right with p, 0.5 + (p - 0.5) / 2 are.

    Args:
        right: the label of what is right, the engine's first choice.
        others: of what is not, in turn.
    """
    rows: list[dict[str, Any]] = []
    for step in range(1, 20):
        p = step / 20
        num_right = round(20 * (0.5 + (p - 0.5) / 2))
        for i in range(20):
            label = right if i < num_right else others[i % len(others)]
            rows.append({"text": f"row {len(rows)} {p}", "label": label})
    return rows
