"""Training for text2sql: what is weighed, what is drawn, and that a run that was killed goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from relserve.text2sql.writers import writes_handles
from tests.modules import later
from training.tiny_sql.corpus.questions import example
from training.tiny_sql.tokenizer import train_tokenizer

answering = later("training.tiny_sql.answering")
batches = later("training.tiny_sql.batches")
evaluate = later("training.tiny_sql.evaluate")
plans = later("training.tiny_sql.plan")
torch = later("torch")
train = later("training.tiny_sql.train")


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return train_tokenizer(batches.corpus_texts(40), 600)


@pytest.fixture(scope="module")
def micro() -> Any:
    """A plan of two steps of a model that trains within a second."""
    return replace(
        plans.SQL_PLAN, max_steps=2, batch_tokens=1024, hidden=64, layers=2, heads=2, intermediate=64,
        vocab=600, tokenizer_examples=40, save_every_s=0.0, compiled=False,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def plan(micro: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    plan = replace(micro, out=tmp_path_factory.mktemp("run"))
    train.train(plan)
    return plan


def test_only_answers_weigh_fully(tokenizer: Any) -> None:
    encode = batches.WeightedEncoder(tokenizer, 0.05)
    ids, weights = encode("beer t0 : abv c1 num", [(" ? max abv =>", "select max ( c1 ) from t0")])
    assert len(ids) == len(weights)
    assert tokenizer.decode([i for i, w in zip(ids, weights, strict=True) if w == 1.0]) == (
        "select max ( c1 ) from t0 </s>"
    )
    assert weights[0] == 0.0
    assert set(weights[1:]) == {0.05, 1.0}


def test_a_batch_depends_on_its_number_alone(tokenizer: Any, micro: Any) -> None:
    first, again = (batches.stream(tokenizer, micro).batch(17) for _ in range(2))
    assert torch.equal(first.ids, again.ids)
    assert first.ids.shape[1] <= batches.MAX_TOKENS
    assert not torch.equal(first.ids[0, :40], batches.stream(tokenizer, micro).batch(18).ids[0, :40])


@pytest.mark.long
def test_a_run_goes_on_and_its_state_can_be_exported(plan: Any, tokenizer: Any) -> None:
    assert train.train(replace(plan, max_steps=4), resume=True).step == 4
    assert plans.export_state(plan, tokenizer).step == 4
    assert writes_handles(str(plan.out / "model"))


def test_an_untrained_model_answers_within_the_grammar(plan: Any) -> None:
    one = example("answers", held_out=True)
    answers = answering.GrammarModel(plan.out / "model").shuffled([(one.schema.schema, one.question)], 3)[0]
    assert len(answers) == 3
    assert all(sql is None or sql.startswith("SELECT ") for sql in answers)
    assert any(answers)


def test_evaluation_tells_right_from_wrong(plan: Any) -> None:
    model = answering.GrammarModel(plan.out / "model")
    held_out = batches.evaluation_set(model.tokenizer, 4, held_out=True)
    assert sum(len(batch.ids) for batch in held_out) == 4
    assert answering.share_told(model.model, held_out) == 0.0
    assert len(evaluate.verdicts(plan.out / "model", 2, shuffles=2)) == 2
