"""The pipeline end to end on the scripted engine, with recorded replies."""

from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import run
from tests.text2sql.databases import MemoryDatabase
from tests.text2sql.replies import engine_of, session_of

QUESTION = "How many beers are IPA?"
COUNT = "SELECT count(*) FROM beers WHERE style = 'IPA'"


def test_a_question_becomes_the_sql_that_most_candidates_agree_on() -> None:
    engine = engine_of(
        {
            "candidates/direct": f"```sql\n{COUNT}\n```",
            "candidates/divide_and_conquer": "Part: IPA\n```sql\n" + COUNT.replace("count(*)", "sum(1)"),
            "candidates/query_plan": "SELECT count(*) FROM beers",
        }
    )
    database = MemoryDatabase()
    (outcome,) = run([QUESTION], database, session_of(engine))
    assert outcome.failure is None
    assert outcome.sql == COUNT
    assert [candidate.votes for candidate in outcome.candidates] == [2, 2, 1]
    assert [s.stage for s in engine.submissions] == ["candidates"]


def test_a_name_that_does_not_exist_is_revised_with_what_duckdb_says() -> None:
    prompts: list[str] = []

    def revise(prompt: str) -> str:
        prompts.append(prompt)
        return f"```sql\n{COUNT}\n```"

    engine = engine_of({"candidates": "SELECT count(*) FROM beers WHERE stile = 'IPA'", "revision": revise})
    database = MemoryDatabase()
    (outcome,) = run([QUESTION], database, session_of(engine), Text2SqlOptions(effort="quick"))
    assert outcome.sql == COUNT
    assert 'Referenced column \\"stile\\" not found' in prompts[0]
    assert '"beers.style"' in prompts[0]
    assert database.ran == []
    assert [s.stage for s in engine.submissions] == ["candidates", "revision"]
