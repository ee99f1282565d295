"""PostgreSQL 15's own data: the relations of its two catalogs, its types, and what else never changes."""

import csv
from importlib.resources import files
from typing import NamedTuple

_DATA = files("relserve.server.catalog").joinpath("data")
_DUCKDBS = {
    "oid": "OID", "int8": "BIGINT", "int4": "INTEGER", "int2": "SMALLINT", "bool": "BOOLEAN",
    "float4": "FLOAT", "float8": "DOUBLE", "numeric": "DECIMAL(38,0)", "timestamptz": "TIMESTAMPTZ",
    "interval": "INTERVAL", "bytea": "BLOB", "xid": "BIGINT", "int2vector": "SMALLINT[]",
    "oidvector": "OID[]",
}  # fmt: skip


class CatalogColumn(NamedTuple):
    """A column of a catalog: its name, PostgreSQL's type of it, and whether it is never NULL."""

    name: str
    typname: str
    is_never_null: bool

    @property
    def duckdb_type(self) -> str:
        """The DuckDB type that stands for PostgreSQL's; what DuckDB has not is text."""
        if self.typname.startswith("_"):
            return _DUCKDBS.get(self.typname[1:], "VARCHAR") + "[]"
        return _DUCKDBS.get(self.typname, "VARCHAR")


class CatalogShape(NamedTuple):
    """A relation of pg_catalog or information_schema."""

    schema: str
    name: str
    oid: int
    kind: str
    columns: tuple[CatalogColumn, ...]


def read_shapes() -> tuple[CatalogShape, ...]:
    """Every relation of PostgreSQL 15's two catalogs."""
    return tuple(
        CatalogShape(row["schema"], row["relation"], int(row["oid"]), row["kind"], _columns(row["columns"]))
        for row in read_rows("shapes")
    )


def read_rows(name: str) -> list[dict[str, str]]:
    """The rows of one of the package's tables."""
    return list(csv.DictReader(_DATA.joinpath(f"{name}.csv").read_text("utf-8").splitlines()))


def _columns(text: str) -> tuple[CatalogColumn, ...]:
    pairs = [word.removesuffix("!").split(":") for word in text.split(" ")]
    return tuple(
        CatalogColumn(name, typname, word.endswith("!"))
        for (name, typname), word in zip(pairs, text.split(" "), strict=True)
    )
