"""The beer table and the paper's classify template, as several benchmarks use them."""

from __future__ import annotations

import json

from benchmarks.common import data_folder
from relserve.api import Connection

CHOICES = ("negative", "positive", "neutral")


def create_beer_table(con: Connection) -> int:
    """Create table `beer` (id, name, style, abv, overall, review) in file order; gives its row count."""
    path = data_folder() / "tables" / "beer.csv"
    con.raw.execute(
        'CREATE TABLE beer AS SELECT row_number() OVER () AS id, "beer/name" AS name, "beer/style" AS style, '
        '"beer/ABV" AS abv, "review/overall" AS overall, "review/text" AS review '
        f"FROM read_csv('{path}', header = true, all_varchar = true, parallel = false)"
    )
    return int(con.raw.execute("SELECT count(*) FROM beer").fetchall()[0][0])


def classify_template() -> str:
    """RelServe's template for sentiment on the beer table, over our column name."""
    templates = json.loads((data_folder() / "relquery_templates.json").read_text(encoding="utf-8"))
    return str(templates["templates"]["beer"]["classify"]).replace("{review/text}", "{review}")


def classify_call() -> str:
    """The SQL call that puts that template to the column `review`."""
    return f"llm_classify({quoted(classify_template())}, review, choices := {list(CHOICES)})"


def quoted(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"
