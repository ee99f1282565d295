"""`FROM llm_calibrate(..)`: the figures of `relserve.calibrate_decisions`, in a statement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import relserve
from relserve.errors import UsageError
from tests.too_sure import TooSureEngine, labelled_rows

CALL = "llm_prob('Praise? {}', text)"
TEAMS = "['sales', 'support', 'nobody']"


@pytest.fixture
def con(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[relserve.Connection]:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    with relserve.connect(engine=TooSureEngine(), progress=False) as con:
        con.raw.register("rows", pa.Table.from_pylist(labelled_rows()))
        con.raw.register("teams", pa.Table.from_pylist(labelled_rows("sales", ["support", "nobody"])))
        yield con


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("calibrations/*"))


def test_the_figures_are_those_of_python(con: relserve.Connection) -> None:
    found = con.sql(f"FROM llm_calibrate('rows', {CALL}, label, name := 'praise')").to_arrow_table()
    expected = relserve.calibrate_decisions(
        pa.Table.from_pylist(labelled_rows()), "Praise? {text}", truth="label", name="python",
        engine=TooSureEngine(), progress=False,
    )  # fmt: skip
    (row,), (wanted,) = found.to_pylist(), expected.summary.to_pylist()
    assert {**row, "name": "python"} == pytest.approx(wanted)
    (query,) = con.session.history.queries()
    assert query.num_rows == 380


def test_what_it_keeps_applies_to_the_same_call(con: relserve.Connection) -> None:
    con.execute(f"FROM llm_calibrate('rows', {CALL}, label = 'true', name := 'praise')").fetchall()
    calls = "llm_prob('Praise? {}', t), llm_prob('Praise? {}', t, calibration := 'praise')"
    ((raw, corrected),) = con.execute(f"SELECT {calls} FROM (VALUES ('a 0.9')) v(t)").fetchall()
    assert raw == 0.9
    assert corrected == pytest.approx(0.7, abs=0.06)
    over = con.execute(
        "SELECT count(*) FROM rows WHERE llm_prob('Praise? {}', text, calibration := 'praise') > 0.8"
    )
    assert over.fetchall() == [(0,)]


@pytest.mark.long
def test_several_choices_and_a_name_of_with(con: relserve.Connection) -> None:
    call = f"llm_probs('Team? {{}}', text, choices := {TEAMS})"
    con.execute(
        f"WITH few AS (FROM teams LIMIT 300) FROM llm_calibrate('few', {call}, label, name := 'team')"
    ).fetchall()
    corrected = call.replace(")", ", calibration := 'team')")
    ((found,),) = con.execute(f"SELECT {corrected} FROM (VALUES ('a 0.9')) v(text)").fetchall()
    assert sum(found.values()) == pytest.approx(1)
    assert found["sales"] < 0.85


@pytest.mark.long
def test_explain_and_a_relation_that_nobody_reads_keep_nothing(
    con: relserve.Connection, tmp_path: Path
) -> None:
    text = f"FROM llm_calibrate('rows', {CALL}, label, name := 'praise')"
    con.explain_llm(text)
    con.execute(f"EXPLAIN {text}").fetchall()
    con.sql(text)
    assert names(tmp_path) == []
    con.sql(text).fetchall()
    assert names(tmp_path) == ["praise.json"]


@pytest.mark.cells(1)
@pytest.mark.parametrize("options", [{"prefetch": False}, {"memo": False}])
def test_it_works_without_prefetch(
    options: dict[str, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    with relserve.connect(engine=TooSureEngine(), progress=False, **options) as con:
        con.raw.register("rows", pa.Table.from_pylist(labelled_rows()))
        con.execute(f"FROM llm_calibrate('rows', {CALL}, label, name := 'praise')").fetchall()
    assert names(tmp_path) == ["praise.json"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (f"'rows', {CALL}, label", "llm_calibrate() needs name := 'praise'"),
        (f"'rows', {CALL}, label, name := 'a/b'", "name must be a name of letters"),
        ("'rows', 0.5, label, name := 'x'", "takes one call of llm_prob or llm_probs, .* here are 0"),
        (f"'rows', {CALL} * llm_prob('b {{}}', text), label, name := 'x'", "here are 2"),
        (f"'rows', {CALL} > 0.5, label, name := 'x'", "is not what llm_prob() gives: calibrate"),
        (
            f"'rows', 1 - {CALL}, label, name := 'x'",
            "is no answer of llm_prob() but was made of one, such as by",
        ),
        (f"'rows', 3 + {CALL}, label, name := 'x'", "is not what llm_prob() gives"),
        (f"'rows', {CALL}::VARCHAR, label, name := 'x'", "is not what llm_prob() gives"),
        (
            f"'rows', llm_probs('{{}}', text, choices := {TEAMS})['sales'], 'sales', name := 'x'",
            "is not what llm_probs() gives",
        ),
        (f"'rows', {CALL}, 'maybe', name := 'x'", "a label must be true or false .* not 'maybe'"),
        (f"'rows', {CALL}, NULL, name := 'x'", "here are 0"),
        (f"'rowz', {CALL}, label, name := 'x'", "rowz"),
    ],
)
def test_mistakes_are_told_in_words(
    con: relserve.Connection, arguments: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises((UsageError, duckdb.Error), match=said.replace("()", r"\(\)")):
        con.execute(f"FROM llm_calibrate({arguments})").fetchall()
    assert names(tmp_path) == []


@pytest.mark.long
def test_columns_may_have_the_names_of_its_parameters(con: relserve.Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT text name, label truth, 1 AS data, 2 AS probability FROM rows")
    con.execute("FROM llm_calibrate('t', llm_prob('Praise? {}', name), truth, name := 'praise')").fetchall()
