"""DuckDB relations: the answers are one more column of the relation."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
from relserve_duckdb.text.call_limits import MAX_VALUES
from relserve_duckdb.user.relation import Relation

from relserve.call.options import FUNCTIONS
from relserve.call.template import Template
from relserve.errors import UsageError
from relserve.frames.arrow_frames import ArrowFrame
from relserve.frames.call import Answered, Call
from relserve.linking.schema import literal, quoted


def add_in_sql(relation: Relation, call: Call) -> Any:
    """A relation of ours with a column of answers: plain SQL, so it runs when and where the relation does.

    Raises:
        UsageError: an engine, progress or cache of its own, or a column of this name.
    """
    if call.engine is not None or call.progress is not None or not call.cache:
        raise UsageError(
            "engine=, progress= and cache= belong to the relation's connection: relserve.connect(..)"
        )
    names = list(relation.columns)
    _refuse_taken(call.name, names)
    picked = call.picked(names)
    template = Template.parse(call.template)
    values = [quoted(names[i]) for i in picked]
    is_struct = len(picked) == 1 and str(relation.types[picked[0]]).startswith("STRUCT")
    if template.names and (is_struct or len(values) > MAX_VALUES):
        # a lone STRUCT would be taken for a whole row; and a whole row may have any number of fields
        pairs = zip(template.names, values, strict=True)
        values = [_struct(dict(pairs))]
    options = [f"{name} := {_literal(_as_option(name, value))}" for name, value in call.given.items()]
    asked = [] if FUNCTIONS[call.function].template else [_literal(call.template)]
    arguments = ", ".join([*asked, *values, *options])
    return relation.project(f"*, {call.function}({arguments}) AS {quoted(call.name)}")


def add_at_once(relation: duckdb.DuckDBPyRelation, call: Call, cancel: threading.Event | None) -> Answered:
    """A relation of plain DuckDB, whose connection knows no llm(): read, answered, and a relation again."""
    _refuse_taken(call.name, relation.columns)
    call.picked(relation.columns)  # a mistake is told before the relation is read
    table = relation.to_arrow_table()
    column, told = call.ask(ArrowFrame(table), cancel)
    answered = table.append_column(call.name, column)  # noqa: F841 (DuckDB finds it by name)
    return Answered(relation.query("relation", "SELECT * FROM answered"), told)


def _refuse_taken(name: str, names: Sequence[str]) -> None:
    if name.lower() in {each.lower() for each in names}:
        raise UsageError(f"the relation has a column {name!r} already; give the answers another with name=")


def _struct(fields: Mapping[str, str]) -> str:
    """A STRUCT of expressions; not `{..}`, which a macro of the database's own could give another meaning."""
    named = ", ".join(f"{quoted(name)} := {value}" for name, value in fields.items())
    return f"system.main.struct_pack({named})"


def _as_option(name: str, value: Any) -> Any:
    """An option's value as SQL takes it: typed questions as JSON, for they may differ in their fields."""
    return json.dumps(value) if name == "questions" and not isinstance(value, str) else value


def _literal(value: Any) -> str:
    """An option's value, or text, in SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, Mapping):
        return _struct({str(key): _literal(each) for key, each in value.items()})
    if isinstance(value, (list, tuple)):
        return f"system.main.list_value({', '.join(map(_literal, value))})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return literal(str(value))
