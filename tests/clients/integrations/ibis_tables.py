"""ibis: expressions and SQL with llm functions."""

import warnings

import ibis
from shop import ASKS, asked, shop

warnings.filterwarnings("ignore", message=".*infer_string")
con = shop()
right = con.execute(ASKS).fetchall()
db = ibis.duckdb.from_connection(con)
beers = db.table("beers")
assert "beers" in db.list_tables()
assert db.sql(ASKS).to_pyarrow().to_pylist() == [{"id": i, "good": good} for i, good in right]


@ibis.udf.scalar.builtin
def llm_filter(template: str, value: str) -> bool:
    """relserve's, which DuckDB calls."""


good = beers.filter(llm_filter("Is {} good?", beers.name)).order_by("id")
assert good.id.to_pyarrow().to_pylist() == [i for i, is_good in right if is_good]
assert good.count().execute() == sum(is_good for _, is_good in right)
assert sum(batch.num_rows for batch in db.sql(ASKS).to_pyarrow_batches(chunk_size=4)) == 9
judged = db.create_table("judged", beers.mutate(good=llm_filter("Is {} good?", beers.name)))
assert judged.good.sum().execute() == sum(is_good for _, is_good in right)
assert set(asked(con)) == {("llm_filter", 9)}
print("ok")
