"""Schema selection: the tables and columns that a question may be about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relserve.linking.handles import MAX_COLUMNS, MAX_TABLES
from relserve.linking.schema import Schema
from relserve.text2sql.cases.case import QuestionCase
from relserve.text2sql.cases.tools import StagePrompt, Tools
from relserve.text2sql.prompts.replies import json_in
from relserve.text2sql.prompts.schema_text import schema_text
from relserve.text2sql.prompts.texts import template_of
from relserve.text2sql.stages.narrowing import best_tables, column_scores, connected, part_of
from relserve.text2sql.stages.shown import question_values

SMALL_CHARS = 12_000  # a schema whose text is no longer passes whole
MOST_TABLES, MOST_COLUMNS = 20, 200  # that code leaves of a larger one
MAX_TOKENS = 512
STAGE = "schema_selection"


def schema_selection(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Leave a small schema whole; of a large one code takes what a question marks, then the model chooses.

    Keys stay, and so do tables and columns that join those chosen.
    """
    for case in cases:
        if not case.schema.tables:
            case.fail(STAGE, "there is no table to look at; name others by tables or schema")
    open_cases = [case for case in cases if case.failure is None]
    large = [case for case in open_cases if not _is_small(case.schema, tools.points)]
    tools.each(STAGE, large, lambda case: _preselect(case, tools))
    if tools.options.work.asks_schema and not tools.points:
        _ask([case for case in large if case.failure is None], tools)


def _is_small(schema: Schema, for_handles: bool) -> bool:
    if for_handles:
        return len(schema.tables) <= MAX_TABLES and len(schema.columns) <= MAX_COLUMNS
    return len(schema_text(schema)) <= SMALL_CHARS


def _preselect(case: QuestionCase, tools: Tools) -> None:
    """Take the tables that the question marks, and those that join them."""
    text = " ".join((case.question, case.evidence or "", *case.keywords))
    scores = column_scores(case.schema, text, tools.database.values(), case.values)
    most_tables, most_columns = (MAX_TABLES, MAX_COLUMNS) if tools.points else (MOST_TABLES, MOST_COLUMNS)
    best = best_tables(case.schema, scores, most_tables)
    if not best:
        case.fail(STAGE, f"no table fits: the question names none of {len(case.schema.tables)}, nor a column "
                  "or value of theirs; ask with their words, or name tables")  # fmt: skip
        return
    while len(tables := connected(case.schema, best)) > most_tables:
        best.pop()
    whole = len(case.schema.tables)
    case.schema = part_of(case.schema, tables, _by_score(scores), most_columns)
    case.note(f"{len(case.schema.tables)} of {whole} tables are left by their names and values")


def _by_score(scores: Mapping[int, float]) -> list[int]:
    return sorted(scores, key=lambda at: (-scores[at], at))


def _ask(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Have the model choose among what code left."""
    asks = [StagePrompt(case, question_values(case, tools)) for case in cases]
    for case, answer in zip(cases, tools.ask(STAGE, template_of(STAGE), asks, MAX_TOKENS), strict=True):
        found = json_in(answer.value or "", dict)
        if found == {}:
            case.fail(STAGE, "no table fits: the model found none that has what is asked for; "
                      "name tables, or ask with their words")  # fmt: skip
        elif (chosen := _chosen(case, found or {})) is None:
            case.note("the model chose no tables that exist; all of these stay")
        else:
            whole = len(case.schema.tables)
            case.schema = chosen
            case.note(f"the model chose {len(chosen.tables)} of {whole} tables")


def _chosen(case: QuestionCase, found: Mapping[str, Any]) -> Schema | None:
    """The part of the schema that a reply names, with columns of values that the question means."""
    schema = case.schema
    wanted = {(hit.table.casefold(), hit.column.casefold()) for hit in case.values}
    tables: list[int] = []
    for name, columns in found.items():
        last = name.replace('"', "").rsplit(".", maxsplit=1)[-1]
        try:
            tables.append(schema.position(last))
        except KeyError:
            continue
        listed = columns if isinstance(columns, list) else []
        wanted |= {(last.casefold(), each.casefold()) for each in listed if isinstance(each, str)}
    if not tables:
        return None
    columns = [
        at for at, (table, column) in enumerate(schema.columns)
        if (table.name.casefold(), column.name.casefold()) in wanted
    ]  # fmt: skip
    return part_of(schema, connected(schema, tables), columns)
