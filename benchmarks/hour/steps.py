"""What an analyst, a data scientist, an operator and a contributor do in their first hour."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.provenance import ROOT

RELSERVE = (sys.executable, "-m", "relserve")
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
JOINS = "tests/linking/test_joins.py"
SIZES = "tests/check_sizes.py"
IS_COMPLAINT = "llm_filter('Is this a complaint? {message}', message)"
COMPLAINTS = "How many complaints came from each country?"
MOST_SECONDS = 600
ENGLISH = "FROM 'messages.csv' WHERE language = 'en' ORDER BY id"
FRAMES = """
import pandas as pd, relserve
frame = pd.read_csv("messages.csv").head(20)
frame["complaint"] = relserve.llm_filter(frame, "Is this a complaint? {message}")
print(frame.complaint.notna().sum(), "answers")
"""
IN_SQL = """
import relserve
con = relserve.connect("kept.db")
con.execute("CREATE TABLE messages AS FROM 'unlabelled.csv'")
try:
    con.text2sql("How many complaints came from each country?")
except relserve.UnlinkedWordsError as error:
    print(error.words, error.proposal)
print(con.execute("SELECT count(*) FROM text2sql('How many messages came from each country?')").fetchone())
"""


class NewcomerStep(NamedTuple):
    """A command that somebody new gives.

    Attributes:
        command: run in a folder that holds messages.csv, or of a contributor in the repository.
        says: a pattern of what it prints, on stdout or stderr.
        status: with which it should end.
    """

    who: str
    what: str
    command: tuple[str, ...]
    says: str
    status: int = 0


class StepOutcome(NamedTuple):
    """How a step went; `message` is the line that the pattern found, or the last that was printed."""

    step: NewcomerStep
    seconds: float
    went_well: bool
    message: str


def _relserve(who: str, what: str, says: str, *words: str, status: int = 0) -> NewcomerStep:
    return NewcomerStep(who, what, (*RELSERVE, *words), says, status)


def rows_sql(first: int) -> str:
    """Five English messages, each asked whether it is a complaint."""
    return f"SELECT message, {IS_COMPLAINT} AS says {ENGLISH} LIMIT 5 OFFSET {first}"


STEPS = (
    _relserve("analyst", "looks at the file", "message", "sql", "FROM 'messages.csv' LIMIT 3"),
    _relserve("analyst", "asks what a question would take", "prompts", "explain",
              f"SELECT {IS_COMPLAINT} FROM 'messages.csv'"),
    _relserve("analyst", "asks five rows, no engine is up", "says", "sql", rows_sql(0)),
    _relserve("analyst", "mistypes a function", "llm_filter", "sql",
              "SELECT llm_fliter('Is it? {message}', message) FROM 'messages.csv'", status=1),
    _relserve("analyst", "counts by country in plain words", "Germany", "ask", "--csv", "messages.csv",
              "How many messages came from each country?"),
    _relserve("analyst", "asks for what no column says", '"complaints" means nothing here', "ask", "--csv",
              "unlabelled.csv", COMPLAINTS, status=1),
    _relserve("analyst", "has a model read the texts", "Germany", "ask", "--csv", "unlabelled.csv",
              "--with-llm", COMPLAINTS),
    _relserve("analyst", "writes a CSV file", "answer", "sql", "--format", "csv",
              f"SELECT id, {IS_COMPLAINT} AS answer FROM 'messages.csv' WHERE id <= 40"),
    NewcomerStep("data scientist", "asks a pandas frame", (sys.executable, "-c", FRAMES), "answers"),
    _relserve("data scientist", "measures 50 labelled rows", "accuracy", "evaluate", "messages.csv",
              "--label", "complaint", "--rows", "50", "-q", "Is this a complaint? {message}"),
    NewcomerStep("data scientist", "asks text2sql in Python", (sys.executable, "-c", IN_SQL),
                 r"\('complaints',\) SELECT"),
    _relserve("operator", "looks at the machine", "vLLM", "doctor"),
    _relserve("operator", "looks at the engines", "tiny", "engine", "status"),
    _relserve("operator", "tries the model", "right", "models", "check", "tiny"),
    _relserve("operator", "looks at the kept answers", "tiny", "cache"),
    NewcomerStep("contributor", "checks the files' sizes", (sys.executable, SIZES), ""),
    NewcomerStep("contributor", "runs a file of tests", (*PYTEST, JOINS), "passed"),
    _relserve("operator", "stops the engines", "", "engine", "stop", "--all"),
)  # fmt: skip


def take(step: NewcomerStep, folder: Path, environ: Mapping[str, str]) -> StepOutcome:
    """Run a step to its end; one that takes ten minutes has failed."""
    began_s = time.perf_counter()
    try:
        done = subprocess.run(
            step.command,
            cwd=ROOT if step.who == "contributor" else folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return StepOutcome(step, time.perf_counter() - began_s, False, f"no end in {MOST_SECONDS} s")
    seconds = time.perf_counter() - began_s
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    found = next((line for line in lines if re.search(step.says, line)), None) if step.says else ""
    went_well = done.returncode == step.status and found is not None
    return StepOutcome(step, seconds, went_well, found or (lines[-1] if lines else ""))
