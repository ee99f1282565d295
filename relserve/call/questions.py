"""Typed questions about one state, read from the two forms in which decision models take them.

TypeSafe's System One has `{id: {type, instructions, criteria}}`, and OpenAI's `/v1/decisions` has
`[{name, type, instructions, choices | levels}]`. A question of either form may have the words of the other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from relserve.call.checks import text, texts
from relserve.call.decisions import MOST_CHOICES, YES_NO
from relserve.call.grammar_size import check_choices
from relserve.errors import OptionError

QuestionKind = Literal["noul", "choice", "score"]
EXAMPLE = '{"complaint": {"type": "noul", "instructions": "Is it a complaint?"}}'
MOST_QUESTIONS = 64  # about one state, as vLLM's own endpoint and Jev take
MOST_LEVELS = 10
KINDS: Mapping[str, QuestionKind] = {
    "noul": "noul", "predicate": "noul", "choice": "choice", "score": "score",
}  # fmt: skip
_TYPES = "'noul' (or 'predicate'), 'choice' or 'score'"
_CRITERIA = ("criteria", "choices", "levels")  # names of one thing
_FIELDS = ("type", "instructions", *_CRITERIA)


@dataclass(frozen=True)
class TypedQuestion:
    """One question about a state.

    Attributes:
        key: its id, or name.
        kind: 'noul' (yes or no), 'choice' (one of some texts) or 'score' (one of some levels).
        instructions: what is asked.
        choices: what may be answered: yes and no, the choices, or the levels from low to high.
        descriptions: of each choice; None: it has none.
    """

    key: str
    kind: QuestionKind
    instructions: str
    choices: tuple[str, ...]
    descriptions: tuple[str | None, ...]


def read_questions(given: Any) -> tuple[TypedQuestion, ...]:
    """The questions that JSON says, in their order.

    Args:
        given: either form, as JSON text or as what it says. Only in JSON text are equal ids found.

    Raises:
        OptionError: it is neither; the message says what is wrong, at which question, and how to mend it.
    """
    said = _parsed(given) if isinstance(given, str) else given
    if isinstance(said, Mapping):
        named = list(said.items())
    elif isinstance(said, Sequence) and not isinstance(said, (str, bytes)):
        named = [_named(place, asked) for place, asked in enumerate(said, 1)]
    else:
        raise OptionError(f"questions must be JSON like {EXAMPLE}, not {_shown(given)}")
    if not named:
        raise OptionError(f"questions has no question; give one or more, like {EXAMPLE}")
    if len(named) > MOST_QUESTIONS:
        raise OptionError(
            f"questions has {len(named):,} questions; the most is {MOST_QUESTIONS}, so ask in two calls"
        )
    texts("questions", [key for key, _ in named])
    return tuple(_question(text("the id of a question", key), asked) for key, asked in named)


def descriptions_of(choices: Any) -> tuple[str | None, ...]:
    """What a call says of each of its choices; nothing where it gives a list.

    Raises:
        OptionError: a description is no text.
    """
    if not isinstance(choices, Mapping):
        return ()
    return tuple(_description("choices", choice, told) for choice, told in choices.items())


def _parsed(given: str) -> Any:
    """What a JSON text says."""

    def fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
        if twice:
            raise OptionError(f"questions holds {min(twice)!r} more than once; each must be there once")
        return dict(pairs)

    try:
        said = json.loads(given, object_pairs_hook=fields)
        json.dumps(said, ensure_ascii=False).encode()  # half a surrogate pair is no text to DuckDB
        return said
    except OptionError:
        raise
    except (ValueError, RecursionError) as error:  # of its form, or of a number of 5,000 digits
        raise OptionError(f"questions is no JSON ({error}); write it like {EXAMPLE}") from None


def _named(place: int, asked: Any) -> tuple[str, Any]:
    """A question of a list, by its name."""
    if not isinstance(asked, Mapping) or not isinstance(asked.get("name"), str):
        raise OptionError(f'question {place} has no name; give each one, like {{"name": "complaint", ..}}')
    return asked["name"], {name: value for name, value in asked.items() if name != "name"}


def _question(key: str, asked: Any) -> TypedQuestion:
    where = f"question {key!r}"
    if not isinstance(asked, Mapping):
        raise OptionError(f"{where} must be an object like that of {EXAMPLE}, not {_shown(asked)}")
    for name in asked:
        if name not in _FIELDS:
            near = get_close_matches(str(name), _FIELDS, 1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise OptionError(f"{where} has no field {name!r}.{meant} It takes: {', '.join(_FIELDS)}")
    kind = KINDS.get(asked["type"]) if isinstance(asked.get("type"), str) else None
    if kind is None:
        raise OptionError(f"{where}: type must be {_TYPES}, not {_shown(asked.get('type'))}")
    instructions = text(f"{where}: instructions", asked.get("instructions"))
    described = _described(where, asked)
    if kind == "noul":
        return TypedQuestion(key, kind, instructions, YES_NO, _of_yes_and_no(where, described))
    choices = tuple(choice for choice, _ in described)
    _check_number(where, kind, choices)
    check_choices(f"{where}: choices", texts(f"{where}: choices", choices))
    return TypedQuestion(key, kind, instructions, choices, tuple(each for _, each in described))


def _described(where: str, asked: Mapping[Any, Any]) -> list[tuple[str, str | None]]:
    """The choices with their descriptions, as any of the names of them has them."""
    given = [name for name in _CRITERIA if asked.get(name) is not None]
    if len(given) > 1:
        raise OptionError(f"{where} has both {given[0]} and {given[1]}, which say the same; leave one out")
    criteria = asked[given[0]] if given else []
    if isinstance(criteria, Mapping):
        pairs = list(criteria.items())
    elif isinstance(criteria, Sequence) and not isinstance(criteria, (str, bytes)):
        pairs = list(map(_pair, criteria))
    else:
        raise OptionError(
            f"{where}: {given[0]} must be a list of texts, or an object of texts with their descriptions, "
            f"not {_shown(criteria)}"
        )
    return [(_choice(where, choice), _description(where, choice, told)) for choice, told in pairs]


def _pair(choice: Any) -> tuple[Any, Any]:
    """A choice of a list, and its description; a level of OpenAI's has a label."""
    if not isinstance(choice, Mapping):
        return choice, None
    return choice.get("value", choice.get("label")), choice.get("description")


def _choice(where: str, choice: Any) -> str:
    """A choice as a text: also true, false and numbers, as JSON writes them."""
    written = json.dumps(choice) if isinstance(choice, (bool, int, float)) else choice
    return text(f"{where}: a choice", written)


def _description(where: str, choice: Any, told: Any) -> str | None:
    if told is not None and not isinstance(told, str):
        what = f"{where}: the description of {choice!r}"
        raise OptionError(f"{what} must be a text or null, not {_shown(told)}")
    return (told or "").strip() or None


def _of_yes_and_no(where: str, described: Sequence[tuple[str, str | None]]) -> tuple[str | None, ...]:
    told = dict(described)
    if unknown := [choice for choice in told if choice not in ("true", "false")]:
        raise OptionError(
            f"{where}: criteria of a yes or no describe true and false, not {unknown[0]!r}; "
            "for other answers give type 'choice'"
        )
    return told.get("true"), told.get("false")


def _check_number(where: str, kind: QuestionKind, choices: Sequence[str]) -> None:
    """See that there is something to choose, and no more than a model can weigh."""
    what, most = ("levels", MOST_LEVELS) if kind == "score" else ("choices", MOST_CHOICES)
    if len(choices) < 2:
        raise OptionError(
            f"{where} needs two {what} or more, not {list(choices)}: give them as criteria; for a yes or no "
            "give type 'noul'"
        )
    if len(choices) > most:
        raise OptionError(f"{where} takes at most {most} {what}, not {len(choices):,}; leave some out")


def _shown(value: Any) -> str:
    return repr(value)[:80]
