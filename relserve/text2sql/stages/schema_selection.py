"""Schema selection: the tables and columns that a question may be about."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from relserve.linking.handles import MAX_COLUMNS, MAX_TABLES
from relserve.linking.joins import steps
from relserve.linking.linker import link
from relserve.linking.schema import Schema, Table
from relserve.linking.values import ValueHit, ValueIndex
from relserve.text2sql.cases.case import QuestionCase
from relserve.text2sql.cases.tools import StagePrompt, Tools
from relserve.text2sql.prompts.replies import json_in
from relserve.text2sql.prompts.schema_text import schema_text
from relserve.text2sql.prompts.texts import template_of
from relserve.text2sql.stages.shown import question_values

SMALL_CHARS = 12_000  # a schema whose text is no longer passes whole
MOST_TABLES, MOST_COLUMNS = 20, 200  # that code leaves of a larger one
MAX_TOKENS = 512
STAGE = "schema_selection"
# What a mark counts, shared by all that have it: a name said in full, in part, a value that a column holds.
TABLE, EXACT, HOLDER, PARTIAL = 4.0, 3.0, 3.0, 1.0
# They say nothing of columns, and one that can be read in two ways raises.
_DATES = re.compile(r"(?<!\d)\d++[/.-]\d++[/.-]\d++")


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
    scores = _column_scores(case.schema, text, tools.database.values(), case.values)
    most_tables, most_columns = (MAX_TABLES, MAX_COLUMNS) if tools.points else (MOST_TABLES, MOST_COLUMNS)
    best = _best_tables(case.schema, scores, most_tables)
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


def _column_scores(
    schema: Schema, text: str, index: ValueIndex, hits: Iterable[ValueHit]
) -> Mapping[int, float]:
    """How much a text speaks of each column, by position; 0 for one that it does not mark.

    Args:
        hits: values that the text means, besides those that stand in it.
    """
    scores: dict[int, float] = defaultdict(float)
    for piece in link(schema, _DATES.sub(" ", text), index, date.today()).pieces:
        for columns, worth in ((piece.exact, EXACT), (piece.holders, HOLDER), (piece.partial, PARTIAL)):
            for at in columns:
                scores[at] += worth / len(columns)
        for table in piece.tables:
            first = schema.table_of.index(table)
            for at in range(first, first + len(schema.tables[table].columns)):
                scores[at] += TABLE / len(piece.tables) / len(schema.tables[table].columns)
    places = {(table.name, column.name): at for at, (table, column) in enumerate(schema.columns)}
    for hit in hits:
        if (hit.table, hit.column) in places:
            scores[places[hit.table, hit.column]] += PARTIAL
    return scores


def _best_tables(schema: Schema, scores: Mapping[int, float], most: int) -> list[int]:
    """Positions of the tables that a text speaks of most, best first; none that it does not mark."""
    totals: dict[int, float] = defaultdict(float)
    for at, score in scores.items():
        totals[schema.table_of[at]] += score
    return sorted(totals, key=lambda table: (-totals[table], table))[:most]


def connected(schema: Schema, tables: Iterable[int]) -> set[int]:
    """Tables, and those between them on the shortest ways over foreign keys."""
    wanted = list(dict.fromkeys(tables))
    neighbours: dict[int, list[int]] = {}
    for step in steps(schema):
        neighbours.setdefault(step.holder, []).append(step.target)
        neighbours.setdefault(step.target, []).append(step.holder)
    kept = set(wanted[:1])
    for table in wanted[1:]:
        kept |= _way(table, kept, neighbours) or {table}
    return kept


def _way(start: int, goals: Collection[int], neighbours: Mapping[int, Iterable[int]]) -> set[int]:
    """The tables on a shortest way from one to any of some others, ends included; none if there is no way."""
    came_from: dict[int, int | None] = {start: None}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        if at in goals:
            way = set[int]()
            here: int | None = at
            while here is not None:
                way.add(here)
                here = came_from[here]
            return way
        for other in neighbours.get(at, ()):
            if other not in came_from:
                came_from[other] = at
                waiting.append(other)
    return set()


def part_of(
    schema: Schema, tables: Collection[int], columns: Collection[int], most: int | None = None
) -> Schema:
    """The schema of some tables: of their columns those chosen, keys, and those that join the tables.

    Args:
        columns: by position, the most important first.
        most: columns in all; the others follow in their order until there are so many. None: no others.
    """
    joining = {
        end
        for step in steps(schema) if step.holder in tables and step.target in tables
        for own, target in step.columns
        for end in ((schema.tables[step.holder].name, own), (schema.tables[step.target].name, target))
    }  # fmt: skip
    inside = [at for at, table in enumerate(schema.table_of) if table in tables]
    needed = [at for at in inside if _is_key(schema, at) or _name(schema, at) in joining]
    chosen = [*needed, *(at for at in columns if schema.table_of[at] in tables)]
    order = list(dict.fromkeys([*chosen, *inside]))
    num_chosen = len(set(chosen))
    kept = set(order[: num_chosen if most is None else most])
    parts = (_with_columns(schema, at, kept) for at in sorted(tables))
    return Schema(tuple(table for table in parts if table.columns))


def _with_columns(schema: Schema, table: int, kept: Collection[int]) -> Table:
    first = schema.table_of.index(table)
    columns = schema.tables[table].columns
    chosen = tuple(column for at, column in enumerate(columns, first) if at in kept)
    names = {column.name for column in chosen}
    key = schema.tables[table].key
    return replace(schema.tables[table], columns=chosen, key=key if names.issuperset(key) else ())


def _is_key(schema: Schema, at: int) -> bool:
    table, column = schema.columns[at]
    return column.name in table.key


def _name(schema: Schema, at: int) -> tuple[str, str]:
    table, column = schema.columns[at]
    return table.name, column.name
