"""Generated examples as token ids, with the loss weight of each."""

from collections.abc import Sequence
from random import Random

from transformers import PreTrainedTokenizerFast

from training.tiny.batches import BatchStream, Encoded
from training.tiny.corpus.tasks import training_example
from training.tiny.plan import TrainingPlan
from training.tiny.prompts import chat

MAX_EXAMPLE_TOKENS = 768
SYSTEMS = (
    "You are a helpful assistant.", "You are a data analyst.", "Answer as simply as possible.",
    "Follow the instructions exactly.", "You label the rows of a table. Give the bare answer.",
    "Be strict about the output format.",
    "You are a helpful assistant that answers questions as simple as possible.\n"
    "Keep strictly to the asked output format.",
)  # fmt: skip


def weighed(prompt: Sequence[int], answer: Sequence[int], prompt_weight: float) -> Encoded:
    """An answer of n tokens weighs the root of n, a prompt token `prompt_weight`, the first one nothing."""
    weights = [0.0, *[prompt_weight] * (len(prompt) - 1), *[1.0 / len(answer) ** 0.5] * len(answer)]
    return Encoded([*prompt, *answer], weights)


def encode(tokenizer: PreTrainedTokenizerFast, seed: str, easy: bool, prompt_weight: float) -> Encoded:
    """Tokenize the example of a seed, an eighth of them with a system message."""
    example = training_example(seed, easy)
    rng = Random(f"system-{seed}")
    system = rng.choice(SYSTEMS) if rng.random() < 0.12 else ""
    prompt = tokenizer(chat(example.user, system), add_special_tokens=False).input_ids
    answer = tokenizer(example.answer, add_special_tokens=False).input_ids
    return weighed(prompt, [*answer, tokenizer.eos_token_id], prompt_weight)


def stream(tokenizer: PreTrainedTokenizerFast, plan: TrainingPlan) -> BatchStream:
    """The training stream of a plan; its first `easy_pools` pools are easy."""

    def draw(pool: int, index: int) -> Encoded:
        seed = f"{plan.seed}-{pool}-{index}"
        return encode(tokenizer, seed, pool < plan.easy_pools, plan.prompt_weight)

    return BatchStream(draw, plan.seed, plan.batch_tokens, MAX_EXAMPLE_TOKENS, tokenizer.pad_token_id)
