"""JupySQL in IPython: %sql and %%sql with a connection, a DataFrame, a plot."""

import matplotlib
from IPython.core.interactiveshell import InteractiveShell
from shop import ASKS, asked, shop

matplotlib.use("Agg")
con = shop()
right = con.execute(ASKS).fetchall()
shell = InteractiveShell.instance()
shell.user_ns["con"] = con
shell.run_line_magic("load_ext", "sql")
shell.run_line_magic("sql", "con --alias shop")
found = shell.run_cell_magic("sql", "", ASKS)
assert [tuple(row) for row in found] == right
assert asked(con) == [("llm_filter", 9)] * 2
shell.run_line_magic("config", "SqlMagic.autopandas = True")
frame = shell.run_cell_magic(
    "sql", "", "SELECT llm_classify('{name}', name, choices := ['x', 'y']) AS c FROM beers"
)
assert len(frame) == 9
assert asked(con)[2:] == [("llm_classify", 9)] * 2  # JupySQL runs the statement once more for the frame
shell.run_cell_magic("sql", "", f"CREATE TABLE judged AS {ASKS}")
axes = shell.run_line_magic("sqlplot", "bar --table judged --column good")
assert len(axes.patches) == len({good for _, good in right})  # a bar each
print("ok")
