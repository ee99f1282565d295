"""The byte-level BPE tokenizer: trained on generated rows, it round-trips every text."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from training.tiny.corpus.tasks import training_example
from training.tiny.prompts import CHAT_TEMPLATE, SPECIAL_TOKENS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

VOCAB_SIZE = 8192
MAX_LENGTH = 4096  # tokens


def corpus_texts(num_examples: int, seed: str = "tokenizer") -> Iterator[str]:
    """Yield prompts and answers for training the tokenizer."""
    for index in range(num_examples):
        example = training_example(f"{seed}-{index}")
        yield f"{example.user}\n{example.answer}"


def train_tokenizer(texts: Iterable[str], vocab_size: int = VOCAB_SIZE) -> "PreTrainedTokenizerFast":
    """Train the tokenizer and return it as a `PreTrainedTokenizerFast` with the chat template."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    # digits one by one, so that scores and order numbers are copied digit by digit
    core.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\d"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ])  # fmt: skip
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False, min_frequency=2,
    )  # fmt: skip
    core.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=core, bos_token="<s>", eos_token="</s>", pad_token="<pad>",
        model_max_length=MAX_LENGTH,
        additional_special_tokens=["<|user|>", "<|assistant|>"], clean_up_tokenization_spaces=False,
    )  # fmt: skip
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def load_tokenizer(folder: Path) -> "PreTrainedTokenizerFast":
    """Load a saved tokenizer."""
    from transformers import PreTrainedTokenizerFast

    tokenizer: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(folder)
    return tokenizer


def tokenizer_in(folder: Path, train: "Callable[[], PreTrainedTokenizerFast]") -> "PreTrainedTokenizerFast":
    """Load the tokenizer of a folder; where there is none train and save it first, in one process alone."""
    if not folder.exists():
        folder.mkdir(parents=True)
        train().save_pretrained(folder)
    return load_tokenizer(folder)
