"""Replies that max_tokens ended in the middle of SQL: half a query is never taken for a whole one."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace

import pytest

from relserve.call.relquery import Reply, Submission
from relserve.engines.scripted import ScriptedEngine
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import run
from relserve.text2sql.prompts.replies import has_whole_sql
from tests.text2sql.databases import MemoryDatabase
from tests.text2sql.replies import engine_of, fenced, session_of

QUESTION = "How many beers are IPA?"
HALF = "SELECT count(*) FROM beers"  # WHERE ..
WRONG = "SELECT count(*) FROM beers WHERE stile = 'IPA'"
RIGHT = "SELECT count(*) FROM beers WHERE style = 'IPA'"


@dataclass
class Cutting(ScriptedEngine):
    """Says of the replies of one stage that max_tokens ended them."""

    stage: str = ""

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        async for batch in super().answer(submission):
            is_cut = submission.stage == self.stage
            yield [replace(reply, cut=is_cut) for reply in batch]


def cutting(stage: str, replies: Mapping[str, str]) -> Cutting:
    return Cutting(engine_of(replies).script, stage=stage)


@pytest.mark.parametrize(
    "half", [f"```sql\n{HALF}", f"Of course.\n{HALF}", fenced(WRONG) + f"\n```sql\n{HALF}"]
)
@pytest.mark.parametrize("grammar", [False, True])
def test_a_candidate_that_was_cut_is_none(half: str, grammar: bool) -> None:
    database = MemoryDatabase()
    options = Text2SqlOptions(effort="thorough", grammar=grammar)
    engine = cutting("candidates", {"candidates": half, "revision": fenced(RIGHT)})
    (outcome,) = run([QUESTION], database, session_of(engine), options)
    assert (outcome.sql, outcome.candidates, database.explained, database.ran) == (None, (), [], [])
    assert "text2sql, stage candidates: the model wrote no SQL" in str(outcome.failure)
    assert "no whole SQL in the first 1,024 tokens, where the reply was cut" in str(outcome.failure)


def test_a_reply_that_was_cut_behind_its_sql_counts() -> None:
    engine = cutting("candidates", {"candidates": f"{fenced(RIGHT)}\nThis counts the beers whose"})
    (outcome,) = run([QUESTION], MemoryDatabase(), session_of(engine))
    assert outcome.sql == RIGHT


@pytest.mark.parametrize("grammar", [False, True])
def test_a_revision_that_was_cut_mends_nothing(grammar: bool) -> None:
    database = MemoryDatabase()
    engine = cutting("revision", {"candidates": fenced(WRONG), "revision": f"```sql\n{HALF}"})
    (outcome,) = run([QUESTION], database, session_of(engine), Text2SqlOptions(grammar=grammar))
    assert (outcome.sql, set(database.explained), database.ran) == (None, {WRONG}, [])
    assert outcome.failure is not None
    assert (outcome.failure.stage, outcome.failure.candidate) == ("revision", WRONG)


@pytest.mark.parametrize(
    ("reply", "is_whole"),
    [
        (fenced(RIGHT), True), (f"{fenced(RIGHT)} and then", True), (f"```sql\n{RIGHT}", False),
        (f"{fenced(RIGHT)}\n```sql\nSELECT", False), (RIGHT, False), (f"{RIGHT};", False), ("", False),
        ('{"sql": "SELECT 1"}, which', True), ('{"sql": "SELECT 1', False), ('{"a": 1', False),
    ],
)  # fmt: skip
def test_only_fences_and_json_tell_where_sql_ends(reply: str, is_whole: bool) -> None:
    assert has_whole_sql(reply) is is_whole
