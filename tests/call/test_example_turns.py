"""Examples of a call: checked against its template and the type of its answers, told as turns."""

from __future__ import annotations

from typing import Any

import pytest

from relserve.call.answer_types import ChoiceAnswer, Extract, Number, Text, YesNo
from relserve.call.options import FUNCTIONS, Options, parse_options
from relserve.call.relquery import CallSite, Submission, sampling_of
from relserve.call.reply_keys import keys_of
from relserve.call.schema import shape_of
from relserve.call.template import Template
from relserve.call.turns import examples_of, messages_of, turns_of
from relserve.engines.http.dialect import Dialect
from relserve.engines.local.prompts import PromptEncoder
from relserve.errors import OptionError

TURNS = (
    (("user", "Mood of fine?"), ("assistant", "good")),
    (("user", "Mood of flat?"), ("assistant", "bad")),
)


def turns(template: str, kind: Any, value: Any) -> list[tuple[str, str]]:
    return [tuple(turn) for turn in turns_of(Template.parse(template), kind, examples_of("examples", value))]


@pytest.mark.parametrize(
    ("template", "kind", "value", "expected"),
    [
        ("Mood of {}?", Text(), [["fine", "good"]], [("Mood of fine?", "good")]),
        ("{b} or {a}", Text(), [{"answer": "x", "A": 1, "b": True}], [("true or 1", "x")]),
        ("{} or {}", Text(), [{"p": 1, "q": 2, "answer": "x"}], [("1 or 2", "x")]),
        ("{}?", YesNo(), [["a", True], ["b", "no"]], [("L\na?", "yes"), ("L\nb?", "no")]),
        ("{}?", ChoiceAnswer(("good", "bad")), [["a", "bad"]], [("L\na?", "bad")]),
        ("{}?", Number(1, 5), [["a", 4]], [("L\na?", "4")]),
        ("{}?", Extract(shape_of('{"a": "INTEGER"}')), [["a", {"a": 3}]], [("L\na?", '{"a": 3}')]),
        ("{}?", FUNCTIONS["llm_int"].answer_type(Options()), [["a", 3]], [("L\na?", "3")]),
        ("{}?", FUNCTIONS["llm_bool"].answer_type(Options()), [["a", True]], [("L\na?", "true")]),
        ("{}?", FUNCTIONS["llm_date"].answer_type(Options()), [["a", "2024-02-29"]],
         [("L\na?", '"2024-02-29"')]),
    ],
)  # fmt: skip
def test_an_example_is_asked_as_a_row_is(template: str, kind: Any, value: Any, expected: Any) -> None:
    lead = kind.instruction
    assert turns(template, kind, value) == [(user.replace("L", lead, 1), said) for user, said in expected]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([], "must be a list like"),
        ("fine", "must be a list like"),
        ([["fine"]], "must have values and an answer"),
        ([{"answer": "good"}], "must have values and an answer"),
        ([["fine", None]], "must have values and an answer"),
        ([["fine", "nice", "good"]], "the template takes 1 of each one's values"),
        ([[None, "good"]], "the template takes 1 of each one's values"),
        ([["fine", "great"]], r"the answer 'great' is not one of \['good', 'bad'\]"),
        ([["fine", "good"]] * 101, "the most is 100"),
    ],
)
def test_a_wrong_example_is_refused(value: Any, why: str) -> None:
    with pytest.raises(OptionError, match=f"examples.*{why}"):
        turns("Mood of {}?", ChoiceAnswer(("good", "bad")), value)


def submission(system: str | None, examples: Any = (["fine", "good"], ["flat", "bad"])) -> Submission:
    options = parse_options("llm", {"examples": examples, "system": system})
    site = CallSite("llm", Template.parse("Mood of {}?").bind(1), options)
    return Submission("rel-1", ["Mood of beer?"], sampling_of("llm", options), system, turns=site.turns)


def test_a_server_gets_them_as_messages() -> None:
    told = Dialect().body("m", "Mood of beer?", submission("Be brief."))["messages"]
    said = [(each["role"], each["content"]) for each in told]
    before = [pair for turn in TURNS for pair in turn]
    assert said == [("system", "Be brief."), *before, ("user", "Mood of beer?")]
    assert messages_of("p", "Be brief.", submission(None).turns, system_role=False)[0] == (
        "user",
        "Be brief.\n\nMood of fine?",
    )


class _Tokenizer:
    """Of one token a character; its template shows who says what."""

    def __init__(self, chat_template: str | None) -> None:
        self.chat_template = chat_template

    def apply_chat_template(self, conversations: Any, **_: Any) -> list[str]:
        return ["".join(f"<{m['role'][0]}>{m['content']}" for m in each) for each in conversations]

    def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
        return {"input_ids": [list(map(ord, text)) for text in texts]}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("any", "<s>Be brief.<u>Mood of fine?<a>good<u>Mood of flat?<a>bad<u>Mood of beer?"),
        (None, "Be brief.\nMood of fine?\ngood\nMood of flat?\nbad\nMood of beer?"),
    ],
)
def test_a_local_model_gets_them_through_its_template(template: str | None, expected: str) -> None:
    asked = submission("Be brief.")
    encoder = PromptEncoder(_Tokenizer(template))
    (ids,) = encoder.encode(asked.prompts, asked.system, 0, asked.turns)
    assert "".join(map(chr, ids)) == expected
    assert (
        asked.lead + asked.prompts[0] == "Be brief.\nMood of fine?\ngood\nMood of flat?\nbad\nMood of beer?"
    )


def test_answers_with_other_examples_are_kept_apart() -> None:
    keys = {keys_of("model", each)[0] for each in (submission(None), submission(None, [["fine", "bad"]]))}
    plain = Submission("rel-1", ["Mood of beer?"], submission(None).sampling)
    assert len(keys | {keys_of("model", plain)[0]}) == 3


def test_calls_with_other_examples_are_of_another_kind() -> None:
    given = [parse_options("llm", {"examples": [["a", answer]]}) for answer in ("b", "c")]
    assert len({CallSite("llm", Template.parse("{}").bind(1), each).kind for each in given}) == 2
