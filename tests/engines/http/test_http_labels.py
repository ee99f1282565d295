"""Probabilities of choices from a server: one token a row, its likeliest others, and what too little is."""

from __future__ import annotations

import pytest
from asking import ask
from decision_fakes import first_token
from http_fakes import Answered, said

from relserve.call.answer_types import ChoiceAnswer, Grammar
from relserve.call.decisions import YES_NO, FollowUp
from relserve.engines.http.engine import HttpEngine
from relserve.engines.http.read_rows import ENOUGH_IN_VAIN
from relserve.errors import FailureKind, OptionError
from relserve.session.per_question import PerQuestion
from relserve.session.reordered import Reordered

TEAMS = ("sales", "support", "nobody")


def asked(fake, reply, choices, read="label", question="Team? x", **more):
    """The reply to one row, and the bodies that the server got."""

    async def handler(request):
        return reply

    server = fake(handler)
    prompt = f"{ChoiceAnswer(choices).instruction}\n{question}"
    how = {"grammar": Grammar(choices=choices), "max_tokens": 1, "read": read, **more}
    (found,) = ask(HttpEngine(server.url), [prompt], **how)
    return found, [body for _, body in server.requests]


def test_letters_are_asked_for_and_their_probabilities_read(fake):
    reply, (body,) = asked(fake, first_token(B=0.5, A=0.3, **{" C": 0.1, "The": 0.1}), TEAMS)
    assert reply.failure is None
    assert reply.probabilities == pytest.approx((1 / 3, 5 / 9, 1 / 9))
    (message,) = body["messages"]
    lead = "A: sales\nB: support\nC: nobody\nAnswer with exactly one of: A, B, C.\n"
    assert message["content"] == f"{lead}Team? x"
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)
    assert "response_format" not in body


def test_yes_and_no_are_their_own_labels(fake):
    reply, (body,) = asked(fake, first_token(Yes=0.6, yes=0.2, No=0.2), ("yes", "no"))
    assert reply.probabilities == pytest.approx((0.8, 0.2))
    assert body["messages"][0]["content"].startswith("Answer with exactly one of: yes, no.\n")


def test_the_mass_of_all_labels_is_told_on_request(fake):
    said = first_token(Yes=0.4, yes=0.2, No=0.1, Maybe=0.3)
    assert asked(fake, said, ("yes", "no"), label_mass=True)[0].label_masses == pytest.approx((0.7,))
    assert asked(fake, said, ("yes", "no"))[0].label_masses is None


def test_the_mass_is_not_told_where_spellings_that_are_not_told_may_have_much_of_it(fake):
    said = first_token(yes=0.5, I=0.1, The=0.1, no=0.1, Well=0.1)  # "Yes" and " no" may have 0.1, too
    reply, _ = asked(fake, said, ("yes", "no"), label_mass=True)
    assert reply.probabilities == pytest.approx((5 / 6, 1 / 6))
    assert reply.label_masses is None
    told = asked(fake, first_token(yes=0.5, no=0.1, I=0.399, The=0.001), ("yes", "no"), label_mass=True)[0]
    assert told.label_masses == pytest.approx((0.6,))


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (said("A", "length"), "tells no probabilities of tokens"),
        (first_token(A=0.2, The=0.7, B=0.01), "began 21 % of its replies with one of the labels A, B, C"),
        (first_token(A=0.8, B=0.1), "told 2 likely tokens, too few for 1 of the labels"),
    ],
)
def test_too_little_is_a_failure_and_no_guess(fake, reply, message):
    found, _ = asked(fake, reply, TEAMS)
    assert found.failure is not None
    assert found.failure.kind is FailureKind.REFUSED
    assert message in found.failure.message


def test_rows_of_which_a_server_that_tells_nothing_is_not_asked_are_unsent(fake):
    async def handler(body):
        return said("A", "length") if "messages" in body else Answered(404)

    server = fake(handler)
    replies = ask(
        HttpEngine(server.url),
        [f"Team? {i}" for i in range(10)],
        grammar=Grammar(choices=TEAMS),
        read="label",
    )
    num_chats = sum("messages" in body for _, body in server.requests)
    assert [reply.is_unsent for reply in replies].count(False) == num_chats == ENOUGH_IN_VAIN


def test_a_label_that_is_not_among_the_likely_has_no_probability_to_speak_of(fake):
    reply, _ = asked(fake, first_token(A=0.9, B=0.0995, The=0.0005), TEAMS)
    assert reply.probabilities == pytest.approx((0.9 / 0.9995, 0.0995 / 0.9995, 0.0))


def test_all_spellings_cannot_be_asked_of_a_server(fake):
    with pytest.raises(OptionError, match="read := 'exact' asks about tokens that a server does not tell"):
        asked(fake, said("A"), TEAMS, read="exact")


def test_each_question_about_a_state_has_letters_of_its_own_after_it(fake):
    async def handler(request):
        letters = "A: sales" in request["messages"][0]["content"]
        return first_token(**({"A": 0.6, "B": 0.4} if letters else {"yes": 0.9, "no": 0.1}))

    server = fake(handler)
    asked = tuple(
        FollowUp(f"{question}\n{ChoiceAnswer(choices).instruction}", choices)
        for question, choices in (("Angry?", YES_NO), ("Team?", ("sales", "support")))
    )
    how = {"max_tokens": 1, "read": "label", "follow_ups": asked}
    (reply,) = ask(PerQuestion(HttpEngine(server.url)), ["It broke."], **how)
    assert reply.probabilities == pytest.approx((0.9, 0.1, 0.6, 0.4))
    assert sorted(body["messages"][0]["content"] for _, body in server.requests) == [
        "It broke.\nAngry?\nAnswer with exactly one of: yes, no.",
        "It broke.\nTeam?\nA: sales\nB: support\nAnswer with exactly one of: A, B.",
    ]


def test_in_several_orders_the_letters_stay_and_the_choices_move(fake):
    async def handler(request):
        return first_token(A=0.6, B=0.3, C=0.1)  # whatever stands there

    server = fake(handler)
    prompt = f"{ChoiceAnswer(TEAMS).instruction}\nTeam? x"
    how = {"grammar": Grammar(choices=TEAMS), "max_tokens": 1, "read": "label", "debias": 3}
    (reply,) = ask(Reordered(HttpEngine(server.url)), [prompt], **how)
    assert reply.probabilities == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    asks = "Answer with exactly one of: A, B, C.\nTeam? x"
    assert [body["messages"][0]["content"] for _, body in server.requests] == [
        f"A: sales\nB: support\nC: nobody\n{asks}",
        f"A: support\nB: nobody\nC: sales\n{asks}",
        f"A: nobody\nB: sales\nC: support\n{asks}",
    ]
