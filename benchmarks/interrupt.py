"""Ctrl-C two seconds into a 10,000-row query: how soon the prompt is back and the engine idle.

Also whether the next query works. The query runs on a real engine, in a process of its own that gets SIGINT.
"""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
import time
from typing import Any

import psutil

from benchmarks.beer import CHOICES, classify_call, create_beer_table
from benchmarks.claims import Exact, Lower, Untold
from benchmarks.common import arguments, finish, table

ROOMS = ("duckdb_ext/relserve_duckdb/user", "relserve/session", "relserve/engines/local")
HEADLINE = {
    "prompt_s_max": Lower(by=0.5), "idle_s_max": Lower(by=1), "prompt_s_median": Untold("of prompt_s_max"),
    "next_query_works": Exact(True),
}  # fmt: skip

IDLE_SHARE = 0.1  # of one core over IDLE_WINDOW_S
IDLE_WINDOW_S = 0.25


def child() -> None:
    """Run the query, tell the parent when it begins, and report what Ctrl-C did."""
    from relserve.api import connect, find_engine

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit SIG_IGN
    con = connect(model="tiny", progress=False)
    create_beer_table(con)
    con.execute("SELECT llm('warm up')").fetchall()
    engine: Any = find_engine("tiny")
    core = psutil.Process(engine.pid)
    call = classify_call()
    _say(event="begin")
    try:
        con.execute(f"SELECT {call} FROM beer").fetchall()
    except KeyboardInterrupt:
        back = time.monotonic()
        _say(event="back", at=back, idle_at=_idle_at(core))
    else:
        _say(event="finished")
    started = time.monotonic()
    rows = con.execute(f"SELECT {call} FROM beer WHERE id <= 20").fetchall()
    answered = sum(r[0] in CHOICES for r in rows)
    _say(
        event="next", answered=answered, seconds=time.monotonic() - started, same_core=core.pid == engine.pid
    )
    state = con.execute("SELECT state FROM llm_queries() WHERE rows > 1000").fetchall()[0][0]
    _say(event="state", state=state)
    con.close()


def measure(after_s: float) -> dict[str, Any]:
    """One run: seconds from SIGINT to the prompt and to an idle engine."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.interrupt", "--child"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    seen: dict[str, Any] = {}
    sent = 0.0
    for line in process.stdout:
        event = json.loads(line)
        seen[event.pop("event")] = event
        if "begin" in seen and not sent:
            time.sleep(after_s)
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
    process.wait(60)
    assert "back" in seen, f"the query was not interrupted: {seen}"
    return {
        "prompt_s": seen["back"]["at"] - sent, "idle_s": seen["back"]["idle_at"] - sent,
        "next_answered": seen["next"]["answered"], "next_s": seen["next"]["seconds"],
        "same_core": seen["next"]["same_core"], "state": seen["state"]["state"], "exit": process.returncode,
    }  # fmt: skip


def _idle_at(core: psutil.Process) -> float:
    """When the engine core began to use less than IDLE_SHARE of a core."""
    while True:
        began, before = time.monotonic(), sum(core.cpu_times()[:2])
        time.sleep(IDLE_WINDOW_S)
        if sum(core.cpu_times()[:2]) - before < IDLE_SHARE * IDLE_WINDOW_S:
            return began


def _say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--child", action="store_true", help="internal: the process that is interrupted")
    args = parser.parse_args()
    if args.child:
        return child()
    runs = [measure(2.0) for _ in range(1 if args.quick else 5)]
    print(table(list(runs[0]), [list(r.values()) for r in runs]))
    headline = {
        "prompt_s_max": round(max(r["prompt_s"] for r in runs), 3),
        "idle_s_max": round(max(r["idle_s"] for r in runs), 3),
        "prompt_s_median": round(statistics.median(r["prompt_s"] for r in runs), 3),
        "next_query_works": all(r["next_answered"] == 20 for r in runs),
    }
    finish("interrupt", headline, runs, args.quick)


if __name__ == "__main__":
    main()
