"""Labels of choices: which there are, and how prompts and examples read with them."""

from __future__ import annotations

import pytest

from relserve.call.decisions import YES_NO
from relserve.call.labels import Labels, labels_of, with_own_labels
from relserve.call.options import parse_options
from relserve.call.relquery import CallSite, Submission
from relserve.call.template import Template
from relserve.session.per_question import questions_of

TEAMS = ("sales", "support, or so")


def submission_of(*texts: str) -> Submission:
    examples = [{"text": "How much?", "answer": "Sales"}]
    options = parse_options("llm_probs", {"choices": list(TEAMS), "examples": examples})
    site = CallSite("llm_probs", Template.parse("Team? {}").bind(1), options)
    prompts = [prompt for prompt in site.prompts([(text,) for text in texts]) if prompt is not None]
    return Submission("r", prompts, site.sampling, turns=site.turns)


def test_words_come_first_then_letters_then_digits() -> None:
    assert labels_of(TEAMS) == (Labels(TEAMS, TEAMS), Labels(TEAMS, ("A", "B")), Labels(TEAMS, ("1", "2")))
    assert labels_of(YES_NO) == (Labels(YES_NO, YES_NO),)
    assert [len(labels_of([f"c{i}" for i in range(num)])) for num in (9, 10, 26, 27)] == [3, 2, 2, 1]


@pytest.mark.parametrize(
    ("choices", "best"),
    [("BA", "12"), ("ba", "12"), ("AB", "AB"), ("XB", "AB"), ("21", "AB"), ("C1A", "ABC")],
)
def test_a_label_that_is_another_choices_word_comes_last(choices: str, best: str) -> None:
    _, signs, others = labels_of(tuple(choices))
    assert signs.labels == tuple(best)
    assert {signs.labels[0], others.labels[0]} == {"A", "1"}


def test_prompts_and_examples_name_the_choices_by_their_labels_and_back() -> None:
    submission = submission_of("It broke.", "A: x")
    words, letters, _ = labels_of(TEAMS)
    asked = letters.asked(submission)
    lead = "A: sales\nB: support, or so\nAnswer with exactly one of: A, B.\n"
    assert asked.prompts == [f"{lead}Team? It broke.", f"{lead}Team? A: x"]
    assert asked.turns == ((f"{lead}Team? How much?", "A"),)
    assert asked.labels == ("A", "B")
    plain = letters.without(asked)
    assert (plain.prompts, plain.labels) == (submission.prompts, ())
    assert plain.turns[0].assistant == "sales"
    assert words.asked(submission).prompts == submission.prompts


def test_after_a_state_the_labels_stand_where_the_choices_stood_and_each_question_has_its_own() -> None:
    questions = {
        "angry": {"type": "noul", "instructions": "Angry?"},
        "team": {"type": "choice", "instructions": "Team?", "criteria": {"sales": "prices", "support": None}},
    }
    options = parse_options("llm_decide", {"questions": questions})
    site = CallSite("llm_decide", Template.parse("{}").bind(1), options)
    submission = questions_of(Submission("r", ["It broke."], site.sampling))
    yes_no = "It broke.\nAngry?\nAnswer with exactly one of: yes, no."
    team = "It broke.\nTeam?\nsales: prices\n"
    assert submission.prompts == [yes_no, f"{team}Answer with exactly one of: sales, support."]

    def by_last(submission: Submission) -> Submission:
        assert submission.sampling.grammar is not None
        return labels_of(submission.sampling.grammar.choices)[:2][-1].asked(submission)

    asked = with_own_labels(submission, by_last)
    letters = "A: sales\nB: support\nAnswer with exactly one of: A, B."
    assert asked.prompts == [yes_no, team + letters]
    assert asked.own_labels == [YES_NO, ("A", "B")]
    one = asked.part([1], None).as_for(0)
    assert one.labels == ("A", "B")
    assert Labels(("sales", "support"), ("A", "B")).without(one).prompts == [submission.prompts[1]]
