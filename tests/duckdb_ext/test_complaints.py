"""What users of other systems complain of, each complaint a test named after it.

Those that need a real engine or a server are in tests/engines/test_complaints_of_engines.py.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from sql_cases import by_digit
from sql_fixtures import make

from relserve.call.relquery import Submission
from relserve.engines.scripted import echo
from relserve.errors import ConstantPromptWarning, Failure, FailureKind, RowError, TemplateError
from tests.waiting import Limit, act_when

UNLUCKY = Failure(FailureKind.REFUSED, "the engine refused this one")


def unlucky_sevens(prompt: str, submission: Submission) -> str | Failure:
    """Fails every prompt with a 7 in it."""
    return UNLUCKY if "7" in prompt else prompt


@pytest.mark.long
def test_ray_59194_one_over_long_prompt_does_not_kill_the_job() -> None:
    made = make(tables=False, script=echo, max_prompt_chars=1000)
    made.rows(
        "CREATE TABLE job AS SELECT i, repeat('x', if(i = 31337, 5000, 1)::INT) AS pad "
        "FROM range(100000) r(i)"
    )
    rows = made.rows("SELECT count(*), count(a), min(i) FILTER (WHERE a IS NULL) FROM "
                     "(SELECT i, llm('{} {}', i, pad) AS a FROM job)")  # fmt: skip
    assert rows == [(100_000, 99_999, 31337)]
    assert made.rows("SELECT kind, rows FROM llm_errors()") == [("over_context", 1)]
    assert made.asked == (100_000, 1)


@pytest.mark.cells(1)
@pytest.mark.parametrize("prefetch", [True, False])
def test_ray_52449_and_57140_failed_rows_are_handled_row_by_row(prefetch: bool) -> None:
    made = make(prefetch, tables=False, script=unlucky_sevens)
    sql = "SELECT i, llm('row {}', i) AS a FROM range(20) r(i)"
    assert [i for i, a in made.rows(sql) if a is None] == [7, 17]
    errors = made.rows("SELECT kind, message, prompt FROM llm_errors()")
    assert sorted(errors) == [("refused", UNLUCKY.message, f"row {i}") for i in (17, 7)]
    with pytest.raises(RowError, match="refused this one"):
        made.rows(sql.replace("i)", "i, on_error := 'raise')", 1))


def test_ray_57140_only_the_failed_rows_are_asked_again() -> None:
    made = make(tables=False, script=unlucky_sevens)
    made.rows("CREATE TABLE job AS SELECT i, llm('row {}', i) AS a FROM range(20) r(i)")
    made.engine.script = echo
    before = made.asked[0]
    made.rows("UPDATE job SET a = llm('row {}', i) WHERE a IS NULL")
    assert made.asked[0] - before == 2
    assert made.rows("SELECT count(a) FROM job") == [(20,)]


@pytest.mark.long
def test_vllm_12080_all_prompts_of_a_query_are_known_to_the_engine_at_once() -> None:
    made = make(script=echo)
    made.rows("SELECT llm('{} {}', title, body) FROM p")
    assert [len(s.prompts) for s in made.engine.submissions] == [made.engine.num_prompts]


def test_vllm_12080_prompts_with_a_shared_prefix_are_asked_together() -> None:
    made = make(tables=False, script=echo)
    made.rows("SELECT llm('{} {}', repeat('prefix ', 50) || i % 3, i) FROM range(30) r(i)")
    (submission,) = made.engine.submissions
    groups = [prompt.split()[50] for prompt in submission.prompts]
    changes = sum(a != b for a, b in itertools.pairwise(groups))
    assert changes == 2


@pytest.mark.cells(1)
@pytest.mark.parametrize("prefetch", [True, False])
def test_flock_245_a_null_does_not_end_the_query(prefetch: bool) -> None:
    made = make(prefetch, tables=False, script=echo)
    made.rows(
        "CREATE TABLE reviews AS "
        "SELECT i, CASE WHEN i <> 777 THEN 'text ' || i END AS text FROM range(1250) r(i)"
    )
    rows = made.rows("WITH playground AS (FROM reviews LIMIT 1250 OFFSET 0) "
                     "SELECT i, text, llm('Summarize {}', text) AS s FROM playground")  # fmt: skip
    assert len(rows) == 1250
    assert [row for row in rows if row[2] is None] == [(777, None, None)]


def test_flock_154_a_wrong_call_says_what_is_wrong_and_where() -> None:
    made = make(tables=False)
    with pytest.raises(TemplateError) as caught:
        made.rows("SELECT llm('analyze sentiment', input_text) FROM (SELECT 'hi' AS input_text)")
    said = str(caught.value)
    assert "argument 1 has no placeholder" in said
    assert "analyze sentiment\n" in said
    assert "^" in said
    assert "Put {} where the value belongs" in said


@pytest.mark.cells(2)
@pytest.mark.parametrize("reply", ["", "   ", "[]", "no idea"])
def test_flock_213_an_empty_or_invalid_reply_costs_its_own_row_only(reply: str) -> None:
    made = make(tables=False, script=lambda p, s: reply if p.endswith("3?") else by_digit(p, s))
    rows = made.rows("SELECT i, llm_filter('is it {}?', i) FROM range(6) r(i)")
    assert rows == [(0, True), (1, False), (2, True), (3, None), (4, True), (5, False)]
    ((kind, message),) = made.rows("SELECT kind, message FROM llm_errors()")
    assert kind == "unparsable"
    assert repr(reply) in message


def test_flock_226_works_on_a_read_only_database(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE mails AS SELECT 'mail ' || i AS body FROM range(3) r(i)")
    made = make(tables=False, script=by_digit, path=str(path), read_only=True)
    assert made.rows("SELECT body FROM mails WHERE llm_filter('{}?', body)") == [("mail 0",), ("mail 2",)]
    assert made.rows("SELECT rows FROM llm_queries()") == [(3,)]
    with pytest.raises(duckdb.InvalidInputException, match="read-only"):
        made.rows("INSERT INTO mails VALUES (llm('new'))")


@pytest.mark.cells(1)
@pytest.mark.parametrize("prefetch", [True, False])
def test_duckdb_10120_udf_in_where_is_called_once_per_distinct_input(prefetch: bool) -> None:
    made = make(prefetch, tables=False, script=echo)
    from_subquery = "SELECT * FROM (SELECT llm('{}', i) AS a FROM range(10000) r(i)) WHERE a <> ''"
    assert len(made.rows(from_subquery)) == 10_000
    assert made.asked[0] == 10_000
    again = "SELECT llm('again {}', i % 50) AS a FROM range(10000) r(i)"
    twice = f"SELECT a, a || '!' FROM ({again}) WHERE a <> '' AND a > ' '"
    assert len(made.rows(twice)) == 10_000
    assert made.asked[0] == 10_050


@pytest.mark.performance
@pytest.mark.parametrize("prefetch", [True, False])
def test_duckdb_10216_and_3742_interrupts_are_obeyed_and_the_connection_lives(
    prefetch: bool, limit_s: Limit
) -> None:
    made = make(prefetch, tables=False, script=echo, chunk=1, pause_s=0.05)
    act_when(lambda: made.engine.num_prompts, made.con.interrupt)
    started = time.monotonic()
    with pytest.raises(duckdb.InterruptException):
        made.rows("SELECT DISTINCT ON (i % 9) llm('{}', i) FROM range(100000) r(i) ORDER BY i DESC")
    assert time.monotonic() - started < limit_s(1.3)
    assert made.rows("SELECT llm('still {}', 'here')") == [("still here",)]


CTRL_C = """
import os, signal, duckdb, relserve
from relserve.engines.scripted import ScriptedEngine, echo
from tests.waiting import act_when
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit SIG_IGN
engine = ScriptedEngine(echo, chunk=1, stalls_after=3)
con = relserve.connect(engine=engine, progress=False)
act_when(lambda: engine.num_answered == 3, lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    con.execute("SELECT count(llm('{}', i)) FROM range(100000) r(i)").fetchall()
except KeyboardInterrupt:
    engine.stalls_after = None
    print(con.execute("SELECT llm('still {}', 'here')").fetchall(), flush=True)
os._exit(0)
"""


def test_duckdb_10216_ctrl_c_does_not_kill_the_process() -> None:
    assert run(CTRL_C) == "[('still here',)]"


FREED = """
import gc, duckdb, relserve
from relserve.engines.scripted import ScriptedEngine, echo
con = relserve.connect(engine=ScriptedEngine(echo), progress=False)
name = "SELECT function_name FROM duckdb_functions() WHERE starts_with(function_name, '__llm_') ORDER BY ALL"
cursor = con.cursor()
cursor.execute("SELECT llm('a {}', 1)").fetchall()
udfs = [n for (n,) in con.raw.execute(name).fetchall()]
del cursor
gc.collect()
print(con.sql("SELECT llm('b {}', 2)").fetchall())
raw = duckdb.connect()
attached = relserve.attach(raw.cursor(), engine=ScriptedEngine(echo), progress=False)
udfs += [n for (n,) in raw.execute(name).fetchall()]
del attached
gc.collect()
for each in (con.raw, raw):
    for udf in udfs:
        try:
            each.execute(f"SELECT {udf}('c {{}}', '{{}}', 3)").fetchall()
        except duckdb.Error as error:
            assert any(text in str(error) for text in ("does not exist", "llm", "not iterable")), error
print("alive")
"""


@pytest.mark.long
def test_duckdb_python_530_registering_cursor_freed_does_not_segfault() -> None:
    assert run(FREED) == "[('b 2',)]\nalive"


def test_lotus_71_blank_rows_stay_in_their_place_and_can_be_left_out() -> None:
    made = make(tables=False, script=by_digit)
    blanks = "(1, 'good 2'), (2, ''), (3, '  '), (4, NULL), (5, 'bad 1')"
    made.rows(f"CREATE TABLE r AS FROM (VALUES {blanks}) v(i, t)")
    rows = made.rows("SELECT i, llm('about {}', t) FROM r ORDER BY i")
    assert rows == [(1, "about good 2"), (2, "about"), (3, "about"), (4, None), (5, "about bad 1")]
    before = made.asked[0]
    rows = made.rows("SELECT i, llm_filter('{}?', nullif(trim(t), '')) FROM r ORDER BY i")
    assert rows == [(1, True), (2, None), (3, None), (4, None), (5, False)]
    assert made.asked[0] - before == 2


def test_lotus_139_a_placeholder_without_a_column_is_refused() -> None:
    made = make()
    with pytest.raises(TemplateError, match=r"placeholder \{uname\} has no argument"):
        made.rows("SELECT id FROM u WHERE llm_filter('{uname} seems like a real name')")
    assert made.asked == (0, 0)


def test_lotus_139_a_prompt_without_any_column_is_said(recwarn: pytest.WarningsRecorder) -> None:
    made = make()
    made.rows("SELECT id FROM u WHERE llm_filter('the display name seems like a real name')")
    (warning,) = [each for each in recwarn if each.category is ConstantPromptWarning]
    assert "llm_filter() has a prompt without any column" in str(warning.message)
    made.rows("SELECT llm('a joke')")
    told = [each for each in recwarn if each.category is ConstantPromptWarning]
    assert told == [warning]  # without a table it is meant


@pytest.mark.cells(2)
@pytest.mark.parametrize("reply", ["Traditional School", "traditional", "It is a Charter.", "1"])
def test_blendsql_31_answers_stay_inside_choices(reply: str) -> None:
    made = make(tables=False, script=lambda prompt, submission: reply)
    choices = ("Traditional", "Charter", "Home and Hospital")
    call = f"llm_classify('Type of {{}}?', 'ARISE High', choices := {list(choices)})"
    ((answer,),) = made.rows(f"SELECT {call}")
    assert answer == ("Traditional" if reply == "traditional" else None)
    assert made.engine.submissions[0].sampling.grammar.choices == choices


def run(program: str) -> str:
    """What a program prints in a process of its own; its death by a signal fails the test."""
    code = f"import sys; sys.path[:0] = {sys.path!r}\n{program}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr}"
    return done.stdout.strip()
