"""Which columns of a frame a template's placeholders stand for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from relserve.call.template import Field, Template
from relserve.errors import TemplateError, UsageError

MAX_LISTED = 20  # column names in an error


def pick(template: Template, names: Sequence[Any], columns: Iterable[Any] | None) -> list[int]:
    """The positions of the columns that give a row's values, in the order that `template.bind` takes.

    A placeholder's name is a column's own name, or its text for names that are no text, or else its name in
    other case, as in SQL.

    Args:
        names: the frame's column names, of any type.
        columns: names of the columns to use in order; None takes the placeholders' names. A frame's only
            column needs no name.

    Raises:
        TemplateError: a placeholder that is no column, or no placeholder at all.
        UsageError: `columns` names what the frame lacks, or not as many as the template takes.
    """
    if not template.fields:
        raise TemplateError(
            "the template has no placeholder, so every row would be asked the same", template.text,
            len(template.text), f"Name a column, as in {{{_example(names)}}}.",
        )  # fmt: skip
    if columns is not None:
        return _given(template, names, columns)
    if template.names:
        return [_placed(template, field, names) for field in _first_of_each(template)]
    if len(names) == 1 and template.num_inputs == 1:
        return [0]
    raise TemplateError(
        "{} does not say which column it stands for", template.text, template.fields[0].position,
        f"Write a name, as in {{{_example(names)}}}, or give columns=[..]. {_listed(names)}",
    )  # fmt: skip


def _given(template: Template, names: Sequence[Any], columns: Iterable[Any]) -> list[int]:
    wanted = [columns] if isinstance(columns, str) else list(columns)
    if len(wanted) != template.num_inputs:
        raise UsageError(
            f"the template takes {template.num_inputs} columns, columns= gives {len(wanted)}: {template.text}"
        )
    return [find_column("columns=", name, names) for name in wanted]


def find_column(argument: str, name: Any, names: Sequence[Any]) -> int:
    """The position of a column that an argument names.

    Raises:
        UsageError: no column has the name, or several have.
    """
    found = _find(name, names)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(
            f"{argument} names {name!r}, which is no column.{_meant(name, names)} {_listed(names)}"
        )
    raise UsageError(f"{argument} names {name!r}, which {len(found)} columns are called; rename all but one")


def _placed(template: Template, field: Field, names: Sequence[Any]) -> int:
    found = _find(field.name, names)
    if len(found) == 1:
        return found[0]
    if not found:
        raise TemplateError(
            f"placeholder {{{field.name}}} is no column", template.text, field.position,
            f"{_meant(field.name, names)} {_listed(names)}".strip(),
        )  # fmt: skip
    raise TemplateError(
        f"placeholder {{{field.name}}} could be any of {len(found)} columns", template.text, field.position,
        "Rename all but one of them, or give columns=[..].",
    )  # fmt: skip


def _first_of_each(template: Template) -> list[Field]:
    return [next(f for f in template.fields if f.name == name) for name in template.names]


def _find(name: Any, names: Sequence[Any]) -> list[int]:
    """The columns called so: exactly; else with a name whose text is this; else in other case."""
    text = str(name)
    looks = (
        lambda n: type(n) is type(name) and n == name,
        lambda n: str(n) == text,
        lambda n: str(n).strip().lower() == text.lower(),
    )
    for look in looks:
        if found := [i for i, n in enumerate(names) if look(n)]:
            return found
    return []


def _meant(name: Any, names: Sequence[Any]) -> str:
    lower = {str(n).lower(): str(n) for n in names}
    near = get_close_matches(str(name).lower(), lower, 1)
    return f" Did you mean {lower[near[0]]!r}?" if near else ""


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(str(n) for n in names[:MAX_LISTED])
    rest = len(names) - MAX_LISTED
    return (
        f"The columns are: {shown}{f' and {rest} more' if rest > 0 else ''}." if names else "There is none."
    )


def _example(names: Sequence[Any]) -> str:
    return str(names[0]) if names else "column"
