"""Every call on models of other architectures: rows lost, answers of a wrong type, what grammars cost.

The models are the zoo's, which say nothing sensible; so nothing is said about accuracy. A row is lost where
it is on record as failed; NULL because the model said null is an answer. "Endless" are those lost rows in
which the model went in circles: its text or its list was longer than is read, or ended by max_tokens. What
grammars cost is CPU time of xgrammar as vLLM calls it; start-up is the time to the first answer, vLLM being
imported.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.claims import Exact, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.grammar_cost import GrammarCost, Vocabulary
from benchmarks.plots import bars
from benchmarks.typed_calls import CALLS, TypedCallOutcome, grammar_of, outcome, prepare
from benchmarks.zoo import NAMES, build
from relserve.api import connect
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.errors import RowsFailedWarning

ROOMS = ("duckdb_ext/relserve_duckdb", "relserve/session", "relserve/call", "relserve/engines/local")
HEADLINE = {
    "models": Untold("a size"), "rows_each": Untold("a size"), "lost": Lower(by=3),
    "of_them_endless": Untold("of lost"), "wrong_type": Exact(0), "compile_s_max": Lower(1, timed=True),
    "mask_ms_max": Lower(1, timed=True), "start_s_max": Lower(0.6, timed=True), "aims": Untold("no figure"),
}  # fmt: skip

QUICK_MODELS = ("gemma3",)
AIMS = {"lost": 0, "wrong_type": 0, "compile_s_max": 0.5, "mask_ms_max": 1.0}
COLUMNS = [
    "model", "tokens", "call", "rows", "lost", "endless", "wrong type", "said null", "seconds", "compile s",
    "mask ms", "slowest mask",
]  # fmt: skip


def answers(name: str, folder: Path, num_rows: int, log: Path) -> tuple[float, dict[str, TypedCallOutcome]]:
    """Seconds until a fresh engine answers, and what each call gives."""
    engine = LocalEngine(name, str(folder), log_path=log)
    try:
        with connect(engine=engine, progress=False) as con:
            began_s = time.monotonic()
            con.execute("SELECT llm('Hello', max_tokens := 1)").fetchall()
            start_s = time.monotonic() - began_s
            prepare(con, num_rows)
            return start_s, {each: outcome(con, call) for each, call in CALLS.items()}
    finally:
        spawn(engine.close()).result()


def grammar_costs(folder: Path) -> tuple[int, dict[str, GrammarCost]]:
    """Tokens of a model, and what the grammar costs of each call that has one."""
    vocabulary = Vocabulary(folder)
    grammars = {name: grammar_of(call) for name, call in CALLS.items()}
    return vocabulary.size, {name: vocabulary.cost(each) for name, each in grammars.items() if each}


def lines_of(
    name: str, num_tokens: int, given: dict[str, TypedCallOutcome], costs: dict[str, GrammarCost]
) -> list[list[Any]]:
    """The lines of the table for one model."""
    return [
        [name, num_tokens, call, *given[call][:6], *(costs[call] if call in costs else (None, None, None))]
        for call in given
    ]


def column(lines: list[list[Any]], name: str) -> list[Any]:
    """The values of a column, where there are any."""
    return [line[COLUMNS.index(name)] for line in lines if line[COLUMNS.index(name)] is not None]


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--models", type=names, default=None, help=f"some of {','.join(NAMES)}")
    args = parser.parse_args()
    num_rows = 20 if args.quick else 200
    warnings.simplefilter("ignore", RowsFailedWarning)  # they are counted here
    import vllm.v1.engine.async_llm  # noqa: F401  so that the first start is like the others

    lines: list[list[Any]] = []
    starts_s, failures = {}, {}
    with tempfile.TemporaryDirectory() as logs:
        for name in args.models or (QUICK_MODELS if args.quick else NAMES):
            folder = build(name)
            num_tokens, costs = grammar_costs(folder)
            starts_s[name], given = answers(name, folder, num_rows, Path(logs) / f"{name}.log")
            lines += lines_of(name, num_tokens, given, costs)
            print(f"{name}: {sum(each.lost for each in given.values())} rows lost", flush=True)
            failures |= {f"{name}, {call}": each.failures for call, each in given.items() if each.failures}
    print(table(COLUMNS, lines))
    print("\nSeconds to start: " + ", ".join(f"{name} {s:.1f}" for name, s in starts_s.items()))
    for where, messages in failures.items():
        print(f"{where}: lost, e.g. {messages[0]}")
    headline = {
        "models": len(starts_s), "rows_each": num_rows,
        "lost": sum(column(lines, "lost")), "of_them_endless": sum(column(lines, "endless")),
        "wrong_type": sum(column(lines, "wrong type")),
        "compile_s_max": round(max(column(lines, "compile s")), 3),
        "mask_ms_max": round(max(column(lines, "mask ms")), 3),
        "start_s_max": round(max(starts_s.values()), 1), "aims": AIMS,
    }  # fmt: skip
    details = {"columns": COLUMNS, "rows": lines, "start_s": starts_s, "failures": failures}
    dearest = {
        call: max(column([line for line in lines if line[2] == call], "compile s"), default=0.0)
        for call in CALLS
    }
    finish(
        "models", headline, details, args.quick,
        lambda path: bars(path, dearest, "CPU seconds to compile the grammar, the dearest model"),
    )  # fmt: skip


def names(text: str) -> list[str]:
    """Names of models from a comma-separated list."""
    found = text.split(",")
    for name in found:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(f"there is no model {name!r} in the zoo: {', '.join(NAMES)}")
    return found


if __name__ == "__main__":
    main()
