"""Generated questions as token ids, several over one schema in a sequence; only answers weigh much."""

from collections.abc import Iterator, Sequence
from random import Random

from transformers import PreTrainedTokenizerFast

from training.tiny.batches import Batch, BatchStream, Encoded, make_batch
from training.tiny.plan import TrainingPlan
from training.tiny_sql.corpus.questions import example, packed
from training.tiny_sql.tokenizer import WordEncoder

MAX_TOKENS = 512  # of a sequence
FEWEST, MOST = 3, 5  # questions over one schema
DROPPED = 0.11  # of the linker's marks, in training
_EVALUATED_TOGETHER = 25


def corpus_texts(num_examples: int, seed: str = "tokenizer") -> Iterator[str]:
    """Yield prompts and answers for training the tokenizer."""
    for index in range(num_examples):
        one = example(f"{seed}-{index}")
        yield f"{one.prompt.text} {one.answer}"


class WeightedEncoder:
    """Weighs an answer's tokens 1, a prompt's `prompt_weight`, and the first token nothing."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, prompt_weight: float) -> None:
        self._words = WordEncoder(tokenizer)
        self._begin, self._end = tokenizer.bos_token_id, tokenizer.eos_token_id
        self._prompt_weight = prompt_weight

    def __call__(self, schema: str, questions: Sequence[tuple[str, str]]) -> Encoded:
        """A schema's text with questions over it, each with its answer."""
        ids = [self._begin, *self._words(schema)]
        weights = [0.0, *[self._prompt_weight] * (len(ids) - 1)]
        for question, answer in questions:
            asked, said = self._words(question), [*self._words(answer), self._end]
            ids += asked + said
            weights += [self._prompt_weight] * len(asked) + [1.0] * len(said)
        return Encoded(ids, weights)


def stream(tokenizer: PreTrainedTokenizerFast, plan: TrainingPlan) -> BatchStream:
    """The training stream of a plan."""
    encode = WeightedEncoder(tokenizer, plan.prompt_weight)

    def draw(pool: int, index: int) -> Encoded:
        seed = f"{plan.seed}-{pool}-{index}"
        return encode(*packed(seed, Random(f"number of {seed}").randint(FEWEST, MOST), DROPPED))

    return BatchStream(draw, plan.seed, plan.batch_tokens, MAX_TOKENS, tokenizer.pad_token_id)


def evaluation_set(tokenizer: PreTrainedTokenizerFast, num_examples: int, held_out: bool) -> list[Batch]:
    """Single questions that are not trained on, over words that are not either where `held_out`."""
    encode = WeightedEncoder(tokenizer, 0.0)
    drawn = [example(f"evaluation-{index}", held_out) for index in range(num_examples)]
    encoded = sorted(
        (encode("", [(one.prompt.text, one.answer)]) for one in drawn), key=lambda one: len(one.ids)
    )
    parts = [encoded[at : at + _EVALUATED_TOGETHER] for at in range(0, num_examples, _EVALUATED_TOGETHER)]
    return [make_batch(part, tokenizer.pad_token_id) for part in parts]
