"""SQLAlchemy 2 with one of its drivers: reflection of tables, keys, views, indexes, comments and enums."""

from __future__ import annotations

import os
import sys
from typing import Any

import sqlalchemy as sa

from tests.clients.bi.programs.checks import Checks

DRIVER = sys.argv[1]


def engine() -> sa.Engine:
    """One with the environment's place."""
    return sa.create_engine(
        sa.URL.create(
            f"postgresql+{DRIVER}",
            os.environ["PGUSER"],
            os.environ["PGPASSWORD"],
            os.environ["PGHOST"],
            int(os.environ["PGPORT"]),
            os.environ["PGDATABASE"],
        )
    )


checks = Checks(connect=engine, close=lambda engine: engine.dispose())
TABLES = ("customers", "orders", "order_lines", "all_types")


def each_table(ask: str) -> None:
    """A check that asks the inspector about each table."""

    def check(engine: sa.Engine) -> Any:
        inspector = sa.inspect(engine)
        return {name: _texts(getattr(inspector, ask)(name, schema="main")) for name in TABLES}

    checks.add(ask, check)


def _texts(told: Any) -> Any:
    """Types as their SQL text, and lists of records in one order."""
    if isinstance(told, list):
        texts = [_texts(each) for each in told]
        return sorted(texts, key=str) if told and isinstance(told[0], dict) else texts
    if isinstance(told, dict):
        return {key: _texts(value) for key, value in told.items()}
    return told if told is None or isinstance(told, (str, bool, int)) else f"{type(told).__name__} {told}"


for ask in (
    "get_columns", "get_pk_constraint", "get_foreign_keys", "get_indexes", "get_unique_constraints",
    "get_check_constraints", "get_table_comment", "get_table_options",
):  # fmt: skip
    each_table(ask)


@checks
def names(engine: sa.Engine) -> Any:
    inspector = sa.inspect(engine)
    return {
        "schema": inspector.default_schema_name, "schemas": inspector.get_schema_names(),
        "tables": sorted(inspector.get_table_names()), "views": inspector.get_view_names(),
        "sequences": inspector.get_sequence_names(), "materialized": inspector.get_materialized_view_names(),
        "temporary": inspector.get_temp_table_names(),
    }  # fmt: skip


@checks
def has_table(engine: sa.Engine) -> Any:
    inspector = sa.inspect(engine)
    return [inspector.has_table(name) for name in ("orders", "big_orders", "no_such_table")]


@checks
def has_others(engine: sa.Engine) -> Any:
    inspector = sa.inspect(engine)
    return (
        inspector.has_sequence("ticket"),
        inspector.has_schema("main"),
        inspector.has_index("orders", "orders_ts"),
    )


@checks
def enums(engine: sa.Engine) -> Any:
    return sa.inspect(engine).get_enums()


@checks
def domains(engine: sa.Engine) -> Any:
    return sa.inspect(engine).get_domains()


@checks
def view_definition(engine: sa.Engine) -> Any:
    return " ".join(sa.inspect(engine).get_view_definition("big_orders").split())


@checks
def view_columns(engine: sa.Engine) -> Any:
    return _texts(sa.inspect(engine).get_columns("big_orders")), sa.inspect(engine).get_table_comment(
        "big_orders"
    )


@checks
def no_such_table(engine: sa.Engine) -> Any:
    try:
        sa.inspect(engine).get_columns("no_such_table")
    except sa.exc.NoSuchTableError as error:
        return str(error)


@checks
def reflect_all(engine: sa.Engine) -> Any:
    metadata = sa.MetaData()
    metadata.reflect(engine, views=True)
    return {
        name: [(c.name, str(c.type), c.nullable, c.primary_key) for c in t.c]
        for name, t in metadata.tables.items()
    }


@checks
def reflected_keys(engine: sa.Engine) -> Any:
    table = sa.Table("order_lines", sa.MetaData(), autoload_with=engine)
    return (
        [c.name for c in table.primary_key],
        [str(k.column) for k in table.foreign_keys],
        table.c.quantity.server_default.arg.text,
    )


@checks
def join_of_reflected(engine: sa.Engine) -> Any:
    """The join's condition comes from the reflected foreign key."""
    metadata = sa.MetaData()
    metadata.reflect(engine, only=["orders", "customers"])
    orders, customers = metadata.tables["orders"], metadata.tables["customers"]
    asked = sa.select(customers.c.name, sa.func.sum(orders.c.amount)).join(orders).group_by(customers.c.name)
    with engine.connect() as con:
        return con.execute(asked.order_by(customers.c.name).limit(3)).all()


def orders_table(engine: sa.Engine) -> sa.Table:
    """Reflected."""
    return sa.Table("orders", sa.MetaData(), autoload_with=engine)
