"""The first hour of four people on messages.csv: how many of their commands do not do what they should.

An analyst, a data scientist, an operator and a contributor give commands, each a process of its own, in a
folder with the shipped messages and with no engine and no answers yet. Each must end with its status and say
what is looked for. Then 40 questions in plain words are asked of the messages without their labels: 20 that a
column answers, judged by the rows, and 20 that none does, which must be refused. SQL that gives other rows is
silently wrong. Warm: a `relserve sql` of five new rows while the engine is up.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.claims import Exact, Higher, Lower
from benchmarks.common import arguments, finish, table
from benchmarks.hour.asked import ANSWERABLE, UNANSWERABLE, UNLABELLED, questions, verdicts
from benchmarks.hour.steps import RELSERVE, STEPS, NewcomerStep, StepOutcome, rows_sql, take
from benchmarks.start_up import place_of_its_own
from benchmarks.text2sql.asking import AnswerVerdict
from relserve.examples import MESSAGES

ROOMS = (
    "relserve/cli", "relserve/text2sql", "relserve/linking", "relserve/session", "relserve/examples",
    "relserve/frames", "relserve/checkup",
)  # fmt: skip
HEADLINE = {
    "steps_failed": Exact(0), "silent_wrong": Lower(by=1), "warm_s": Lower(0.6, timed=True),
    "right": Higher(by=0.1), "refused": Higher(by=0.05),
}  # fmt: skip

VARIABLES = {"RELSERVE_ENGINE": "shared", "RELSERVE_ANSWER_CACHE_MB": "64"}  # as a user has them
QUICK_EVERY = 4  # one question in so many
SHOWN = 70  # characters of a message


def steps_taken(warm_runs: int) -> Iterator[StepOutcome]:
    """The steps one after another, and before the last, which stops the engines, the warm ones."""
    with place_of_its_own(**VARIABLES) as environ, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(MESSAGES, folder / "messages.csv")
        duckdb.sql(UNLABELLED).write_csv(str(folder / "unlabelled.csv"))
        for step in STEPS[:-1]:
            yield take(step, folder, environ)
        for number in range(1, warm_runs + 1):
            command = (*RELSERVE, "sql", rows_sql(5 * number))
            yield take(NewcomerStep("analyst", "asks five more rows, warm", command, "says"), folder, environ)
        yield take(STEPS[-1], folder, environ)


def share(found: Sequence[AnswerVerdict], kind: str, is_good: str) -> float:
    """Of the questions of a kind those whose verdict is good, as a share."""
    of_kind = [each for each in found if each.shape == kind]
    return round(sum(getattr(each, is_good) for each in of_kind) / len(of_kind), 3)


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    taken = list(steps_taken(1 if args.quick else 5))
    found = verdicts(questions(QUICK_EVERY if args.quick else 1))
    silent = [each for each in found if each.sql is not None and not each.right]
    rows: list[list[Any]] = [
        [
            each.step.who,
            each.step.what,
            round(each.seconds, 1),
            "yes" if each.went_well else "NO",
            each.message[:SHOWN],
        ]
        for each in taken
    ]
    rows += [["analyst", f"is told wrong rows: {each.question}", None, "NO", each.sql] for each in silent]
    print(table(("who", "what", "s", "as it should", "what it said"), rows))
    warm_s = [each.seconds for each in taken if each.step.what.endswith("warm")]
    headline = {
        "steps_failed": sum(not each.went_well for each in taken), "silent_wrong": len(silent),
        "warm_s": round(statistics.median(warm_s), 2), "right": share(found, ANSWERABLE, "right"),
        "refused": share(found, UNANSWERABLE, "refused"),
    }  # fmt: skip
    details = {"steps": rows, "questions": [each._asdict() for each in found]}
    finish("first_hour", headline, details, args.quick)


if __name__ == "__main__":
    main()
