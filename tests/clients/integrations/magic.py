"""`%load_ext relserve` in IPython: the line and the cell magic, their options and their mistakes."""

import contextlib
import io
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
from IPython.core.interactiveshell import InteractiveShell
from shop import ASKS, asked, shop

from relserve.errors import UsageError

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "relserve")
line, cell = shell.run_line_magic, shell.run_cell_magic


def refused(kind, magic, *args):
    try:
        magic("relserve", *args)
    except kind as error:
        return str(error)
    raise AssertionError(f"not refused: {args}")


# a connection of the notebook's, once for each question
con = shop()
right = con.execute(ASKS).fetchall()
shell.user_ns["con"] = con
assert cell("relserve", "--con con", ASKS).fetchall() == right
assert asked(con) == [("llm_filter", 9)] * 2
assert cell("relserve", "--out judged", ASKS) is None
assert isinstance(shell.user_ns["judged"], pa.Table)
assert shell.user_ns["judged"].column("good").to_pylist() == [good for _, good in right]

# the notebook's frames are tables, a line is a statement, and a statement may give nothing
shell.user_ns["drinks"] = pd.DataFrame({"name": ["ale", "stout"]})
said = cell("relserve", "", "SELECT name, llm('Say {name}', name) AS said FROM drinks")
assert [name for name, _ in said.fetchall()] == ["ale", "stout"]
assert cell("relserve", "", "CREATE SCHEMA old") is None
assert cell("relserve", "", "CREATE TABLE kept AS FROM beers").fetchall() == [(9,)]
assert cell("relserve", "", "SELECT name AS Count FROM kept WHERE id < 0").columns == ["Count"]
assert "beer 3" in repr(cell("relserve", "", "FROM kept ORDER BY id"))

# a chart below the question, as `relserve sql --chart` draws it
with contextlib.redirect_stdout(io.StringIO()) as drawn:
    cell(
        "relserve",
        "--chart",
        "SELECT 'style ' || style AS style, count(*) AS beers FROM beers GROUP BY ALL ORDER BY 1",
    )
assert "beers by style" in drawn.getvalue()
assert "style 2" in drawn.getvalue()

# a file, which the next connection closes
assert line("relserve", "--db shop.db --model scripted") is None
assert Path("shop.db").exists()
cell("relserve", "", "CREATE TABLE reviews AS SELECT 1 AS id, 'fine' AS review")
assert len(cell("relserve", "", "SELECT llm_filter('Good? {review}', review) FROM reviews").fetchall()) == 1
refused(duckdb.IOException, line, "--db no/such/folder/shop.db")
assert cell("relserve", "", "SELECT review FROM reviews").fetchall() == [("fine",)]
line("relserve", "--model scripted")
with duckdb.connect("shop.db") as plain:
    assert plain.execute("SELECT review FROM reviews").fetchone() == ("fine",)

assert "--con nothing is no connection" in refused(UsageError, line, "--con nothing")
assert "unrecognized arguments: --chrat" in refused(UsageError, cell, "--chrat", "SELECT 1")
assert "below %%relserve" in refused(UsageError, line, "SELECT 1")
assert "neither --db nor --model" in refused(UsageError, line, "--con con --db x.db")
assert "beerz" in refused(duckdb.Error, cell, "", "FROM beerz")
print("ok")
