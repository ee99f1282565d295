"""What of a prompt is the question, and what the state that it is about."""

from __future__ import annotations

import pytest

from relserve.call.frame import Frame, frame_of
from relserve.call.template import Template


@pytest.mark.parametrize(
    ("template", "values", "question", "state"),
    [
        ("Is it a complaint? {}", ("it broke",), "Is it a complaint?", "it broke"),
        ("Team for {}", ("it broke",), "Team for", "it broke"),
        ("{}\nIs it a complaint?", ("it broke",), "Is it a complaint?", "it broke"),
        ("Is it one? {}\nThink of money.", ("it broke",), "Is it one?\nThink of money.", "it broke"),
        ("Is it one? {title}: {text}", ("Cup", "it broke"), "Is it one?", "Cup: it broke"),
        ('Is "{}" a complaint?', ("it broke",), "", 'Is "it broke" a complaint?'),
        ("Is {} a kind of {}", ("ale", "beer"), "", "Is ale a kind of beer"),
        ("{} is a {}\nIs it?", ("ale", "beer"), "Is it?", "ale is a beer"),
        ("Is water wet?", (), "", "Is water wet?"),
        ("{}", ("Is water wet?",), "", "Is water wet?"),
    ],
)
def test_a_prompt_is_taken_apart_where_its_template_allows(template, values, question, state):
    parsed = Template.parse(template)
    prompt = parsed.bind(len(values)).render(values)
    assert frame_of(parsed).apart(prompt) == (question, state)


def test_what_stands_before_the_question_belongs_to_it():
    assert Frame("Is it? ").apart("yes: it is\nIs it? a b") == ("yes: it is\nIs it?", "a b")


def test_a_prompt_without_the_texts_is_a_state():
    assert Frame("Is it? ", ("\nThink.",)).apart("another prompt") == ("", "another prompt")


def test_further_texts_may_follow():
    frame = Frame("Is it? ", ("\nThink.",)).then(("\nOf a?", "\nOf b?"))
    assert frame.apart("Is it? x\nThink.\nOf b?") == ("Is it?\nThink.\nOf b?", "x")
    assert frame.apart("Is it? x\nOf a?") == ("Is it?\nOf a?", "x")
