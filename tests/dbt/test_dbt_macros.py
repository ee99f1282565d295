"""What the macros write is what was meant, whatever quotes names and expressions have: on a real DuckDB."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import relserve

jinja2 = pytest.importorskip("jinja2", reason="jinja2 comes with mkdocs")

MACROS = Path(relserve.__file__).parent / "dbt" / "project" / "macros"
ODD = """it's "odd"; $relserve$"""
TABLE = 'main."o\'clock"'


def rendered(call: str, **names: Any) -> str:
    """What a call of a macro writes, as dbt renders it: the package's macros are found by its name."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(MACROS.glob("*.sql")))
    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    package = SimpleNamespace()
    module = environment.from_string(text, globals={**names, "relserve": package}).module
    for name in ("llm_columns", "new_or_changed", "hash_of", "text", "quoted"):
        setattr(package, name, getattr(module, name))
    return environment.from_string("{{ " + call + " }}", globals={"relserve": package}).render()


@pytest.mark.parametrize("full", [False, True])
def test_columns_with_quotes_are_made_as_they_are_written(full: bool) -> None:
    expression = """llm('Is it "{a}"? It''s $relserve$', a)"""
    model = SimpleNamespace(config=SimpleNamespace(meta=SimpleNamespace(llm_columns={ODD: expression})))
    flags = SimpleNamespace(FULL_REFRESH=full)
    sql = rendered("relserve.llm_columns()", model=model, this=TABLE, flags=flags)
    with relserve.connect(model="scripted", progress=False) as con:
        con.execute(f"CREATE TABLE {TABLE} AS SELECT 'x' AS a")
        con.execute(sql)
        quoted = '"' + ODD.replace('"', '""') + '"'
        assert con.execute(f"SELECT {quoted} FROM {TABLE}").fetchall() == con.execute(
            f"SELECT {expression} FROM (SELECT 'x' AS a)"
        ).fetchall()


def test_rows_are_new_or_changed_by_columns_with_quotes() -> None:
    call = f"relserve.new_or_changed([{ODD!r}], answer={ODD!r})"
    condition = rendered(call, this="t", is_incremental=lambda: True)
    quoted = '"' + ODD.replace('"', '""') + '"'
    with relserve.connect(model="scripted", progress=False) as con:
        con.execute(f"CREATE TABLE t AS SELECT 'old' AS {quoted}")
        rows = con.execute(f"SELECT {quoted} FROM (VALUES ('old'), ('new')) s({quoted}) WHERE {condition}")
        assert rows.fetchall() == [("new",)]
