"""What the rules of translation are told."""

from collections.abc import Callable
from typing import NamedTuple

from relserve.server.catalog.attached import CatalogNames
from relserve.server.catalog.facts import Facts


class CatalogContext(NamedTuple):
    """The catalog's names, which of some names are the users' own, and the client, if known."""

    names: CatalogNames
    users_own: Callable[[frozenset[str]], frozenset[str]]
    facts: Facts | None = None
