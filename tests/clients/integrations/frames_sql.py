"""pandas.read_sql and polars.read_database on a connection."""

import warnings

import pandas as pd
import polars as pl
from shop import ASKS, asked, shop

con = shop()
right = con.execute(ASKS).fetchall()
warnings.filterwarnings("ignore", message="pandas only supports SQLAlchemy connectable")
assert list(pd.read_sql(ASKS, con).itertuples(index=False, name=None)) == right
assert [len(chunk) for chunk in pd.read_sql(ASKS, con, chunksize=4)] == [4, 4, 1]
one = "SELECT llm('Say {name}', name) AS said FROM beers WHERE id = ?"
assert pd.read_sql(one, con, params=[3]).shape == (1, 1)
assert pl.read_database(ASKS, con).rows() == right
assert pl.read_database(one, con, execute_options={"parameters": [3]}).shape == (1, 1)
assert sum(len(part) for part in pl.read_database(ASKS, con, iter_batches=True, batch_size=4)) == 9
assert asked(con) == [("llm_filter", 9)] * 3 + [("llm", 1)] + [
    ("llm_filter", 9),
    ("llm", 1),
    ("llm_filter", 9),
]
print("ok")
