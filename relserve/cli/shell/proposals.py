"""What could stand where the cursor is in a statement: options, columns, tables, functions, keywords."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from relserve.call.option_specs import OPTIONS
from relserve.call.options import FUNCTIONS
from relserve.cli.shell.catalog import CompletionNames
from relserve.cli.shell.lexer import ShellToken, TokenKind, tokens

_BEFORE_TABLES = frozenset("from join into update table describe desc summarize view".split())
_BEFORE_SETTINGS = frozenset("set reset pragma global session".split())
_STARTS = "SELECT FROM WITH INSERT CREATE COPY UPDATE DELETE DESCRIBE SUMMARIZE EXPLAIN".split()
_COMMON = (  # keywords that go before functions
    "from where group by order limit join left on using as and or not in is null like between having desc "
    "distinct case when then else end union all with select true false values offset qualify over"
).split()
_PLACEHOLDER = re.compile(r"\{(\w*)\Z")


class Proposal(NamedTuple):
    """A text that could stand there, and a word on what it is."""

    text: str
    what: str


class Proposals(NamedTuple):
    """What could replace the last `len(prefix)` characters before the cursor.

    Attributes:
        is_path: within a string, where the name of a file could stand too.
    """

    prefix: str
    found: list[Proposal]
    is_path: bool = False


@dataclass
class _Call:
    """A function whose parentheses are around the cursor."""

    function: str
    given: set[str] = field(default_factory=set)  # options


def propose(before: str, after: str, names: CompletionNames) -> Proposals:
    """What could stand at the cursor.

    Args:
        before, after: the text on either side of the cursor.
    """
    seen = _statement(before)
    if seen and seen[-1].kind is TokenKind.open and not seen[-1].text.startswith('"'):
        return _in_string(seen, after, names)
    is_word = bool(seen) and seen[-1].kind in (TokenKind.word, TokenKind.open) and seen[-1].end == len(before)
    prefix = seen.pop().text if is_word else ""
    tables = _tables_in([*seen, *_statement(after, is_first=True)], names)
    found = dict[str, str]()
    for text, what in _candidates(seen, prefix, tables, names):
        if _begins(text, prefix):
            found.setdefault(text, what)
    return Proposals(prefix, [Proposal(*each) for each in found.items()])


def _begins(text: str, prefix: str) -> bool:
    """Whether a text may have been begun so: in other letters, or without the quotes that it needs."""
    lower, begun = text.lower(), prefix.lower()
    return text != prefix and lower.startswith((begun, f'"{begun}'))


def _statement(text: str, is_first: bool = False) -> list[ShellToken]:
    """The tokens of the last (or first) statement of a text, without blanks."""
    found: list[ShellToken] = []
    for token in tokens(text):
        if token.text == ";":
            if is_first:
                break
            found = []
        elif token.kind is not TokenKind.blank:
            found.append(token)
    return found


def _candidates(
    seen: list[ShellToken], prefix: str, tables: Mapping[str, Mapping[str, str]], names: CompletionNames
) -> Iterator[tuple[str, str]]:
    """All that fits behind the tokens `seen`, likeliest first, whatever the prefix."""
    last = seen[-1].text.lower() if seen else ""
    call = _call_around(seen)
    if last == "." and len(seen) > 1:
        yield from _members(seen[-2].name, tables, names)
    elif last in _BEFORE_TABLES:
        yield from _sources(names)
    elif last in _BEFORE_SETTINGS:
        yield from names.settings.items()
    elif not seen:
        yield from _cased(names.keywords if prefix else _STARTS, prefix)
    else:
        if call is not None and last in ("(", ",") and call.function in FUNCTIONS:
            yield from _options(call)
        mentioned = {name: columns for name, columns in tables.items() if columns}
        yield from _columns(mentioned or names.tables)
        yield from ((name, "table") for name in (*tables, *names.tables))
        yield from ((name + "(", "relserve") for name in (*FUNCTIONS, "text2sql_query"))
        if prefix:
            yield from _cased(_COMMON, prefix)
            yield from ((name + "(", what) for name, what in names.functions.items())
            yield from _cased(names.keywords, prefix)


def _call_around(seen: list[ShellToken]) -> _Call | None:
    """The innermost call that is not closed."""
    open_calls: list[_Call] = []
    for index, token in enumerate(seen):
        if token.text == "(":
            named = index > 0 and seen[index - 1].kind is TokenKind.word
            open_calls.append(_Call(seen[index - 1].text.lower() if named else ""))
        elif token.text == ")" and open_calls:
            open_calls.pop()
        elif token.text == ":=" and open_calls and index:
            open_calls[-1].given.add(seen[index - 1].text.lower())
    return open_calls[-1] if open_calls else None


def _options(call: _Call) -> Iterator[tuple[str, str]]:
    spec = FUNCTIONS[call.function]
    for name in sorted(spec.options, key=lambda name: name not in spec.required):
        if name not in call.given:
            yield f"{name} := ", OPTIONS[name].help


def _sources(names: CompletionNames) -> Iterator[tuple[str, str]]:
    yield from ((name, "table") for name in names.tables)
    yield from ((name + "(", what) for name, what in names.functions.items() if "table" in what)
    yield "text2sql(", "relserve"


def _columns(tables: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    for table, columns in tables.items():
        yield from ((name, f"{table} {kind}") for name, kind in columns.items())


def _members(
    owner: str, tables: Mapping[str, Mapping[str, str]], names: CompletionNames
) -> Iterator[tuple[str, str]]:
    """What stands behind `owner.`: a table's columns, or a schema's tables."""
    by_name = {**names.tables, **tables}
    for name, columns in by_name.items():
        if name.lower() == owner.lower():
            yield from columns.items()
        elif name.lower().startswith(f"{owner.lower()}."):
            yield name[len(owner) + 1 :], "table"


def _tables_in(seen: list[ShellToken], names: CompletionNames) -> dict[str, Mapping[str, str]]:
    """The columns of the tables that a statement names, by aliases too; of a CTE none are known."""
    by_name = {name.lower(): (name, columns) for name, columns in names.tables.items()}
    found: dict[str, Mapping[str, str]] = {}
    for index, token in enumerate(seen):
        if token.kind is TokenKind.word and _texts(seen, index + 1, 2) == ["as", "("]:
            found.setdefault(token.text, {})
        is_dotted = index > 1 and seen[index - 1].text == "."
        path = "".join(each.text for each in seen[index - 2 * is_dotted : index + 1]).lower()
        if path not in by_name:
            continue
        name, columns = by_name[path]
        found[name] = columns
        is_as = _texts(seen, index + 1, 1) == ["as"]
        for alias in seen[index + 1 + is_as : index + 2 + is_as]:
            if alias.kind is TokenKind.word and alias.text.lower() not in names.keywords:
                found[alias.text] = columns
    return found


def _texts(seen: list[ShellToken], start: int, number: int) -> list[str]:
    return [token.text.lower() for token in seen[start : start + number]]


def _cased(keywords: Iterable[str], prefix: str) -> Iterator[tuple[str, str]]:
    """Keywords in the letters in which they are being typed."""
    return ((word.lower() if prefix.islower() else word.upper(), "keyword") for word in keywords)


def _in_string(seen: list[ShellToken], after: str, names: CompletionNames) -> Proposals:
    """Within a template the columns of its placeholders; else the name of a file."""
    *others, last = seen
    if not last.text.startswith("'"):
        return Proposals("", [])
    call = _call_around(others)
    place = _PLACEHOLDER.search(last.text)
    if place is None or call is None or call.function not in FUNCTIONS:
        return Proposals(last.text[1:], [], is_path=True)
    tables = _tables_in([*others, *_statement(after, is_first=True)], names)
    columns = dict(_columns(tables or names.tables))
    fitting = [Proposal(name + "}", what) for name, what in columns.items() if name.startswith(place[1])]
    return Proposals(place[1], fitting)
