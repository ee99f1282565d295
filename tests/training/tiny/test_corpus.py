"""The generator is deterministic, and what is held out stays out of training."""

from random import Random

import pytest

from training.tiny.corpus import HELD_OUT_TASKS, heldout, lex_films, phrasings, questions, rows
from training.tiny.corpus.entities import brand, city, person, title
from training.tiny.corpus.reviews import VERDICTS
from training.tiny.corpus.tasks import training_example
from training.tiny.corpus.text import Pool
from training.tiny.corpus.tickets import ticket_row

MAKERS = (rows.product_row, rows.film_row, rows.beer_row, ticket_row)


def _norm(text: str) -> str:
    return " ".join(text.lower().split()).rstrip("?.!: ")


@pytest.mark.parametrize("make", MAKERS)
def test_rows_depend_on_the_seed_alone(make) -> None:
    assert [make(Random(one), False) for one in range(20)] == [make(Random(one), False) for one in range(20)]


@pytest.mark.parametrize("easy", [True, False])
def test_examples_depend_on_the_seed_alone(easy: bool) -> None:
    first = [training_example(f"t-{one}", easy) for one in range(100)]
    assert first == [training_example(f"t-{one}", easy) for one in range(100)]
    assert len(set(first)) > 90


@pytest.mark.parametrize("pool", [*VERDICTS.values(), rows.DOMAINS["beers"].good, lex_films.NEUTRAL])
def test_sentence_templates_are_split_and_sayings_shared(pool: Pool) -> None:
    assert pool.train
    assert pool.held_out
    assert not set(pool.train) & set(pool.held_out)
    assert set(pool.part(False)) & set(pool.part(True)) == set(pool.shared)
    assert all("{" in entry for entry in pool.train + pool.held_out)
    assert not any("{" in entry for entry in pool.shared)


@pytest.mark.parametrize("draw", [brand, title, person, city])
def test_names_are_split(draw) -> None:
    train = {draw(Random(one), False) for one in range(300)}
    assert not train & {draw(Random(one), True) for one in range(300)}


@pytest.mark.parametrize("make", MAKERS)
def test_held_out_rows_are_other_rows(make) -> None:
    train = {tuple(make(Random(one), False).columns.values()) for one in range(200)}
    assert not train & {tuple(make(Random(one), True).columns.values()) for one in range(200)}


def test_phrasings_of_training_and_evaluation_are_disjoint() -> None:
    seen = {_norm(one) for said in questions.SEEN.values() for one in said}
    seen |= {_norm(one) for said in phrasings.CATEGORY.values() for one in said}
    for said in (
        phrasings.SENTIMENT,
        phrasings.RATING,
        phrasings.EXTRACTION,
        phrasings.SUMMARY,
        phrasings.REPLY,
    ):
        seen |= {_norm(one) for one in said}
    unseen = [
        one for said in (*questions.UNSEEN.values(), *phrasings.CATEGORY_UNSEEN.values()) for one in said
    ]
    for more in (phrasings.SENTIMENT_UNSEEN, phrasings.RATING_UNSEEN, phrasings.EXTRACTION_UNSEEN):
        assert len(more) >= 8
        unseen += more
    for template in (*unseen, *phrasings.SUMMARY_UNSEEN):
        core = _norm(template.replace("\\n", " ").replace("{data}", " "))
        assert "{data}" in template
        assert core not in seen


def test_there_are_many_phrasings() -> None:
    for said in (phrasings.SENTIMENT, phrasings.RATING, phrasings.EXTRACTION):
        assert len(said) >= 40
    assert sum(map(len, phrasings.CATEGORY.values())) >= 40
    assert sum(map(len, questions.SEEN.values())) >= 100


@pytest.mark.cells(1)
@pytest.mark.parametrize("task", HELD_OUT_TASKS)
@pytest.mark.parametrize("unseen", [False, True])
def test_held_out_groups_are_well_formed(task: str, unseen: bool) -> None:
    groups = heldout(task, 130, seed=3, unseen_phrasing=unseen)
    assert groups == heldout(task, 130, seed=3, unseen_phrasing=unseen)
    assert sum(len(group.expected) for group in groups) == 130
    for group in groups:
        assert group.seen_phrasing is not unseen
        assert group.template.count("{" + group.column + "}") == 1
        assert len(group.columns[group.column]) == len(group.expected)
        if group.choices:
            assert set(group.expected) <= set(group.choices)
        if group.bounds:
            assert all(group.bounds[0] <= int(answer) <= group.bounds[1] for answer in group.expected)


@pytest.mark.long
def test_yes_and_no_are_balanced() -> None:
    answers = [answer for group in heldout("yes_no", 400) for answer in group.expected]
    assert 0.4 < answers.count("yes") / len(answers) < 0.6


def test_unknown_task_is_named() -> None:
    with pytest.raises(ValueError, match="unknown task 'poetry'; known: sentiment"):
        heldout("poetry", 5)
