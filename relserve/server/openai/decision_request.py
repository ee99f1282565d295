"""What a client asks to be decided: System One's questions about a state, or those of `/v1/decisions`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from relserve.call.decided import Decided
from relserve.call.questions import TypedQuestion, read_questions
from relserve.call.relquery import Sampling, Submission, new_rel_id
from relserve.errors import OptionError
from relserve.server.openai.asked import CommonFields, read_common, tags_of
from relserve.server.openai.refusal import Refusal, bad_request
from relserve.server.users.salts import Salts
from relserve.server.users.users import User
from relserve.session.per_question import questions_of

SYSTEM_ONE, DECISIONS = "/v1/systemone", "/v1/decisions"
MOST_CHARS = 1 << 25  # of a request's prompts: 64 questions about 128,000 tokens
# What vLLM's own endpoint takes besides. It would change what is read, so it is not left out in silence.
_NOT_TAKEN = ("images", "audio", "videos", "chat_template_kwargs")
_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}  # of parts
_INPUT = 'input is a text, or a list of messages like [{"role": "user", "content": "It came broken."}]'

_QUESTIONS = 'questions is a list like [{"type": "predicate", "instructions": "Is it a complaint?"}]'


@dataclass(frozen=True)
class DecisionRequest:
    """One request; what is not here is as of `OpenAIRequest`.

    Attributes:
        questions: about one state.
        names: of the questions, as the client gave them; None: it gave none.
        values: of each question's choices, as the client wrote them: some are true and false, not texts.
        submission: what the engine is asked, a prompt for each question.
    """

    path: str
    questions: tuple[TypedQuestion, ...]
    names: tuple[str | None, ...]
    values: tuple[tuple[Any, ...], ...]
    submission: Submission
    num_chars: int
    slo: str | float | None
    deadline_s: float | None
    num_ids: int = 0
    max_tokens: int | None = 1

    @property
    def num_answers(self) -> int:
        """How many questions there are."""
        return len(self.questions)


def read_decision(path: str, raw: bytes, model: str, user: User, salts: Salts) -> DecisionRequest:
    """A request's body; the arguments are those of `read_common`.

    Raises:
        Refusal: it is no JSON object, names another model, or a question is wrong; says which, and how to
            mend it.
    """
    # Of two questions with one id one alone would be asked; no engine reads half a surrogate pair.
    common = read_common(raw, model, user, salts, is_clear=True)
    body = common.body
    for name in _NOT_TAKEN:
        if body.get(name):
            raise bad_request(f"{name}: this server decides about text alone; leave it out", name)
    asked: Any
    if path == DECISIONS:
        state, asked = _input_of(body.get("input")), _listed(body.get("questions"))
    else:
        state, asked = _state_of(body.get("state")), body.get("questions")
    try:
        questions = read_questions(asked)
    except OptionError as error:
        raise bad_request(str(error), "questions") from None
    given = body["questions"] if path == DECISIONS else [{"name": each.key} for each in questions]
    submission = _submission(common, user, state, questions)
    return DecisionRequest(
        path, questions, tuple(each.get("name") for each in given), tuple(map(_values_of, questions, given)),
        submission, sum(len(submission.lead) + len(prompt) for prompt in submission.prompts), common.limit,
        common.deadline_s,
    )  # fmt: skip


def _state_of(given: Any) -> str:
    """The state as the model reads it: a text as it is, other JSON without spaces."""
    if given is None:
        raise bad_request("state is missing: give the text or the JSON that the questions are about", "state")
    return given if isinstance(given, str) else _compact(given)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _input_of(given: Any) -> str:
    """The input as one text: that of a single message as it is, of several each after its role."""
    if isinstance(given, str):
        return given
    if not isinstance(given, list) or not given:
        raise bad_request(_INPUT, "input")
    said = [_item(f"item {place} of input", item) for place, item in enumerate(given, 1)]
    return said[0][1] if len(said) == 1 else "\n".join(f"{who}: {text}" for who, text in said)


def _item(where: str, item: Any) -> tuple[str, str]:
    """Who says it, or what it is, and its text."""
    if not isinstance(item, dict):
        raise bad_request(f"{where} is {_compact(item)[:80]}; {_INPUT}", "input")
    if item.get("type", "message") == "message":
        return str(item.get("role", "user")), _text_of(where, item.get("content"), "input")
    said = {name: value for name, value in item.items() if name not in ("type", "id", "status")}
    if isinstance(said.get("output"), list):
        said["output"] = _text_of(where, said["output"], "input")
    return str(item["type"]), _compact(said)


def _text_of(where: str, content: Any, param: str) -> str:
    """A text, or the parts of one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(_part(where, part, param) for part in parts)


def _part(where: str, part: Any, param: str) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "input_json" and "data" in part:
        return _compact(part["data"])
    text = part.get(_TEXTS[kind]) if isinstance(kind, str) and kind in _TEXTS else None
    if not isinstance(text, str):
        raise bad_request(
            f"{where} has {_compact(part)[:80]}; this server reads text alone: give a text, or parts of the "
            "types input_text and input_json",
            param,
        )
    return text


def _listed(given: Any) -> list[Any]:
    """The questions of `/v1/decisions` as `read_questions` takes them: named, their instructions texts."""
    if not isinstance(given, list):
        raise bad_request(_QUESTIONS, "questions")
    return [_question(place, each) for place, each in enumerate(given, 1)]


def _question(place: int, given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given  # which `read_questions` refuses
    where = f"question {place}"
    asked = {**given, "name": where if given.get("name") is None else given["name"]}
    if isinstance(given.get("instructions"), list):
        asked["instructions"] = _text_of(where, given["instructions"], "questions")
    return asked


def _values_of(question: TypedQuestion, given: Mapping[str, Any]) -> tuple[Any, ...]:
    """The choices as the client wrote them."""
    choices = given.get("choices")
    if question.kind != "choice" or not isinstance(choices, list):
        return question.choices
    pairs = [each if isinstance(each, Mapping) else {"value": each} for each in choices]
    return tuple(each.get("value", each.get("label")) for each in pairs)


def _submission(
    common: CommonFields, user: User, state: str, questions: tuple[TypedQuestion, ...]
) -> Submission:
    """What the engine is asked: a relQuery whose rows are the questions, as llm_decide asks them of a row."""
    body, tags = common.body, tags_of(common, user.name, len(questions))
    system, stage = body.get("instructions"), tags.get("rel_stage")
    if system is not None and not isinstance(system, str):
        raise bad_request("instructions is a text, which stands before all questions", "instructions")
    if (size := len(state) * len(questions)) > MOST_CHARS:
        why = f"the state, once for each question, has {size:,} characters; the most is {MOST_CHARS:,}"
        raise Refusal(413, f"{why}: shorten it, or ask fewer questions at once", param="questions")
    decided = Decided(tuple(each.key for each in questions), questions=questions)
    asked = Submission(
        tags.get("rel_id") or new_rel_id(), [state],
        Sampling(decided.default_max_tokens, read="label", follow_ups=decided.follow_ups),
        system=system or None, workflow_id=tags.get("rel_workflow"),
        stage=None if stage is None else str(stage), deadline_s=tags.get("rel_deadline_s"),
        slo=common.slo if any(common.slo[:2]) else None, user=user.name, cache_salt=body.get("cache_salt"),
    )  # fmt: skip
    return replace(questions_of(asked), rows=tags.get("rel_rows"))
