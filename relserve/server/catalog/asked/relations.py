"""Relations of pg_catalog and information_schema."""

import re

from sqlglot import exp

from relserve.server.catalog.asked.asked import CatalogContext
from relserve.server.catalog.build import DATABASE

_PLACE = re.compile(r"\((\d+),0\)")  # the page of a ctid, before its first row
_PAGE_ROWS = 1 << 16
_LAST_PAGE = 2**32 - 1


def shorten_columns(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """pg_catalog.pg_class.relname becomes pg_class.relname, for the relation moves elsewhere."""
    for column in tree.find_all(exp.Column):
        if column.db.lower() in ("pg_catalog", "information_schema"):
            column.set("db", None)
    return tree


def write_table_oids(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """c.tableoid is the oid of the catalog that c is."""
    for column in list(tree.find_all(exp.Column)):
        if column.name.lower() == "tableoid":
            oid = asked.names.oids.get(_relation_of(column))
            if oid is not None:
                number = exp.Literal.number(oid)
                shown = isinstance(column.parent, exp.Select)
                column.replace(exp.alias_(number, "tableoid") if shown else number)
    return tree


def read_pages_by_rowid(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """ctid BETWEEN '(a,0)'::tid AND '(b,0)'::tid is a range of rowid; all pages are all rows.

    So DuckDB's extension for PostgreSQL reads a table, in parts if it is large.
    """
    for between in list(tree.find_all(exp.Between)):
        places = [_PLACE.fullmatch(between.args[end].name) for end in ("low", "high")]
        if between.this.name.lower() == "ctid" and places[0] and places[1]:
            first, last = (int(place[1]) for place in places if place)
            rowid = exp.column("rowid")
            bounds: list[exp.Binary] = [rowid >= first * _PAGE_ROWS] if first else []
            bounds += [rowid < last * _PAGE_ROWS] if last < _LAST_PAGE else []
            between.replace(exp.paren(exp.and_(*bounds)) if bounds else exp.true())
    return tree


def read_the_catalogs(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """A relation of PostgreSQL's catalogs is read in `_pg`, under the name that the text knows it by."""
    for table, schema in catalog_tables(tree, asked):
        _move(table, exp.Anonymous(this=f'"{table.name.lower()}"'), schema)
    return tree


def catalog_tables(tree: exp.Expression, asked: CatalogContext) -> list[tuple[exp.Table, str]]:
    """The tables of a text that are relations of PostgreSQL's catalogs, each with its schema in `_pg`."""
    tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    bare = frozenset(t.name.lower() for t in tables if not t.db) & asked.names.catalog
    own = asked.users_own(bare) if bare else bare
    spared = own.union(cte.alias.lower() for cte in tree.find_all(exp.CTE))
    found = ((table, _schema(table, asked, spared)) for table in tables)
    return [(table, schema) for table, schema in found if schema is not None]


def call_as_table(table: exp.Table, function: str, arguments: list[exp.Expression]) -> None:
    """Put a table function of `_pg` in a table's place."""
    _move(table, exp.Anonymous(this=function, expressions=arguments), "cat")


def _schema(table: exp.Table, asked: CatalogContext, spared: frozenset[str]) -> str | None:
    name, schema = table.name.lower(), table.db.lower()
    if schema == "information_schema":
        return "info" if name in asked.names.standard else None
    if schema == "pg_catalog":
        return "cat" if name in asked.names.catalog else None
    return "cat" if not schema and name in asked.names.catalog - spared else None


def _move(table: exp.Table, this: exp.Expression, schema: str) -> None:
    if not table.alias:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
    table.set("this", this)
    table.set("db", exp.to_identifier(schema))
    table.set("catalog", exp.to_identifier(DATABASE))


def _relation_of(column: exp.Column) -> str:
    """The relation that a column's table name stands for, in the nearest query that has one of that name."""
    select = column.find_ancestor(exp.Select)
    while select is not None:
        sources = [select.args.get("from_"), *(select.args.get("joins") or [])]
        tables = [
            source.this for source in sources if source is not None and isinstance(source.this, exp.Table)
        ]
        meant = [
            t for t in tables if column.table in (t.alias_or_name, "") and t.db.lower() in ("", "pg_catalog")
        ]
        if meant:
            return str(meant[0].name.lower())
        select = select.find_ancestor(exp.Select)
    return ""
