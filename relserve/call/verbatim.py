"""Answers that stand in the row's own values word for word, and the check that they do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from relserve.call.answer_types import Answer, AnswerType, Extract, Grammar
from relserve.call.parts import NOT_TOLD
from relserve.call.schema.leaves import TextShape
from relserve.call.schema.nested import ListShape, NullableShape, StructShape
from relserve.call.schema.shape import SchemaShape
from relserve.call.template import text_of
from relserve.errors import Failure, FailureKind

PLACED = '{"text": "VARCHAR", "start": "BIGINT", "stop": "BIGINT"}'  # the schema of a quote with offsets
_MARKS = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"  # which models put around what they quote
_SHOWN = 80
ANY_PART = Grammar(source=())  # each row has one with its own values in place of it


@dataclass(frozen=True)
class Quote:
    """Words of the row's values: VARCHAR, as JSON text; or `PLACED` with where they stand.

    Attributes:
        offsets: tell the places of the first and the last character, from 1, in the first value that has it.
    """

    offsets: bool = False
    sql_type: str = "VARCHAR"
    default_max_tokens: int = 256
    instruction: str = "Quote the text; write null for what is not told."
    grammar: Grammar = ANY_PART

    @property
    def schema(self) -> str:
        """The type of its answers, as a schema of llm_extract."""
        return PLACED if self.offsets else '"VARCHAR"'

    def parse(self, text: str) -> Answer:
        """What a reply says, as JSON; whether that stands in the text is for `stands_in`."""
        said = text.strip()
        return Answer(json.dumps(None if said in ("", NOT_TOLD) else said, ensure_ascii=False))

    def found(self, said: str | None, source: Sequence[str]) -> Any:
        """The value that `said` is, a part of one of these texts; None where it is none."""
        for text in (said, said.strip(_MARKS)) if said else ():
            for value in source:
                if text and (place := value.find(text)) >= 0:
                    placed = {"text": text, "start": place + 1, "stop": place + len(text)}
                    return placed if self.offsets else text
        return None


def quotes(kind: AnswerType) -> bool:
    """Whether answers of a type have to stand in the values of their rows."""
    return kind.grammar is not None and kind.grammar.source is not None


def row_grammars(
    kind: AnswerType, used: Sequence[int], rows: Sequence[Sequence[Any]]
) -> list[Grammar | None] | None:
    """The grammar of each row's reply, or None where all have that of the type.

    Args:
        used: which of a row's values the template puts in; with a NULL among them the row is not asked.
    """
    grammar = kind.grammar
    if grammar is None or not quotes(kind):
        return None
    values = ([row[i] for i in used] for row in rows)
    return [None if None in each else replace(grammar, source=tuple(map(text_of, each))) for each in values]


def stands_in(kind: AnswerType, answer: Answer, source: Sequence[str]) -> Answer:
    """The answer, or a failure where a text in it is no part of a text of `source`.

    Args:
        kind: `Extract`, `Quote`, or any other, of which nothing has to stand in a text.
    """
    if answer.failure is not None or answer.value is None or not isinstance(kind, (Extract, Quote)):
        return answer
    value = json.loads(answer.value)
    if isinstance(kind, Quote):
        found = kind.found(value, source)
        if (value is None) == (found is None):
            return Answer(json.dumps(found, ensure_ascii=False))
        return _made_up("the reply", value)
    for where, text in _texts_of(kind.shape, value, ""):
        if not any(text in each for each in source):
            return _made_up(where or "the reply", text)
    return answer


def _texts_of(shape: SchemaShape, value: Any, where: str) -> Iterator[tuple[str, str]]:
    """The texts in a value of a shape that are of no narrower type, each with its place."""
    match shape:
        case _ if value is None:
            return
        case TextShape():
            yield where, value
        case NullableShape(inner):
            yield from _texts_of(inner, value, where)
        case ListShape(item):
            for i, each in enumerate(value):
                yield from _texts_of(item, each, f"{where}[{i}]")
        case StructShape(fields):
            for name, inner in fields:
                yield from _texts_of(inner, value[name], f"{where}.{name}" if where else name)


def _made_up(where: str, text: str) -> Answer:
    shown = repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
    return Answer(None, Failure(FailureKind.UNPARSABLE, f"{where} is {shown}, which is not in the text"))
