"""Forty questions about the messages without their labels, twenty of which no column answers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb

from benchmarks.text2sql.asking import AnswerVerdict, ask
from benchmarks.text2sql.questions import GoldQuestion, Group
from relserve.api import connect
from relserve.examples import MESSAGES
from relserve.text2sql.options import Text2SqlOptions

QUESTIONS = Path(__file__).parent / "questions.json"
UNLABELLED = f"SELECT id, received, country, message FROM '{MESSAGES}'"
ANSWERABLE, UNANSWERABLE = "a column answers", "no column answers"


def questions(every: int = 1) -> list[GoldQuestion]:
    """The questions, or one in so many of each kind; what no column answers has no gold query."""
    records = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    found = [
        GoldQuestion(each["question"], tuple(each["gold"]), ANSWERABLE if each["gold"] else UNANSWERABLE)
        for each in records
    ]
    kinds = ([each for each in found if each.shape == kind] for kind in (ANSWERABLE, UNANSWERABLE))
    return [each for kind in kinds for each in kind[::every]]


def verdicts(asked: Sequence[GoldQuestion]) -> list[AnswerVerdict]:
    """How the default model for questions does; a query for what no column answers is never right."""
    con = duckdb.connect()
    con.execute(f"CREATE TABLE messages AS {UNLABELLED}")
    with connect(progress=False, cache=False) as asking, tempfile.TemporaryDirectory() as folder:
        return ask(Group("messages", (con,), asked), asking.session, Text2SqlOptions(), Path(folder)).verdicts
