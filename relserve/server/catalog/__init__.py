"""What PostgreSQL has and DuckDB has not: its catalog, its functions over it, and its words."""

from relserve.server.catalog.activity import Signal
from relserve.server.catalog.attached import attach_catalog
from relserve.server.catalog.catalog import Catalog
from relserve.server.catalog.facts import Facts

__all__ = ["Catalog", "Facts", "Signal", "attach_catalog"]
