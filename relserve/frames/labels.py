"""Labels beside which answers are laid: how they read, and which llm function their type asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.types as kinds

from relserve.call.answer_types import AnswerType, ChoiceAnswer
from relserve.errors import UsageError
from relserve.evaluation.graded import Measure, yes_or_no

MAX_CLASSES = 20  # different texts of a label that become choices by themselves
MAX_TOLD = 3  # labels that an error shows


class LabelReader(NamedTuple):
    """How labels, and answers, of one type read.

    Attributes:
        measure: how they are compared.
        classes: all that there are, where they are classes.
        wanted: what a label must be, in words.
        read: gives a value as it is compared; a ValueError for what is none.
    """

    measure: Measure
    classes: tuple[Any, ...]
    wanted: str
    read: Callable[[Any], Any]

    def read_all(self, labels: Sequence[Any]) -> list[Any]:
        """All labels of a column; None stays None.

        Raises:
            UsageError: some are none, and no answer would ever be right.
        """
        found: list[Any] = []
        wrong: list[str] = []
        for place, label in enumerate(labels):
            try:
                found.append(None if label is None else self.read(label))
            except (ValueError, TypeError):
                wrong.append(f"{label!r} in row {place + 1}")
        if wrong:
            more = f" and {len(wrong) - MAX_TOLD:,} more" if len(wrong) > MAX_TOLD else ""
            raise UsageError(
                f"a label must be {self.wanted}, not {', '.join(wrong[:MAX_TOLD])}{more}: no answer could be "
                "right; mend these labels, make them NULL, or name another function"
            )
        return found


def label_reader(kind: pa.DataType, answer_type: AnswerType) -> LabelReader:
    """How labels beside answers of an Arrow type read.

    Raises:
        UsageError: the answers have fields, and none is named.
    """
    if kinds.is_boolean(kind):
        return LabelReader(Measure.CLASSES, (True, False), "true or false (or yes or no, 1 or 0)", yes_or_no)
    if isinstance(answer_type, ChoiceAnswer):
        wanted = f"one of the choices {list(answer_type.choices)}"
        return LabelReader(Measure.CLASSES, answer_type.choices, wanted, partial(_choice, answer_type))
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind):
        return LabelReader(Measure.NUMBERS, (), "a number", _number)
    if kinds.is_nested(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)] if kinds.is_struct(kind) else []
        raise UsageError(f"a label is compared with one value: name it with field=; there are: {names}")
    return LabelReader(Measure.TEXTS, (), "a text", _day if kinds.is_date(kind) else str)


def fitting_function(
    labels: pa.Array | pa.ChunkedArray, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The function that labels of this type ask for, and its options.

    Raises:
        UsageError: the type does not tell.
    """
    kind = labels.type.value_type if kinds.is_dictionary(labels.type) else labels.type
    if "schema" in options:
        return "llm_extract", dict(options)
    if "choices" in options:
        return "llm_classify", dict(options)
    if kinds.is_boolean(kind):
        return "llm_filter", dict(options)
    if kinds.is_integer(kind):
        return "llm_int", dict(options)
    if kinds.is_floating(kind) or kinds.is_decimal(kind):
        return "llm_double", dict(options)
    if kinds.is_date(kind):
        return "llm_date", dict(options)
    classes = sorted({each.strip() for each in labels.to_pylist() if isinstance(each, str)})
    if not 2 <= len(classes) <= MAX_CLASSES or not all(classes):
        raise UsageError(
            f"the label has {len(classes):,} different texts, which does not tell what is asked: name the "
            "choices, or a function, such as 'llm' for texts that are compared as they are"
        )
    return "llm_classify", {**options, "choices": classes}


def _choice(kind: ChoiceAnswer, value: Any) -> Any:
    found = kind.parse(str(value))
    if found.failure is not None:
        raise ValueError(found.failure.message)
    return found.value


def _number(value: Any) -> float:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = float(value)
    if not math.isfinite(number) or isinstance(value, bool):
        raise ValueError(value)
    return number


def _day(value: Any) -> str:
    return str(value.date() if isinstance(value, datetime) else value)
