"""Examples of a call as turns of a chat before each row's own message: what a user says, what is answered.

examples := [{'review': 'a fine beer', 'answer': 'good'}, {'review': 'flat', 'answer': 'bad'}]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from relserve.call.answer_types import AnswerType, Extract, YesNo
from relserve.call.decisions import Probability
from relserve.call.template import Template, text_of
from relserve.errors import OptionError

ANSWER = "answer"  # the field of an example that holds its answer
MOST = 100  # examples of one call
SHOWN = "[{'text': 'a fine beer', 'answer': 'good'}] or [['a fine beer', 'good']]"


class CallExample(NamedTuple):
    """An example as a call gives it.

    Attributes:
        values: by name, or by their numbers where they have no names.
        answer: as JSON text, so that it can be compared.
    """

    values: tuple[tuple[str, str | None], ...]
    answer: str


class ChatTurn(NamedTuple):
    """What the user says, and what the model is to have answered."""

    user: str
    assistant: str


def examples_of(name: str, value: Any) -> tuple[CallExample, ...]:
    """A check of the option: rows of values, each with its answer.

    Raises:
        OptionError: it is no list of such rows.
    """
    if not isinstance(value, (list, tuple)) or not value:
        raise OptionError(f"{name} must be a list like {SHOWN}, not {value!r}")
    if len(value) > MOST:
        raise OptionError(f"{name} has {len(value)} examples; the most is {MOST}")
    return tuple(_example(name, each) for each in value)


def turns_of(template: Template, kind: AnswerType, examples: Sequence[CallExample]) -> tuple[ChatTurn, ...]:
    """The examples as a call's own rows would be asked and answered.

    Raises:
        OptionError: an example lacks a value of the template, or its answer is none that the call may give.
    """
    lead = f"{kind.instruction}\n" if kind.instruction else ""
    return tuple(ChatTurn(lead + _user(template, each), _assistant(kind, each)) for each in examples)


def messages_of(
    prompt: str, system: str | None, turns: Sequence[ChatTurn], system_role: bool
) -> list[tuple[str, str]]:
    """The messages of a chat, each with its role.

    Args:
        system_role: the model takes a system message; else that stands before what the user says first.
    """
    spoken = [pair for turn in turns for pair in (("user", turn.user), ("assistant", turn.assistant))]
    spoken.append(("user", prompt))
    if system and system_role:
        return [("system", system), *spoken]
    if system:
        spoken[0] = ("user", f"{system}\n\n{spoken[0][1]}")
    return spoken


def _example(name: str, given: Any) -> CallExample:
    if isinstance(given, Mapping) and given.get(ANSWER) is not None and len(given) > 1:
        values = {key: value for key, value in given.items() if key != ANSWER}
        answer = given[ANSWER]
    elif isinstance(given, (list, tuple)) and len(given) > 1 and given[-1] is not None:
        values, answer = {str(i): value for i, value in enumerate(given[:-1])}, given[-1]
    else:
        raise OptionError(f"{name} holds {given!r}; each must have values and an answer, like {SHOWN}")
    texts = tuple((key, None if value is None else text_of(value)) for key, value in values.items())
    return CallExample(texts, json.dumps(answer, ensure_ascii=False, default=str))


def _user(template: Template, example: CallExample) -> str:
    texts = dict(example.values)
    by_name = {key.lower(): value for key, value in texts.items()}
    if template.names and all(name.lower() in by_name for name in template.names):
        values = [by_name[name.lower()] for name in template.names]
    else:
        values = list(texts.values())
    if len(values) != template.num_inputs or None in values:
        given = ", ".join(repr(value) for value in values)
        wanted = f"examples: the template takes {template.num_inputs} of each one's values"
        raise OptionError(f"{wanted}, not {given}")
    spoken = template.bind(len(values)).render(values)
    assert spoken is not None, "no value is None"
    return spoken


def _assistant(kind: AnswerType, example: CallExample) -> str:
    answer = json.loads(example.answer)
    if isinstance(kind, (YesNo, Probability)) and isinstance(answer, bool):
        answer = "yes" if answer else "no"
    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)  # as scores are spelled
    spoken = text_of(answer)
    if isinstance(kind, Extract) and kind.parse(example.answer).failure is None:
        spoken = example.answer
    if (failure := kind.parse(spoken).failure) is not None:
        raise OptionError(f"examples: {failure.message.replace('the reply', 'the answer', 1)}")
    return spoken
