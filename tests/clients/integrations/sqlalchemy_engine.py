"""SQLAlchemy through duckdb-engine: text, expressions, parameters, transactions, pandas."""

import duckdb_engine
import pandas as pd
import sqlalchemy as sa
from shop import ASKS, asked, shop

con = shop()
right = con.execute(ASKS).fetchall()
engine = sa.create_engine("duckdb://", creator=lambda: duckdb_engine.ConnectionWrapper(con.cursor()))
beers = sa.table("beers", sa.column("id"), sa.column("name"))
with engine.connect() as connection:
    assert [tuple(row) for row in connection.execute(sa.text(ASKS))] == right
    called = sa.select(beers.c.id, sa.func.llm_filter("Is {} good?", beers.c.name)).order_by(beers.c.id)
    assert [tuple(row) for row in connection.execute(called)] == right
    counted = sa.text("SELECT count(llm('Say {name}', name)) FROM beers WHERE id < :most")
    assert connection.execute(counted, {"most": 4}).scalar() == 4
with engine.begin() as connection:
    connection.execute(sa.text(f"CREATE TABLE judged AS {ASKS}"))
assert pd.read_sql("SELECT count(*) AS n FROM judged", engine).n[0] == 9
assert sa.inspect(engine).get_table_names() == ["beers", "judged"]
assert asked(con) == [("llm_filter", 9)] * 3 + [("llm", 4), ("llm_filter", 9)]
print("ok")
