"""What a relQuery would cost: sizes with and without a tokenizer, seconds by history and by calibration."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from relserve.call.answer_types import Grammar
from relserve.call.phases import Phases
from relserve.call.relquery import Sampling, Submission, Usage
from relserve.call.turns import ChatTurn
from relserve.engines.local.engine import LocalEngine
from relserve.engines.protocol import Estimable
from relserve.engines.scripted import ScriptedEngine
from relserve.machine.cost_file import cost_path, learnt_cost_path
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.model.linear import CostModel
from relserve.session.estimate import SAMPLE, by_cost, estimate, measure
from relserve.session.history import History, QueryRecord
from relserve.session.prompt_price import ExpectedWork
from relserve.tiny import MODEL_DIR


class Words:
    """A tokenizer of which a word is a token, behind a template of two tokens."""

    def __init__(self) -> None:
        self.num_seen = 0

    def encode(
        self, prompts: Sequence[str], system: str | None, thinking: int = 0, turns: Sequence[ChatTurn] = ()
    ) -> list[list[int]]:
        self.num_seen += len(prompts)
        return [[0, 1, *map(hash, (system or "").split()), *map(hash, p.split())] for p in prompts]

    def num_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def submission(prompts: list[str], cap: int = 10, choices: tuple[str, ...] = ()) -> Submission:
    grammar = Grammar(choices) if choices else None
    return Submission("rel", prompts, Sampling(cap, grammar=grammar))


def record(num: int, **more: object) -> QueryRecord:
    return QueryRecord("rel", "llm", "t {}", "scripted", num, num, **more)  # type: ignore[arg-type]


def test_tokens_are_counted_with_the_tokenizer() -> None:
    sizes = measure(submission(["a b c", "d e"]), Words())
    assert (sizes.prompt_tokens, sizes.is_counted, sizes.max_output) == (4.5, True, 10)


def test_large_ones_are_sampled_all_over() -> None:
    words = Words()
    prompts = ["a"] * SAMPLE + ["a b c"] * SAMPLE
    sizes = measure(submission(prompts), words)
    assert words.num_seen == SAMPLE
    assert (sizes.prompt_tokens, sizes.is_counted) == (4, False)


def test_huge_prompts_are_sampled_by_characters() -> None:
    words = Words()
    measure(submission(["x" * 1_000_000] * 20), words)
    assert words.num_seen == 4


def test_a_tokenizer_that_fails_leaves_the_estimate_by_characters() -> None:
    class Broken(Words):
        def encode(
            self,
            prompts: Sequence[str],
            system: str | None,
            thinking: int = 0,
            turns: Sequence[ChatTurn] = (),
        ) -> list[list[int]]:
            raise ValueError("template")

    assert measure(submission(["x" * 40]), Broken()) == measure(submission(["x" * 40]), None)
    assert measure(submission(["x" * 40]), None)[:2] == (10, False)


def test_an_answer_from_a_list_has_no_more_tokens_than_bytes_and_an_end() -> None:
    choices = ("a", "b c d")
    assert measure(submission(["x"], 20, choices), Words())[3:] == (6, 4)
    assert measure(submission(["x"], 20, choices), None)[3:] == (6, 3)
    assert measure(submission(["x"], 2, choices), None)[3:] == (2, 2)
    assert measure(submission(["x"], 20), Words())[3:] == (20, 20)


def test_the_shared_part_goes_by_the_engines_blocks() -> None:
    prompts = [f"{'same ' * 30}{i}" for i in range(100)]
    assert measure(submission(prompts), Words(), 32).shared == pytest.approx(99 * 32 / (100 * 33))
    assert measure(submission(prompts), Words(), 64).shared == 0


def test_no_prompts() -> None:
    found = estimate(ScriptedEngine(), submission([]), record(0), History(), None)
    assert (found.prompt_tokens, found.shared, found.max_output_tokens, found.seconds) == (0, 0, 0, 0)


def done(num: int, tokens: int, seconds: float, **more: object) -> QueryRecord:
    usage = Usage(tokens * num, 0, num)
    return record(num, num_done=num, state="done", seconds=seconds, usage=usage, **more)


def test_seconds_at_the_pace_seen() -> None:
    history = History()
    history.begin(done(100, 99, seconds=5))  # 10,000 tokens: 2,000 a second
    found = estimate(ScriptedEngine(), submission(["x" * 396] * 200, cap=50), record(200), history, None)
    assert found.shared == pytest.approx(199 * 384 / (200 * 396))
    computed = 200 * 99 * (1 - found.shared) + 200  # an answer has one token, as before, not 50
    assert found.seconds == pytest.approx(computed / 2000)
    assert found.max_output_tokens == 10_000
    assert found.basis == "1 earlier relQuery"


def test_the_start_of_an_engine_is_no_pace() -> None:
    history = History()
    history.begin(done(100, 99, seconds=60, phases=Phases(1, 2, 2)))
    found = estimate(ScriptedEngine(), submission(["x" * 40] * 100), record(100), history, None)
    assert found.seconds is not None
    assert found.seconds < 5


@pytest.mark.parametrize(
    "past",
    [
        [],
        [
            QueryRecord(
                "rel", "llm", "t", "other model", 9, 9, 0, 9, state="done", seconds=1, usage=Usage(999)
            )
        ],
        [record(9, state="failed", seconds=1.0, usage=Usage(999))],
        [record(9, state="done", seconds=1.0)],  # nothing was asked: all from the cache
        [done(1, 10, seconds=0.1)],  # too small to tell
    ],
)
def test_seconds_are_unknown_where_nothing_tells(past: list[QueryRecord]) -> None:
    history = History()
    for each in past:
        history.begin(each)
    prompts = [f"{i} {'x' * 400}" for i in range(1000)]
    found = estimate(ScriptedEngine(), submission(prompts), record(1000), history, None)
    assert found.seconds is None
    assert found.basis


def test_cached_answers_are_not_sent() -> None:
    found = estimate(ScriptedEngine(), submission(["x" * 40] * 10), record(10), History(), 10)
    assert (found.num_cached, found.prompt_tokens, found.seconds) == (10, 0, 0)
    assert found.basis == "nothing to ask"


def test_seconds_by_calibration() -> None:
    cost = CostModel(0.001, 0.1, 0.01, 0.2)
    pace = by_cost(ExpectedWork(256, 1000, 3), cost, None)
    # two waves of 128 rows, three steps each; 1000 tokens fit into those
    assert pace.seconds == pytest.approx(1000 * 0.001 + 256 * 3 * 0.01 + 6 * 0.2)
    assert by_cost(ExpectedWork(256, 1000, 3), cost, 256).seconds == pytest.approx(1 + 7.68 + 3 * 0.2)
    assert by_cost(ExpectedWork(1, 1e6, 1), cost, None).seconds == pytest.approx(1000 + 0.01 + 489 * 0.2)


def test_a_local_engine_tells_without_being_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    engine = LocalEngine("tiny", str(MODEL_DIR), engine_args={"max_num_seqs": 7})
    assert isinstance(engine, Estimable)
    assert not isinstance(ScriptedEngine(), Estimable)
    encoder = engine.find_encoder()
    assert encoder is not None
    assert engine.block_size in (16, 32)
    assert LocalEngine("tiny", "x", engine_args={"block_size": 64}).block_size == 64
    (ids,) = encoder.encode(["A fine beer."], None)
    assert len(ids) > encoder.num_tokens(["A fine beer."])[0]  # the chat template
    assert (engine.find_cost(), engine.max_num_seqs, engine.pid) == (None, 7, None)
    cost = CostModel(0.001, 0.1, 0.01, 0.2)
    cost.save(cost_path(str(MODEL_DIR)))
    assert engine.find_cost() == cost
    asked = QueryRecord("rel", "llm", "t {}", "tiny", 1, 1)
    found = estimate(engine, submission(["A fine beer."], cap=3), asked, History(), None)
    assert found.seconds == pytest.approx(len(ids) * 0.001 + 3 * (0.01 + 0.2))
    assert (found.basis, found.is_counted, engine.pid) == ("step times measured here", True, None)


def test_step_times_that_an_engine_has_learnt_are_a_basis_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_KEEP_LEARNT", "1")
    engine = LocalEngine("tiny", str(MODEL_DIR))
    asked = QueryRecord("rel", "llm", "t {}", "tiny", 1, 1)
    before = estimate(engine, submission(["A fine beer."], cap=3), asked, History(), None)
    CostModel(0.001, 0.1, 0.01, 0.2).save(learnt_cost_path(str(MODEL_DIR)))
    after = estimate(engine, submission(["A fine beer."], cap=3), asked, History(), None)
    assert (before.seconds, after.basis) == (None, "step times measured here")
    assert after.seconds


def test_a_model_whose_files_are_not_here_has_no_encoder(tmp_path: Path) -> None:
    assert LocalEngine("x", str(tmp_path)).find_encoder() is None


class Known:
    """A model on this machine of which lengths of answers are known, and no pace but a calibration."""

    model, max_num_seqs, block_size = "scripted", 8, 16

    def __init__(self, *tokens: int) -> None:
        self._tokens = tokens

    def find_encoder(self) -> Words:
        return Words()

    def find_cost(self) -> CostModel:
        return CostModel(0.0, 0.1, 0.0, 1.0, 1.0)  # a second a step, whatever is in it

    def find_lengths(self) -> LengthLearner:
        learner = LengthLearner()
        lengths = learner.of("k", 10_000)
        for tokens in self._tokens:
            lengths.ended(tokens, is_whole=True)
        return learner


def seconds_of(engine: Any, num_rows: int, history: History | None = None, **more: Any) -> float:
    prompts = [f"{i} a" for i in range(num_rows)]
    asked = Submission("rel", prompts, Sampling(1000, **more), kind="k")
    found = estimate(engine, asked, record(num_rows), history or History(), None)
    assert found.max_output_tokens == num_rows * asked.sampling.output_cap
    assert found.seconds is not None
    return found.seconds


def test_answers_are_taken_to_be_as_long_as_those_of_their_kind_were() -> None:
    known = Known(*[10, 20] * 300)
    assert seconds_of(Known(), 1) == pytest.approx(1000, abs=1)  # nothing is known: as the cap allows
    assert 9 < seconds_of(known, 1) < 21
    assert seconds_of(known, 8) == pytest.approx(20, abs=3)  # the longest of eight
    assert seconds_of(known, 800) == pytest.approx(100 * 15, rel=0.1)  # steps are full all the time
    assert seconds_of(known, 8, thinking=50) == pytest.approx(40, abs=6)  # thoughts are rows of their own


def test_scored_choices_are_not_what_was_written() -> None:
    choices = Grammar(("a", "b c d"))
    assert seconds_of(Known(*[1] * 300), 1, grammar=choices, with_confidence=True) == pytest.approx(4)


def test_lengths_of_their_kind_come_before_those_of_their_function() -> None:
    history = History()
    history.begin(done(100, 99, seconds=5))  # 2,000 tokens a second, one an answer
    engine = Known(*[500] * 300)
    assert seconds_of(engine, 100, history) == pytest.approx(100 * 500 / 2000, rel=0.2)
