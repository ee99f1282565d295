"""Relations of pg_catalog and information_schema."""

from sqlglot import exp

from relserve.server.catalog.asked.asked import Asked
from relserve.server.catalog.build import DATABASE


def shorten_columns(tree: exp.Expression, asked: Asked) -> exp.Expression:
    """pg_catalog.pg_class.relname becomes pg_class.relname, for the relation moves elsewhere."""
    for column in tree.find_all(exp.Column):
        if column.db.lower() in ("pg_catalog", "information_schema"):
            column.set("db", None)
    return tree


def read_the_catalogs(tree: exp.Expression, asked: Asked) -> exp.Expression:
    """A relation of PostgreSQL's catalogs is read in `_pg`, under the name that the text knows it by."""
    tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    bare = frozenset(t.name.lower() for t in tables if not t.db) & asked.names.catalog
    spared = frozenset(cte.alias.lower() for cte in tree.find_all(exp.CTE)) | (
        asked.users_own(bare) if bare else bare
    )
    for table in tables:
        schema = _schema(table, asked, spared)
        if schema is not None:
            _move(table, schema)
    return tree


def leave_out_partitions(tree: exp.Expression, asked: Asked) -> exp.Expression:
    """Nothing is a partition in DuckDB, so that no relation has ancestors, whose triggers psql asks."""
    nothing = exp.select(exp.alias_("NULL", "relid"), exp.alias_("NULL", "depth")).where(exp.false())
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, exp.Anonymous) and table.this.name.lower() == "pg_partition_ancestors":
            table.replace(exp.Subquery(this=nothing.copy(), alias=table.args.get("alias")))
    return tree


def _schema(table: exp.Table, asked: Asked, spared: frozenset[str]) -> str | None:
    name, schema = table.name.lower(), table.db.lower()
    if schema == "information_schema":
        return "info" if name in asked.names.standard else None
    if schema == "pg_catalog":
        return "cat" if name in asked.names.catalog else None
    return "cat" if not schema and name in asked.names.catalog - spared else None


def _move(table: exp.Table, schema: str) -> None:
    if not table.alias:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
    table.set("this", exp.to_identifier(table.name.lower(), quoted=True))
    table.set("db", exp.to_identifier(schema))
    table.set("catalog", exp.to_identifier(DATABASE))
