"""A model that a view or a macro names: asked only where the caller allowed its server, or named it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import pytest
from relserve_duckdb import Connection, attach

from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import ForbiddenError
from relserve.session.model_hosts import ModelHosts
from relserve.session.session import Session

URL = "http://stranger.example:8000/v1"
DEFINITIONS = f"""
CREATE TABLE t AS SELECT * FROM (VALUES ('a'), ('b')) v(x);
CREATE VIEW v AS SELECT llm('Of {{}}', x, model := '{URL}') AS y FROM t;
CREATE VIEW agg AS SELECT llm_agg('Of {{}}', x, model := '{URL}' ORDER BY x) AS y FROM t;
CREATE MACRO m(x) AS llm_filter('Is {{}}', x, model := '{URL}');
CREATE TABLE models AS SELECT '{URL}' AS name;
CREATE MACRO q(x) AS text2sql_query(x, model := '{URL}');
CREATE MACRO f(x) AS llm('Of {{}}', x, model := 'fleet:theirs.toml');
CREATE TABLE defaults (x VARCHAR, y VARCHAR DEFAULT llm('Of me', model := '{URL}'));
CREATE TABLE through (x VARCHAR, y BOOLEAN DEFAULT m('secret'));
CREATE TABLE checks (x VARCHAR, CHECK (llm_filter('Is {{}}', x, model := '{URL}')));
CREATE TABLE generated (x VARCHAR, y VARCHAR AS (llm('Of {{}}', x, model := '{URL}')));
CREATE TABLE of_a_fleet (x VARCHAR, y VARCHAR DEFAULT f('me'));
CREATE TABLE in_words (x VARCHAR, y VARCHAR DEFAULT text2sql_query('How many?', model := '{URL}'));
CREATE TABLE of_default_model (x VARCHAR, y VARCHAR DEFAULT llm('Of me'));
INSERT INTO generated (x) VALUES ('theirs');
"""
REACHED = (
    "SELECT y FROM v",
    "SELECT y FROM agg",
    "SELECT m(x) FROM t",
    "SELECT x FROM t WHERE m(x) LIMIT 1",
    "SELECT llm('Of {}', x, model := (SELECT name FROM models)) FROM t",
    "SELECT q('How many?')",
    "SELECT f(x) FROM t",
    "CREATE TABLE kept AS FROM v",
)


@dataclass
class World:
    """A connection to a stranger's file, and which models were looked for."""

    con: Connection
    named: list[str | None] = field(default_factory=list)

    def find(self, name: str | None) -> ScriptedEngine:
        self.named.append(name)
        return ScriptedEngine(script=echo, model=name or "default")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stranger's file."""
    path = tmp_path_factory.mktemp("stranger") / "theirs.duckdb"
    stranger = attach(duckdb.connect(path), Session(lambda _: ScriptedEngine()))
    stranger.execute(DEFINITIONS)
    stranger.close()
    return path


@pytest.fixture
def world(theirs: Path, tmp_path: Path) -> Iterator[World]:
    shutil.copy(theirs, tmp_path)
    raw = duckdb.connect(tmp_path / "theirs.duckdb")
    found = World(None)  # type: ignore[arg-type]
    found.con = attach(raw, Session(found.find), progress=False)
    yield found
    found.con.close()


@pytest.mark.cells(4)
@pytest.mark.parametrize("sql", REACHED)
def test_what_the_database_alone_names_is_refused_before_anything_is_asked(world: World, sql: str) -> None:
    with pytest.raises(ForbiddenError, match="no statement of yours; your rows were not sent"):
        world.con.execute(sql).fetchall()
    explained = world.con.execute(f"EXPLAIN {sql}").fetchall()
    assert sql.startswith("CREATE") or "stands in no statement of yours" in explained[-1][1]
    assert not [name for name in world.named if name is not None]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO defaults (x) VALUES ('secret')",
        "INSERT INTO defaults (x) SELECT llm('Of {}', x) FROM t",
        "MERGE INTO defaults d USING t ON false WHEN NOT MATCHED THEN INSERT (x) VALUES (t.x)",
        "INSERT INTO through (x) VALUES ('secret')",
        "INSERT INTO checks VALUES ('secret')",
        "INSERT INTO generated VALUES ('secret')",
        "SELECT y FROM generated",
        "INSERT INTO of_a_fleet (x) VALUES ('secret')",
        "INSERT INTO in_words (x) VALUES ('secret')",
    ],
)
def test_a_column_sends_no_row_to_a_server_that_it_alone_names(world: World, sql: str) -> None:
    """DuckDB runs what a default, a CHECK and a generated column call for whoever writes or reads a row."""
    with pytest.raises(Exception, match="stands in no statement of yours; your rows were not sent"):
        world.con.execute(sql).fetchall()
    assert not [name for name in world.named if name is not None]


def test_a_column_may_ask_the_callers_own_model_and_a_host_they_allow(world: World) -> None:
    world.con.execute("INSERT INTO of_default_model (x) VALUES ('mine')")
    assert world.con.execute("FROM of_default_model").fetchall() == [("mine", "Of me")]
    assert set(world.named) == {None}
    world.con.session.model_hosts = ModelHosts(hosts=["stranger.example"])
    world.con.execute("INSERT INTO defaults (x) VALUES ('mine')")
    assert world.con.execute("FROM defaults").fetchall() == [("mine", "Of me")]
    assert world.named[-1] == URL


def test_a_relation_and_a_raw_connection_meet_the_same(world: World) -> None:
    relation = world.con.view("v")
    with pytest.raises(ForbiddenError):
        relation.fetchall()
    with pytest.raises(Exception, match="stands in no statement of yours"):
        world.con.raw.execute("FROM v").fetchall()
    assert not world.named


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT llm('Of {{}}', x, model := '{URL}') FROM t",
        f"CREATE TEMP MACRO mine(x) AS llm('Of {{}}', x, model := '{URL}')",
    ],
)
def test_what_the_caller_writes_is_asked_and_known_on_their_cursors(world: World, text: str) -> None:
    world.con.execute(text)
    assert world.con.cursor().execute("FROM v").fetchall() == [("Of a",), ("Of b",)]
    assert world.named[-1] == URL


def test_parameters_and_parts_of_relations_are_the_callers_words_too(world: World) -> None:
    sql = "SELECT llm('Of {}', x, model := $1) FROM t"
    assert world.con.execute(sql, [URL]).fetchall() == [("Of a",), ("Of b",)]
    other = URL.replace("stranger", "other")
    relation = world.con.table("t").project(f"llm('Of {{}}', x, model := '{other}')")
    assert relation.fetchall() == [("Of a",), ("Of b",)]
    assert world.named[-1] == other


def test_another_client_of_the_same_database_has_named_nothing(world: World) -> None:
    world.con.execute(f"SELECT llm('Of {{}}', x, model := '{URL}') FROM t")
    session = replace(world.con.session, model_hosts=ModelHosts())
    other = world.con.cursor_for(session, world.con._state.client)
    with pytest.raises(ForbiddenError):
        other.execute("FROM v").fetchall()


def test_an_allowed_host_may_stand_anywhere(world: World) -> None:
    world.con.session.model_hosts = ModelHosts(hosts=["stranger.example"])
    for sql in REACHED[:5]:
        world.con.execute(sql).fetchall()
    assert set(world.named) == {URL}
