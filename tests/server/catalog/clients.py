"""A client as the catalog's tests see one, and tables for it."""

from typing import NamedTuple

import duckdb
import pyarrow as pa

from relserve.server.catalog import Catalog, attach_catalog

TABLES = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL DEFAULT 'x', email VARCHAR UNIQUE,
  CHECK (id > 0));
CREATE TABLE orders (id BIGINT, line SMALLINT, customer INTEGER REFERENCES customers (id),
  amount DECIMAL(10,2), doubled DECIMAL(11,2) GENERATED ALWAYS AS (amount * 2), tags VARCHAR[],
  placed TIMESTAMPTZ, PRIMARY KEY (id, line));
CREATE INDEX orders_amount ON orders (amount);
CREATE UNIQUE INDEX customers_lower ON customers (lower(name), id);
CREATE SEQUENCE numbers START 5;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE SCHEMA sales;
CREATE TABLE sales."Big Table" ("Key" INTEGER PRIMARY KEY, feeling mood);
CREATE VIEW names AS SELECT id, name FROM customers;
COMMENT ON TABLE customers IS 'who buys';
COMMENT ON COLUMN customers.name IS 'in full';
COMMENT ON VIEW names IS 'only names';
"""


class Client(NamedTuple):
    """A made-up client."""

    pid: int = 7
    user: str = "ann"
    is_admin: bool = False

    def setting(self, name: str) -> str | None:
        return {"server_version_num": "150000", "search_path": "main"}.get(name)


def no_one() -> pa.Table:
    """What a server without clients says of them."""
    return pa.table({"pid": pa.array([], pa.int32())})


def no_signal(connection: int, pid: int, kind: str) -> bool:
    """A server that stops nobody."""
    return False


def catalog_over(con: duckdb.DuckDBPyConnection) -> Catalog:
    """A catalog over the tables above."""
    con.execute(TABLES)
    attach_catalog(con)
    return Catalog(con, no_one, no_signal)
