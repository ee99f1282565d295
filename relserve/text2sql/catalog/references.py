"""References that nobody declared, told from names, types and the rows of the key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relserve.linking.schema import Reference
from relserve.linking.words import identifier_words, stem
from relserve.text2sql.catalog.relations import CatalogRelation, ColumnFacts

IsUnique = Callable[[CatalogRelation, str], bool]
_KEY_WORDS = frozenset({"id", "key", "code", "no", "nr", "number"})


def inferred_references(
    relations: Sequence[CatalogRelation], is_unique: IsUnique
) -> dict[tuple[int, str], Reference]:
    """References by name: `brewery_id`, or `brewery`, to the key of a table brewery or breweries.

    Only where exactly one column can be meant, of the same type and unique in its table; views have no
    declared keys, nor have tables made from files.

    Args:
        is_unique: tells whether a column that no constraint covers is unique in its rows.

    Returns:
        By position of the relation and name of the column.
    """
    found = {}
    for at, relation in enumerate(relations):
        for column in relation.columns:
            if column.name in relation.foreign or column.name in relation.key:
                continue
            keys = [
                (other, key)
                for other in relations
                if other is not relation
                for key in _keys(column, other)
                if key.name in other.unique or other.key == (key.name,) or is_unique(other, key.name)
            ]
            if len(keys) == 1:
                ((other, key),) = keys
                found[at, column.name] = Reference(other.name, key.name)
    return found


def _keys(column: ColumnFacts, other: CatalogRelation) -> list[ColumnFacts]:
    """The columns of another relation that this one's name may mean."""
    words = _stems(column.name)
    entity = words[:-1] if len(words) > 1 and words[-1] in _KEY_WORDS else words
    if entity != _stems(other.name):
        return []
    same_type = [each for each in other.columns if each.sql_type == column.sql_type]
    return [each for each in same_type if _is_key(each, column, other)]


def _is_key(key: ColumnFacts, column: ColumnFacts, other: CatalogRelation) -> bool:
    """Whether the key's name can be meant: the declared key, the same name, `id`, or `brewery_id`."""
    if other.key:
        return other.key == (key.name,)
    return _stems(key.name) in (_stems(column.name), ("id",), (*_stems(other.name), "id"))


def _stems(name: str) -> tuple[str, ...]:
    return tuple(map(stem, identifier_words(name)))
