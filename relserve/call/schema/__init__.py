"""What llm_extract may find: DuckDB types as JSON schemas, and the check that a reply's values fit them."""

from relserve.call.schema.schema_text import SCHEMA_EXAMPLE, number_of, schema_text_of, shape_of
from relserve.call.schema.shape import Misfit, SchemaShape

__all__ = ["SCHEMA_EXAMPLE", "Misfit", "SchemaShape", "number_of", "schema_text_of", "shape_of"]
