"""Questions about a schema that a small model can answer, the nearest to one that it could not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from relserve.linking.lexicon import STOP
from relserve.linking.schema import NUMBERS, Column, ColumnKind, Schema, Table
from relserve.linking.words import folded, identifier_words, plural, stem

MOST = 3
_QUOTES = re.compile("['\"]")


def nearest_questions(schema: Schema, question: str, most: int = MOST) -> list[str]:
    """Questions of shapes that the model knows, with this schema's names, most alike first."""
    asked = _stems(question)
    known = dict.fromkeys(each for table in schema.tables for each in _about(schema, table))
    return sorted(known, key=lambda each: -_likeness(asked, _stems(each)))[:most]


def _about(schema: Schema, table: Table) -> Iterator[str]:
    things = _many(table)
    yield f"How many {things} are there?"
    for column in table.columns:
        if column.name in table.key or column.references is not None:
            continue
        name = " ".join(identifier_words(column.name))
        if column.kind in NUMBERS:
            yield f"What is the average {name} of {things}?"
            yield f"What is the highest {name} of {things}?"
            yield f"Show {things} with {name} above 10."
        elif column.kind is ColumnKind.TEXT:
            yield f"How many {things} are there for each {name}?"
            yield f"List the different {name} of {things}."
            yield from _with_values(things, name, column)
        elif column.kind is ColumnKind.DATE:
            yield f"Show {things} with {name} after 2020."


def _with_values(things: str, name: str, column: Column) -> Iterator[str]:
    for value in column.values[:2]:
        mark = '"' if "'" in value else "'"
        yield f"How many {things} have {name} {mark}{value}{mark}?"
        yield f"Show {things} with {name} {mark}{value}{mark}."


def _many(table: Table) -> str:
    """The plural of a table's name, without numbers as of the year in complaints_2026."""
    words = identifier_words(table.name)
    *first, last = [word for word in words if not word.isdigit()] or words
    return " ".join((*first, plural(stem(last))))


def _stems(text: str) -> set[str]:
    """The stems of a text's words that say something; those of quoted texts too."""
    return {stem(word) for word in folded(_QUOTES.sub(" ", text)) if word not in STOP and word[0].isalnum()}


def _likeness(asked: set[str], known: set[str]) -> float:
    """Words in common, as a share of all."""
    return len(asked & known) / max(1, len(asked | known))
