"""What DuckDB hands to a UDF, read: the call site, the values, and the prompts that they make."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.types as kinds

from relserve.call.options import FUNCTIONS, Options, parse_options
from relserve.call.relquery import CallSite
from relserve.call.template import BoundTemplate, Template, has_placeholders, swapped, text_of
from relserve.call.values import constant_of, values_of
from relserve.call.vector_text import KIND
from relserve.errors import OptionError, TemplateError, UsageError
from relserve.session.aggregate import numbered
from relserve_duckdb.text.call_limits import (
    ASCENDING,
    MAX_VALUES,
    TEXT2SQL_QUERY,
    too_many_values,
    varying_option,
    varying_template,
)
from relserve_duckdb.udf.question_site import QuestionSite, read_questions

UNSET = "__unset"  # field of the struct that stands for a value that was not given
UNREADABLE = "\ufffcunreadable:"  # stands for options, before the type that a value must not have
ARROW_TYPES = {"VARCHAR": pa.string(), "BOOLEAN": pa.bool_(), "DOUBLE": pa.float64(), "FLOAT[]": KIND}

Site = CallSite | QuestionSite
_Texts = list[str] | None  # the values of a group, None for a group without any


class Chunk(NamedTuple):
    """What DuckDB handed to the UDF, read: its site, its columns of values and its rows' prompts."""

    site: Site
    columns: list[list[Any]]
    prompts: list[str | None]

    @property
    def num_rows(self) -> int:
        return len(self.prompts)

    def only(self, rows: Sequence[int]) -> Chunk:
        """These rows of the chunk."""
        columns = [[column[i] for i in rows] for column in self.columns]
        return Chunk(self.site, columns, [self.prompts[i] for i in rows])

    def row(self, i: int) -> tuple[Any, ...]:
        """The values of row i."""
        return tuple(column[i] for column in self.columns)


def sql_type_of(function: str) -> str:
    """The SQL type that a function returns, whatever its options."""
    if function == TEXT2SQL_QUERY:
        return "VARCHAR"
    return FUNCTIONS[function].answer_type(Options(choices=("any",), schema='"VARCHAR"')).sql_type


def read_chunk(function: str, columns: Sequence[Any]) -> Chunk | None:
    """Read the columns of a UDF call: template, options as JSON, eight values, the ninth value.

    Of text2sql_query: question, options as JSON, evidence. Of an aggregate: template, options, the values of
    each group as a list of texts, and whether to put those in order.

    Returns:
        The chunk, or None when the template is NULL, which makes every answer NULL.

    Raises:
        UsageError: too many values, or a template that is no text or changes from row to row.
        TemplateError, OptionError: as `Template.bind` and `parse_options` do.
    """
    if function == TEXT2SQL_QUERY:
        return Chunk(*read_questions(columns))
    given = [column for column in columns[2:] if not _is_unset(column.type)]
    if kinds.is_nested(columns[0].type):
        raise UsageError(f"the template of {function}() must be text, not {columns[0].type}")
    same, template = constant_of(columns[0])
    if not same:
        raise UsageError(varying_template(function))
    same, options = constant_of(columns[1])
    if not same:
        raise OptionError(varying_option(function))
    return None if template is None else make_chunk(function, template, options, given, len(columns[0]))


def make_chunk(function: str, template: str, options: str, given: list[Any], num_rows: int) -> Chunk:
    """The chunk of a call with these constants.

    Args:
        given: Arrow columns: the values; of an aggregate, its groups and whether to put them in order.

    Raises: as `read_chunk`.
    """
    if FUNCTIONS[function].aggregate:
        ascending = set().union(*(column.to_pylist() for column in given[1:]))
        if len(ascending) > 1:
            raise OptionError(f"{function}(): {ASCENDING} must be the same for all rows of a call")
        return _read_groups(find_site(function, template, options, 1, None), given[0], ascending == {True})
    if options.startswith(UNREADABLE):
        kind = options.removeprefix(UNREADABLE)
        raise UsageError(
            f"{function}() cannot read values of this type; give them as text, value::VARCHAR: {kind}"
        )
    if len(given) > MAX_VALUES:
        raise UsageError(too_many_values(function))
    try:
        values, fields = _row_columns(template, given)
        site = find_site(function, template, options, len(given), fields)
    except TemplateError as error:
        if not FUNCTIONS[function].template and any(has_placeholders(_same_text(each)) for each in given):
            raise swapped(function) from None  # the error quotes what may be somebody's text
        raise error
    lists = list(map(values_of, values))
    prompts = (_told_apart if site.quotes else _prompts)(site.binding, lists, num_rows)
    return Chunk(site, lists, prompts)


@lru_cache(maxsize=4096)
def find_site(
    function: str, template: str, options: str, num_values: int, fields: tuple[str, ...] | None
) -> CallSite:
    """The site of a call with these constants; `fields` are those of a whole row given as the only value."""
    binding = Template.parse(template).bind(num_values, fields)
    site = CallSite(function, binding, parse_options(function, json.loads(options)))
    _ = site.turns  # a wrong example is told before anything is asked
    return site


def _prompts(binding: BoundTemplate, columns: list[list[Any]], num_rows: int) -> list[str | None]:
    """What `binding.render` gives for every row."""
    if len(binding.slots) == 1:  # by far the most calls, and several times faster than row by row
        head, tail = binding.template.literals
        return [
            None if value is None else f"{head}{value if type(value) is str else text_of(value)}{tail}"
            for value in columns[binding.slots[0]]
        ]
    rows = zip(*columns, strict=True) if columns else iter([()] * num_rows)
    return list(map(binding.render, rows))


def _told_apart(binding: BoundTemplate, columns: list[list[Any]], num_rows: int) -> list[str | None]:
    """Template and values of every row, in place of the prompt that they make.

    The same prompt may be made of other values, in which other texts stand.
    """
    rows = list(zip(*(columns[i] for i in binding.used), strict=True)) or [()] * num_rows
    return [
        None if None in row else json.dumps([binding.template.text, *map(text_of, row)], ensure_ascii=False)
        for row in rows
    ]


def _read_groups(site: CallSite, column: Any, ascending: bool) -> Chunk:
    """A chunk of groups; a group's prompt is that of all its values, however many prompts it will take."""
    groups, numbers = distinct_groups(column, ascending)
    lists = [None if texts is None else numbered(texts) for texts in groups]
    prompts = _prompts(site.binding, [lists], len(groups))
    return Chunk(site, [[groups[i] for i in numbers]], [prompts[i] for i in numbers])


def _row_columns(template: str, given: list[Any]) -> tuple[list[Any], tuple[str, ...] | None]:
    """The columns that hold the values: a row's own, when a whole row alone meets named placeholders."""
    if len(given) != 1 or not kinds.is_struct(given[0].type) or not Template.parse(template).names:
        return given, None
    row = given[0]
    row = row.combine_chunks() if isinstance(row, pa.ChunkedArray) else row
    return row.flatten(), tuple(field.name for field in row.type)


def _same_text(column: Any) -> Any:
    """The text of all rows of a column; None where they differ or are no texts."""
    if not len(column) or not kinds.is_string(column.type):
        return None
    same, text = constant_of(column)
    return text if same else None


def _is_unset(kind: pa.DataType) -> bool:
    return bool(kinds.is_struct(kind) and kind.num_fields == 1 and kind.field(0).name == UNSET)


def distinct_groups(column: pa.Array | pa.ChunkedArray, ascending: bool) -> tuple[list[_Texts], list[int]]:
    """The distinct lists of a column, without their NULLs, and for each row the number of its list.

    A window gives each of its rows the same list, so equal ones are found before Python holds any text.

    Args:
        ascending: the lists come in no order; their values are to.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    firsts, numbers = _distinct(array)
    lists = values_of(array if len(firsts) == len(array) else array.take(pa.array(firsts, pa.int64())))
    return [_texts(values, ascending) for values in lists], numbers


def _texts(values: list[str | None] | None, ascending: bool) -> _Texts:
    texts = [value for value in values or () if value is not None]
    return (sorted(texts) if ascending else texts) or None


def _distinct(array: Any) -> tuple[list[int], list[int]]:
    """The first row of each distinct list, and for each row which of those it is like."""
    key_of = _key_of(array)
    if key_of is None:
        return list(range(len(array))), list(range(len(array)))
    firsts: list[int] = []
    numbers: list[int] = []
    alike: dict[Any, list[int]] = {}
    for row in range(len(array)):
        candidates = alike.setdefault(key_of(row), [])
        number = next((each for each in candidates if array[firsts[each]].equals(array[row])), None)
        if number is None:
            number = len(firsts)
            firsts.append(row)
            candidates.append(number)
        numbers.append(number)
    return firsts, numbers


def _key_of(array: Any) -> Callable[[int], tuple[int, bytes]] | None:
    """What equal lists of texts share: how many, and all their characters; None for other columns."""
    if not (kinds.is_list(array.type) or kinds.is_large_list(array.type)):
        return None
    texts, ends = array.values, array.offsets.to_pylist()
    if not (kinds.is_string(texts.type) or kinds.is_large_string(texts.type)):
        return None
    _, offsets, data = texts.buffers()
    places = memoryview(offsets).cast("b").cast("i" if kinds.is_string(texts.type) else "q")[texts.offset :]
    characters = memoryview(data or b"")

    def key(row: int) -> tuple[int, bytes]:
        first, end = ends[row], ends[row + 1]
        return end - first, bytes(characters[places[first] : places[end]])

    return key
