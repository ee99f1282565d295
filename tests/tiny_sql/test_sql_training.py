"""Training for text2sql: what is weighed, what is drawn, and that a run that was killed goes on."""

from dataclasses import replace

import pytest
import torch

from relserve.text2sql.writers import writes_handles
from relserve.tiny.plan import Plan
from relserve.tiny_sql.answering import Model, share_told
from relserve.tiny_sql.batches import MAX_TOKENS, Encoder, corpus_texts, evaluation_set, stream
from relserve.tiny_sql.corpus.questions import example
from relserve.tiny_sql.evaluate import verdicts
from relserve.tiny_sql.plan import SQL_PLAN, export_state
from relserve.tiny_sql.tokenizer import train_tokenizer
from relserve.tiny_sql.train import train

TOKENIZER = train_tokenizer(corpus_texts(40), 600)
MICRO = replace(
    SQL_PLAN, max_steps=2, batch_tokens=1024, hidden=64, layers=2, heads=2, intermediate=64, vocab=600,
    tokenizer_examples=40, save_every_s=0.0, compiled=False,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    plan = replace(MICRO, out=tmp_path_factory.mktemp("run"))
    train(plan)
    return plan


def test_only_answers_weigh_fully() -> None:
    encode = Encoder(TOKENIZER, 0.05)
    ids, weights = encode("beer t0 : abv c1 num", [(" ? max abv =>", "select max ( c1 ) from t0")])
    assert len(ids) == len(weights)
    assert TOKENIZER.decode([i for i, w in zip(ids, weights, strict=True) if w == 1.0]) == (
        "select max ( c1 ) from t0 </s>"
    )
    assert weights[0] == 0.0
    assert set(weights[1:]) == {0.05, 1.0}


def test_a_batch_depends_on_its_number_alone() -> None:
    first, again = (stream(TOKENIZER, MICRO).batch(17) for _ in range(2))
    assert torch.equal(first.ids, again.ids)
    assert first.ids.shape[1] <= MAX_TOKENS
    assert not torch.equal(first.ids[0, :40], stream(TOKENIZER, MICRO).batch(18).ids[0, :40])


def test_a_run_goes_on_and_its_state_can_be_exported(plan: Plan) -> None:
    assert train(replace(plan, max_steps=4), resume=True).step == 4
    assert export_state(plan, TOKENIZER).step == 4
    assert writes_handles(str(plan.out / "model"))


def test_an_untrained_model_answers_within_the_grammar(plan: Plan) -> None:
    one = example("answers", held_out=True)
    answers = Model(plan.out / "model").shuffled([(one.schema.schema, one.question)], 3)[0]
    assert len(answers) == 3
    assert all(sql is None or sql.startswith("SELECT ") for sql in answers)
    assert any(answers)


def test_evaluation_tells_right_from_wrong(plan: Plan) -> None:
    model = Model(plan.out / "model")
    batches = evaluation_set(model.tokenizer, 4, held_out=True)
    assert sum(len(batch.ids) for batch in batches) == 4
    assert share_told(model.model, batches) == 0.0
    assert len(verdicts(plan.out / "model", 2, shuffles=2)) == 2
