"""Decisions in SQL beside vLLM's own endpoint, the limit of the engine, decoding, and 20,000 rows of others.

2,000 beer reviews, a yes or no and one of five choices. `systemone`: a made-up Qwen3 beside vLLM's own
`/v1/systemone`, with its probabilities. `limit`: the embedded model (and smollm2, where it is converted, or
--model) beside a bare loop that asks vLLM for one token a prompt, and beside decoding with min_confidence.
`order`: a question as long as the state, before and after it. `questions`: four questions about one state,
and one. `exact`: the probabilities of all spellings beside brute force. `beside`: 5 rows beside 20,000.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.claims import Higher, Lower, Untold
from benchmarks.common import arguments, finish
from benchmarks.decisions import beside, exact, limit, order, systemone
from benchmarks.decisions.rows import PartFindings
from relserve.machine import packaged

ROOMS = (
    "relserve/engines/local", "relserve/vllm_plugin", "relserve/call", "relserve/session",
    "duckdb_ext/relserve_duckdb", "relserve/policies/scheduling",
)  # fmt: skip
HEADLINE = {
    "over_systemone": Higher(0.3), "over_systemone_by": Untold("of over_systemone"),
    "probability_error": Lower(by=1e-4), "of_bare_loop": Higher(0.15),
    "of_bare_loop_by": Untold("of of_bare_loop"), "over_decoding": Higher(0.3),
    "over_decoding_by": Untold("of over_decoding"), "question_first_gain": Higher(0.2),
    "four_over_one": Lower(0.2), "exact_error": Lower(by=1e-4), "label_error": Lower(by=0.01),
    "times_sooner": Higher(0.6), "small_s": Untold("of times_sooner"), "big_slower_by": Lower(by=0.3),
}  # fmt: skip


def main() -> None:
    """Print the tables and the headline."""
    parser = arguments(__doc__ or "")
    own = packaged.folder() if packaged.is_converted() else None
    parser.add_argument("--model", type=Path, default=own, help="folder of the instruct model (smollm2's)")
    parts: Mapping[str, Callable[..., PartFindings]] = {
        "systemone": systemone.measure, "limit": limit.measure, "order": order.measure_order,
        "questions": order.measure_questions, "exact": exact.measure, "beside": beside.measure,
    }  # fmt: skip
    parser.add_argument("--part", choices=parts, action="append", help="this one alone; nothing is saved")
    args = parser.parse_args()
    headline, details = dict[str, Any](), dict[str, Any]()
    for name in args.part or parts:
        measure = partial(parts[name], instruct=args.model) if name == "limit" else parts[name]
        found = measure(args.quick)
        headline |= found.headline
        details[name] = found.details
    finish("decisions", headline, details, args.quick or bool(args.part))


if __name__ == "__main__":
    main()
