"""Probabilities from a server's decision path: which path is asked, what with, and what goes together."""

from __future__ import annotations

import json
import math
from functools import partial

import pytest
from asking import ask
from decision_fakes import FIRST, decisions, first_token, serving, system_one
from http_fakes import Answered, said

from relserve.call.answer_types import Grammar
from relserve.call.options import parse_options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.http.engine import HttpEngine
from relserve.errors import EngineStartError, ModelError
from relserve.session.session import Session

CHAT = ["/v1/chat/completions"]
COMPLETIONS = ["/v1/completions"]
SYSTEM_ONE = ["/v1/systemone"]
DECISIONS = ["/v1/decisions"]
NO_LOGPROBS = {"error": {"message": "You are not allowed to request logprobs from this model"}}


class Asked:
    """A call over three rows at a made-up server: its values, and what came of them."""

    def __init__(self, fake, function="llm_prob", rows=("a", "b", "c"), template="Is it? {}", **options):
        self._fake, self._call = fake, partial(_query, function, rows, template, options)

    def of(self, **replies):
        """The values that a server of these paths gives."""
        self.server = self._fake(serving(**replies))
        self.engine = HttpEngine(self.server.url)
        self.session = Session(lambda model: self.engine)
        return self.again()

    def again(self):
        return self.session.run(self._call()).values

    @property
    def paths(self):
        return [path for path, _ in self.server.requests]

    @property
    def body(self):
        """The latest one."""
        return self.server.requests[-1][1]

    @property
    def why(self):
        """Why rows are NULL."""
        return [error.failure.message for error in self.session.history.errors()]


def _query(function, rows, template, options):
    binding = Template.parse(template).bind(1)
    return RelQuery(function, binding, [(row,) for row in rows], parse_options(function, options))


@pytest.mark.parametrize(
    ("replies", "paths"),
    [
        ({"system_one": system_one}, CHAT + COMPLETIONS + SYSTEM_ONE * 3),
        ({"decisions": decisions}, CHAT + COMPLETIONS + SYSTEM_ONE + DECISIONS * 3),
        ({"chat": said("yes"), "system_one": system_one}, CHAT + SYSTEM_ONE * 3),
        ({"chat": Answered(403, NO_LOGPROBS), "decisions": decisions}, CHAT + SYSTEM_ONE + DECISIONS * 3),
        (
            {"chat": Answered(400, {"error": "not a chat model"}), "system_one": system_one},
            CHAT + SYSTEM_ONE * 3,
        ),
        (
            {"chat": said("yes"), "system_one": said("what is this path?"), "decisions": decisions},
            CHAT + SYSTEM_ONE + DECISIONS * 3,
        ),
        (
            {"chat": said("yes"), "system_one": Answered(501, {"error": "no such model"})}
            | {"decisions": decisions},
            CHAT + SYSTEM_ONE + DECISIONS * 3,
        ),
    ],
    ids=["jev", "openai", "no logprobs", "refused logprobs", "no chat model", "odd 200", "501"],
)
def test_it_is_found_out_with_the_first_row_which_path_a_server_has(fake, replies, paths):
    asked = Asked(fake)
    assert asked.of(**replies) == pytest.approx([FIRST] * 3)
    assert asked.paths == paths
    asked.again()
    assert asked.paths == paths + paths[-3:], "it was found out anew"


@pytest.mark.parametrize(
    ("chat", "why"),
    [
        (said("yes"), "the server tells no probabilities of tokens; name another model"),
        (Answered(403, NO_LOGPROBS), f"HTTP 403: {NO_LOGPROBS['error']['message']}"),
    ],
    ids=["no logprobs", "refused logprobs"],
)
def test_without_any_path_two_rows_are_asked_and_each_says_what_the_chat_lacked(fake, chat, why):
    asked = Asked(fake)
    assert asked.of(chat=chat) == [None] * 3
    assert asked.paths == CHAT + SYSTEM_ONE + DECISIONS + CHAT
    assert asked.why == [why] * 3
    assert asked.again() == [None] * 3
    assert asked.paths == CHAT + SYSTEM_ONE + DECISIONS + CHAT * 3, "the paths were tried again"


def test_a_server_that_was_mended_meanwhile_is_read(fake):
    asked, chats = Asked(fake), [said("yes")]
    assert asked.of(chat=lambda body: chats[-1]) == [None] * 3
    chats.append(first_token(yes=FIRST, no=1 - FIRST))
    assert asked.again() == pytest.approx([FIRST] * 3)
    assert asked.paths == CHAT + SYSTEM_ONE + DECISIONS + CHAT * 4


def test_a_server_that_has_nothing_is_an_error(fake):
    with pytest.raises(EngineStartError, match="neither /chat/completions nor /completions"):
        Asked(fake).of()


def test_a_model_that_a_decision_server_does_not_have_is_an_error(fake):
    missing = Answered(404, {"detail": "model 'fake' not found"})
    with pytest.raises(ModelError, match="does not serve 'fake'"):
        Asked(fake).of(system_one=missing)


def test_system_one_gets_state_and_question_apart(fake):
    asked = Asked(fake, rows=["it broke"], template="Is it a complaint? {}", system="Be fair.")
    asked.of(system_one=system_one)
    question = {"type": "noul", "instructions": "Be fair.\nIs it a complaint?"}
    assert asked.body == {"model": "fake", "state": "it broke", "questions": {"q0": question}}


def test_decisions_gets_choices_and_examples(fake):
    choices = ["sales", "support"]
    asked = Asked(
        fake, "llm_probs", ["it broke"], "Team? {}", choices=choices,
        examples=[["a price", "sales"]],
    )  # fmt: skip
    (value,) = asked.of(decisions=decisions)
    assert json.loads(value) == pytest.approx({"sales": 0.7, "support": 0.3})
    text = "Example: Team? a price\nAnswer: sales\nTeam?"
    told = [{"value": "sales"}, {"value": "support"}]
    question = {"type": "choice", "name": "q0", "instructions": text, "choices": told}
    assert asked.body == {"model": "fake", "input": "it broke", "questions": [question]}


def test_a_prompt_that_cannot_be_taken_apart_is_the_state(fake):
    asked = Asked(fake, rows=["ale"], template='Is "{}" a beer?')
    asked.of(system_one=system_one)
    assert asked.body["state"] == 'Is "ale" a beer?'
    assert asked.body["questions"]["q0"]["instructions"] == "Answer what the text asks."


@pytest.mark.parametrize("replies", [{"system_one": system_one}, {"decisions": decisions}])
def test_all_labels_of_a_row_are_one_request(fake, replies):
    asked = Asked(fake, "llm_tags", template="About? {}", choices=["x", "y", "z"])
    assert asked.of(**replies) == ['["x", "y", "z"]'] * 3
    count = len(asked.paths)
    asked.again()
    assert len(asked.paths) == count + 3
    (body,) = [body for _, body in asked.server.requests[count:] if "c" in body.values()]
    questions = body["questions"]
    questions = list(questions.values()) if isinstance(questions, dict) else questions
    assert [each["instructions"] for each in questions] == [f'About?\nDoes "{c}" apply?' for c in "xyz"]


def test_tokens_of_a_request_are_counted_once(fake):
    asked = Asked(fake, "llm_tags", choices=["x", "y", "z"])
    asked.of(decisions=decisions)
    asked.again()
    usage = asked.session.history.queries()[-1].usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.output_tokens) == (120, 24, 0)


def test_label_masses_are_told_where_the_server_tells_them(fake):
    def diagnosed(body):
        reply = system_one(body)
        mass = {"label_mass": {"a": 0.4, "b": "much", "c": 1.0}[body["state"]]}
        reply.body["diagnostics"] = dict.fromkeys(body["questions"], mass)
        return reply

    asked = Asked(fake, "llm_probs", ["a", "b", "c"], choices=["x", "y"], label_mass=True)
    assert [json.loads(value)["label_mass"] for value in asked.of(system_one=diagnosed)] == [0.4, None, None]
    assert [json.loads(value)["label_mass"] for value in asked.of(decisions=decisions)] == [None] * 3


def test_one_label_without_an_answer_costs_its_row_alone(fake):
    def partial_answers(body):
        return system_one(body, q1=None) if body["state"] == "b" else system_one(body)

    asked = Asked(fake, "llm_tags", choices=["x", "y"])
    assert asked.of(system_one=partial_answers) == ['["x", "y"]', None, '["x", "y"]']
    assert asked.why == ["the server left this question without an answer"]


def test_more_questions_than_a_server_takes_go_in_several_requests(fake):
    def two_at_most(body):
        many = Answered(400, {"error": {"message": "questions: at most 2 for this model"}})
        return system_one(body) if len(body["questions"]) <= 2 else many

    asked = Asked(fake, "llm_tags", ["a", "b"], choices=["v", "w", "x", "y", "z"])
    assert asked.of(system_one=two_at_most) == ['["v", "w", "x", "y", "z"]'] * 2


def test_one_question_that_is_refused_costs_its_row_alone(fake):
    def not_y(body):
        asked = [question["instructions"] for question in body["questions"].values()]
        bad = body["state"] == "b" and any('"y"' in each for each in asked)
        return Answered(422, {"detail": "label 'y' is not one token"}) if bad else system_one(body)

    asked = Asked(fake, "llm_tags", choices=["x", "y", "z"])
    assert asked.of(system_one=not_y) == ['["x", "y", "z"]', None, '["x", "y", "z"]']
    assert asked.why == ["HTTP 422: label 'y' is not one token"]


def test_a_server_that_only_decides_says_so_to_other_functions(fake):
    asked = Asked(fake)
    asked.of(system_one=system_one)
    with pytest.raises(EngineStartError, match=r"it has /systemone alone, for llm_prob and its like"):
        asked.session.run(_query("llm_filter", ["a"], "Is it? {}", {}))


def test_one_odd_reply_does_not_change_how_the_others_are_read(fake):
    """As of a content filter: the server has told no probabilities, and has no other path."""
    left = [said("", "content_filter")]
    told = said("yes", "length")
    likely = [{"token": token, "logprob": math.log(p)} for token, p in (("yes", 0.9), ("no", 0.1))]
    told.body["choices"][0]["logprobs"] = {"content": [{**likely[0], "top_logprobs": likely}]}
    asked = Asked(fake)
    assert asked.of(chat=lambda body: left.pop() if left else told) == [None, *[pytest.approx(0.9)] * 2]
    assert asked.paths == CHAT + SYSTEM_ONE + DECISIONS + CHAT * 2


def test_yes_and_no_may_come_in_either_order(fake):
    engine = HttpEngine(fake(serving(system_one=system_one)).url)
    how = {"grammar": Grammar(choices=("no", "yes")), "max_tokens": 1, "read": "label"}
    (reply,) = ask(engine, ["Is it?"], **how)
    assert (reply.text, reply.probabilities) == ("yes", pytest.approx((1 - FIRST, FIRST)))


def test_the_questions_of_llm_decide_go_together_as_they_were_asked(fake):
    questions = {
        "late": {"type": "noul", "instructions": "Is it late?"},
        "team": {
            "type": "choice",
            "instructions": "Which team?",
            "criteria": {"sales": "prices", "it": None},
        },
    }
    asked = Asked(fake, "llm_decide", ["a", "b"], "{}", questions=questions)
    found = [json.loads(value) for value in asked.of(system_one=system_one)]
    team = {
        "choice": "sales",
        "probability": FIRST,
        "probabilities": pytest.approx({"sales": FIRST, "it": 0.3}),
    }
    assert found == [{"late": pytest.approx(FIRST), "team": team}] * 2
    asked.again()
    assert asked.body["state"] == "b"
    assert list(asked.body["questions"].values()) == [
        {"type": "noul", "instructions": "Is it late?"},
        {
            "type": "choice", "instructions": "Which team?\nsales: prices",
            "criteria": {"sales": None, "it": None},
        },
    ]  # fmt: skip
