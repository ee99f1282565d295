"""The parts of DuckDB's parse tree that a SELECT may have; what is not named here is refused."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Expressions: by their class, and by their type where a class holds more than one thing.
CLASSES = frozenset(
    "BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION LAMBDA OPERATOR "
    "POSITIONAL_REFERENCE STAR SUBQUERY TYPE WINDOW".split()
)
OPERATORS = frozenset(
    "ARRAY_EXTRACT ARRAY_SLICE ARRAY_CONSTRUCTOR STRUCT_EXTRACT COMPARE_IN COMPARE_NOT_IN GROUPING_FUNCTION "
    "OPERATOR_COALESCE OPERATOR_IS_NULL OPERATOR_IS_NOT_NULL OPERATOR_NOT OPERATOR_NULLIF OPERATOR_TRY "
    "OPERATOR_UNPACK".split()
)
# Queries, what stands in FROM, and what follows a query.
PARTS = frozenset(
    "SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE CTE_NODE "
    "BASE_TABLE EMPTY EXPRESSION_LIST JOIN PIVOT SUBQUERY TABLE_FUNCTION "
    "DISTINCT_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER ORDER_MODIFIER "
    "ASCENDING DESCENDING ORDER_DEFAULT".split()
)
_NAMED: Mapping[str, str] = MappingProxyType(
    {
        "INSERT_QUERY_NODE": "INSERT",
        "UPDATE_QUERY_NODE": "UPDATE",
        "DELETE_QUERY_NODE": "DELETE",
        "MERGE_QUERY_NODE": "MERGE",
        "COPY_QUERY_NODE": "COPY",
        "SHOW_REF": "DESCRIBE, SHOW or SUMMARIZE",
        "PARAMETER": "a parameter ($1 or ?)",
        "DEFAULT": "DEFAULT",
    }
)


def told(kind: str) -> str:
    """A kind of part in the words of SQL, for a message."""
    return _NAMED.get(kind, kind.replace("_", " ").lower())
