"""A database whose macros have the names of DuckDB's functions: ours go on meaning DuckDB's."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hostile_database import write_hostile
from relserve_duckdb.text.aggregate_text import aggregate_text

import relserve
from relserve.call.relquery import Submission
from relserve.cli.shell import data_commands
from relserve.cli.shell.catalog import read_names
from relserve.cli.shell_install import start_up
from relserve.engines.scripted import ScriptedEngine, by_hash, echo
from relserve.errors import Failure
from relserve.text2sql.catalog.reading import read_schema
from relserve.text2sql.catalog.versions import database_version

TABLES = "CREATE TABLE t AS SELECT * FROM (VALUES (1, 'a fine beer'), (2, 'flat'), (3, NULL)) v(i, body)"
STATEMENTS = (
    "SELECT llm('Say {}', body, max_tokens := 9) FROM t",
    "SELECT llm_filter('Is {body} good?', body) FROM t",
    "SELECT llm_classify('Which is {}?', body, choices := '[a]'::VARCHAR[]) FROM t",
    "SELECT llm_extract('Of {}', body, schema := '{\"brand\": \"VARCHAR\"}') FROM t",
    "SELECT llm_int('How many {} {}?', i, body) FROM t",
    "SELECT llm_decide(body, '{\"a\": {\"type\": \"noul\", \"instructions\": \"Good?\"}}') FROM t",
    "SELECT i FROM t WHERE llm_filter('Is {} good?', body) LIMIT 1",
    "SELECT i FROM t WHERE llm_filter('Is {} good?', body) AND llm('{}?', body) = 'x'",
    "SELECT llm_agg('All: {}', body) FROM t",
    "SELECT llm_agg('All: {}', body ORDER BY i DESC) FROM t",
    "SELECT llm_agg('All: {}', body) FILTER (i > 1) OVER (PARTITION BY i) FROM t",
    "SELECT * FROM text2sql('Which bodies are there?')",
    "SELECT text2sql_query('Which bodies are there?')",
    "EXPLAIN SELECT llm_agg('All: {}', body ORDER BY i) FROM t",
    "SELECT function, rows, failed_rows FROM llm_queries() ORDER BY ALL",
    "SELECT function, kind FROM llm_errors()",
    "SELECT stage FROM llm_steps() ORDER BY ALL",
)  # fmt: skip

PUT_IN = "put_in"


def answered(prompt: str, submission: Submission) -> str | Failure:
    return "SELECT body FROM t" if "bodies are there" in prompt else by_hash(prompt, submission)


@pytest.fixture(scope="module")
def hostile_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stranger") / "hostile.duckdb"
    write_hostile(path, TABLES)
    return path


@pytest.fixture
def both(hostile_file: Path, tmp_path: Path) -> Iterator[tuple[relserve.Connection, relserve.Connection]]:
    """A connection to the stranger's file, and one to a file with the same table alone."""
    shutil.copy(hostile_file, tmp_path / "t.duckdb")
    (tmp_path / "plain").mkdir()
    with duckdb.connect(tmp_path / "plain" / "t.duckdb") as con:
        con.execute(TABLES)
    opened = [
        relserve.connect(path, engine=ScriptedEngine(script=answered), cache=False, progress=False)
        for path in (tmp_path / "t.duckdb", tmp_path / "plain" / "t.duckdb")
    ]
    yield opened[0], opened[1]
    for con in opened:
        con.close()


@pytest.mark.long
def test_every_function_answers_as_in_a_file_without_such_macros(
    both: tuple[relserve.Connection, relserve.Connection],
) -> None:
    hostile, plain = both
    for sql in STATEMENTS:
        assert hostile.execute(sql).fetchall() == plain.execute(sql).fetchall(), sql


def test_views_transactions_prepared_statements_and_relations_do_too(
    both: tuple[relserve.Connection, relserve.Connection],
) -> None:
    said = []
    for con in both:
        con.execute("CREATE VIEW sums AS SELECT llm_agg('All: {}', body ORDER BY i) AS a FROM t")
        con.execute("BEGIN")
        rows = [con.execute("FROM sums").fetchall()]
        con.execute("COMMIT")
        con.execute("PREPARE p AS SELECT llm('Say {}', body) FROM t")
        rows += [con.execute("EXECUTE p").fetchall(), con.describe("EXECUTE p").columns]
        rows.append(con.describe("SELECT llm('{}', body, max_tokens := $1) FROM t WHERE body = $2"))
        rows.append(con.describe("SELECT i FROM t WHERE body = $1 OFFSET $2"))
        relation = con.sql("SELECT body, i FROM t")
        options = {"choices": ["good", "bad"], "name": "mood"}
        rows.append(relserve.llm_classify(relation, "{body} of {i}", **options).fetchall())
        rows.append(str(con.explain_llm("SELECT llm('{}', body) FROM t WHERE llm_filter('{}?', body)")))
        rows.append(con.cursor().execute("SELECT llm('{}', body) FROM t").fetchall())
        said.append(rows)
    assert said[0] == said[1]


def test_what_the_shell_and_text2sql_read_of_a_database_is_the_same(
    both: tuple[relserve.Connection, relserve.Connection],
) -> None:
    hostile, plain = (con.raw for con in both)
    assert read_names(hostile).tables == read_names(plain).tables != {}
    assert read_names(hostile).keywords == read_names(plain).keywords
    for query in (data_commands._TABLES, data_commands._SCHEMA):
        assert hostile.execute(query, ["%"]).fetchall() == plain.execute(query, ["%"]).fetchall() != []
    schema = read_schema(hostile)
    assert schema == read_schema(plain)
    assert database_version(hostile, schema).is_in_files


def test_another_users_macro_takes_neither_prompt_nor_key(tmp_path: Path) -> None:
    """The case that was shown: main.to_json of another user gave every llm() a model of theirs."""
    engine = ScriptedEngine(script=echo)
    con = relserve.connect(tmp_path / "shared.duckdb", engine=engine, cache=False, progress=False)
    other = con.cursor()
    other.execute("""CREATE MACRO to_json(x) AS '{"model": "http://127.0.0.1:9/v1"}'""")
    other.execute("CREATE MACRO __llm_connection() AS 7; CREATE MACRO struct_pack(x) AS x")
    values = ", ".join(f"a{i}" for i in range(9))
    udf = f"__llm_{con._functions._udfs.number}"
    other.raw.execute(f"CREATE MACRO {udf}(template, options, key, {values}) AS key::VARCHAR")
    assert con.execute("SELECT llm('Say {}', 'secret')").fetchall() == [("Say secret",)]
    assert engine.num_prompts == 1
    con.close()


def test_every_function_in_our_macros_has_its_catalog_and_schema() -> None:
    con = relserve.connect(model="scripted")
    macros = [*con._functions._macros]
    for major in (1, 2):
        macros += con.raw.extract_statements(start_up(Path("x"), major))[1:]  # the first one is LOAD
    con.close()
    assert len(macros) > 3 * 10
    for macro in macros:
        for path in _functions_of(_as_select(macro.query)):
            assert _is_ours(path), f"{path} in {macro.query}"


def test_every_function_in_a_stand_in_for_llm_agg_has_too() -> None:
    text = "SELECT llm_agg('J', DISTINCT x ORDER BY y) FILTER (z), llm_agg('K', x) OVER () FROM t"
    stand_in = aggregate_text(text, lambda item: "n")
    assert stand_in is not None
    found = list(_functions_of(stand_in.text))
    assert len(found) == 4
    assert all(map(_is_ours, found)), found


@pytest.mark.long
def test_every_sql_text_of_the_tree_names_functions_in_full() -> None:
    """Whatever may run on a user's connection; SQLite has no schemas of functions."""
    root = Path(relserve.__file__).parents[1]
    sqlite = {"relserve/cache/store.py", "relserve/text2sql/retrieval/value_table.py"}
    num_read, all_wrong = 0, []
    for folder in ("relserve", "duckdb_ext"):
        for path in sorted((root / folder).rglob("*.py")):
            if str(path.relative_to(root)) in sqlite:
                continue
            for text in _sql_texts(path.read_text("utf-8")):
                paths = list(_functions_of(text, lax=True))
                num_read += bool(paths)
                wrong = [each for each in paths if not _is_ours(each) and each != (PUT_IN,)]
                all_wrong += [f"{path.name}: {wrong} in {text}"] if wrong else []
    assert not all_wrong
    assert num_read > 25


def _as_select(create: str) -> str:
    """A CREATE MACRO as a SELECT of its parameters' defaults and its body."""
    form = r"(?s)\s*CREATE OR REPLACE TEMP MACRO (?P<head>\w+\(.*?\)) AS (?P<table>TABLE\s)?(?P<body>.*?);?"
    found = re.fullmatch(form, create)
    assert found is not None, create
    if found["table"]:
        return found["body"]
    return f"SELECT temp.main.{found['head']}, {found['body']}"


@cache
def parser() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def _functions_of(text: str, lax: bool = False) -> Iterator[tuple[str, ...]]:
    """The paths of all functions that a SELECT calls, `{..}` and operators among them.

    Args:
        lax: a text that is no whole SELECT has none.
    """
    (said,) = parser().execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchone() or ("",)
    tree = json.loads(said)
    assert lax or not tree["error"], (text, tree)
    yield from _paths(tree)


def _paths(node: Any) -> Iterator[tuple[str, ...]]:
    if isinstance(node, dict):
        if node.get("class") in ("FUNCTION", "WINDOW"):
            yield tuple(node["qualified_name"]["path"])
        for each in node.values():
            yield from _paths(each)
    elif isinstance(node, list):
        for each in node:
            yield from _paths(each)


def _is_ours(path: tuple[str, ...]) -> bool:
    """Whether nobody else can give a function this name; TEMP macros of ours are found before all others.

    The database _pg is attached read-only, and no text of a client's may name it.
    """
    is_macro_of_ours = path[-1].startswith(("llm", "text2sql")) and path[:-1] in ((), ("temp", "main"))
    sealed = (("system", "main"), ("temp", "main"), ("_pg", "own"))
    return is_macro_of_ours or (len(path) == 3 and path[:2] in sealed)


def _sql_texts(source: str) -> Iterator[str]:
    """Strings that begin as a query, with a name for what is put in."""
    tree = ast.parse(source)
    parts = {id(part) for each in ast.walk(tree) if isinstance(each, ast.JoinedStr) for part in each.values}
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value.replace("{}", PUT_IN)
        elif isinstance(node, ast.JoinedStr):
            pieces = (str(each.value) if isinstance(each, ast.Constant) else PUT_IN for each in node.values)
            text = "".join(pieces).replace("{}", PUT_IN)
        if re.match(r"\s*(SELECT|FROM|WITH|VALUES)\b", text):
            yield text
