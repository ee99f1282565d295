"""Asking Superset the same on both servers: each answer with its time and where it differs, and Stop."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.provenance import ROOT
from benchmarks.start_up import place_of_its_own
from tests.clients.superset.app import HOME, RefusedError, superset
from tests.clients.superset.dashboard import dashboard, picture
from tests.clients.superset.llm import LLM_QUESTIONS, in_python
from tests.clients.superset.questions import QUESTIONS
from tests.clients.superset.servers import POSTGRES_PROGRAMS, postgres, relserve
from tests.clients.superset.stop import Stopped, stop
from tests.clients.superset.tables import into_duckdb
from tests.clients.superset.target import Target

PICTURE = ROOT / "docs" / "pictures" / "superset.png"
LONG_PLAIN = (
    "SELECT count(*) FROM reviews a, reviews b, reviews c, reviews d WHERE (a.id + b.id) % (c.id + d.id) = 3"
)
LONG_LLM = (
    "SELECT count(DISTINCT llm('Sum up: {{}}', review || n)) FROM reviews, generate_series(1, {copies}) g(n)"
)
COPIES = {"scripted": 1000}  # of each review, so that the query is long; the made-up answers come quickly
SHOWN = 300  # characters of an answer that differs


class Answer(NamedTuple):
    """What a question gave: a value, or why it was refused."""

    value: Any
    refused: str | None
    seconds: float

    def __str__(self) -> str:
        return (f"refused: {self.refused}" if self.refused else str(self.value))[:SHOWN]


class Measured(NamedTuple):
    """What a run found.

    Attributes:
        rows: a question each: name, seconds on PostgreSQL and relserve, the difference if there is one.
        no_picture: why there is no picture of the dashboard.
    """

    num_reviews: int
    rows: list[list[Any]]
    stopped: dict[str, Stopped]
    no_picture: str | None


def ask(question: Callable[[Target], Any], on: Target) -> Answer:
    """Ask it, and time it."""
    started = time.perf_counter()
    try:
        value, refused = question(on), None
    except RefusedError as error:
        value, refused = None, str(error)
    return Answer(value, refused, time.perf_counter() - started)


def difference(expected: Any, answer: Answer) -> str | None:
    """Where an answer differs from what it should be."""
    if answer.refused is None and answer.value == expected:
        return None
    if isinstance(expected, (list, tuple)) and isinstance(answer.value, (list, tuple)):
        pairs = zip(expected, answer.value, strict=False)
        parts = next(((e, a) for e, a in pairs if e != a), (len(expected), len(answer.value)))
        return f"{str(parts[0])[:SHOWN]} became {str(parts[1])[:SHOWN]}"
    return f"{str(expected)[:SHOWN]} became {answer}"


def missing() -> str | None:
    """What cannot be had here, in words; Superset is installed where it is not."""
    if not (POSTGRES_PROGRAMS / "postgres").exists() or not shutil.which("psql"):
        return f"PostgreSQL 15 is not installed in {POSTGRES_PROGRAMS} (Debian: postgresql-15)"
    command = ["make", "--silent", "superset"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return f"Superset could not be installed into {HOME}: {done.stderr[-SHOWN:]}" if done.returncode else None


def compared(theirs: Target, ours: Target, expected: Mapping[str, Any]) -> list[list[Any]]:
    """For each question its name, seconds on PostgreSQL and relserve, and the difference if there is one."""
    right = {name: ask(question, theirs) for name, question in QUESTIONS.items()}
    theirs.delete_datasets()
    rows = []
    for name, question in QUESTIONS.items():
        answer, wanted = ask(question, ours), right[name]
        wrong = f"PostgreSQL: {wanted}" if wanted.refused else difference(wanted.value, answer)
        rows.append([name, wanted.seconds, answer.seconds, wrong])
    for name, (question, _) in LLM_QUESTIONS.items():
        answer = ask(question, ours)
        rows.append([name, None, answer.seconds, difference(expected[name], answer)])
    return rows


def stops(theirs: Target, ours: Target, model: str) -> dict[str, Stopped]:
    """Stop on either server: a long count, and a long llm query."""
    return {
        "PostgreSQL, count": stop(theirs, LONG_PLAIN),
        "relserve, count": stop(ours, LONG_PLAIN),
        "relserve, llm": stop(ours, LONG_LLM.format(copies=COPIES.get(model, 20))),
    }


def measured(model: str, keeps: bool) -> Measured:
    """Start the servers and Superset, and ask everything; a picture that is to be kept goes into docs."""
    with ExitStack() as running:
        os.environ.update(running.enter_context(place_of_its_own(RELSERVE_ENGINE="shared")))
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="relserve-superset-")))
        file = folder / "bi.duckdb"
        num_reviews = into_duckdb(file)
        expected = in_python(folder, model)
        app = running.enter_context(superset(folder))
        theirs = Target(app, running.enter_context(postgres(folder, file)))
        ours = Target(app, running.enter_context(relserve(folder, file, model)))
        rows = compared(theirs, ours, expected)
        stopped = stops(theirs, ours, model)
        no_picture = picture(ours, dashboard(ours), folder / PICTURE.name)
        if keeps and not no_picture:
            PICTURE.parent.mkdir(exist_ok=True)
            shutil.copy(folder / PICTURE.name, PICTURE)
    return Measured(num_reviews, rows, stopped, no_picture)
