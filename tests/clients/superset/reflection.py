"""What SQLAlchemy reflects of a schema, as JSON; runs in Superset's environment, with its SQLAlchemy 1.4.

Names of constraints are left out: nobody gave them, so each server makes up its own.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import sqlalchemy


def table(inspector: Any, name: str, schema: str) -> dict[str, Any]:
    """Columns, keys, indexes and comment of a table."""
    columns = [
        [column["name"], str(column["type"]), column["nullable"], column["comment"]]
        for column in inspector.get_columns(name, schema)
    ]
    references = [
        [key["constrained_columns"], key["referred_table"], key["referred_columns"]]
        for key in inspector.get_foreign_keys(name, schema)
    ]
    indexes = [
        [index["name"], index["column_names"], index["unique"]]
        for index in inspector.get_indexes(name, schema)
    ]
    return {
        "columns": columns,
        "primary key": inspector.get_pk_constraint(name, schema)["constrained_columns"],
        "foreign keys": references,
        "indexes": indexes,
        "comment": inspector.get_table_comment(name, schema)["text"],
    }


def main(uri: str, schema: str) -> None:
    """Print the tables of a schema, and its views' names."""
    inspector = sqlalchemy.inspect(sqlalchemy.create_engine(uri))
    tables = {name: table(inspector, name, schema) for name in sorted(inspector.get_table_names(schema))}
    sys.stdout.write(json.dumps({"tables": tables, "views": inspector.get_view_names(schema)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
