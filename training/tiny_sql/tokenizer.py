"""The tokenizer: byte-level BPE over words that carry the space behind them.

Handles and keywords are single tokens. The grammar of an answer is over the same text, in which each word
ends with one space.
"""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from relserve.linking.pointer import ANSWER_WORDS, HANDLES, MARKS

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

VOCAB_SIZE = 3072
MAX_LENGTH = 4096  # tokens
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>")
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['content'] + ' ' }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
)
SINGLE_WORDS = tuple(dict.fromkeys((*ANSWER_WORDS, *HANDLES, *MARKS)))
_SPACE = "Ġ"  # how byte-level tokens spell a space


def prompt_text(text: str) -> str:
    """A prompt as the chat template renders it, up to where the answer begins."""
    return f"{SPECIAL_TOKENS[1]}{text} "


def train_tokenizer(texts: Iterable[str], vocab_size: int = VOCAB_SIZE) -> "PreTrainedTokenizerFast":
    """Train on prompts and answers, add the single words, and return the tokenizer with its template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(" ", "merged_with_previous"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    learner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(SINGLE_WORDS), special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False, min_frequency=2,
    )  # fmt: skip
    learner.train_from_iterator(_without_single_words(texts), trainer)
    core = Tokenizer.from_str(json.dumps(_with_single_words(json.loads(learner.to_str()))))
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=core, bos_token="<s>", eos_token="</s>", pad_token="<pad>",
        model_max_length=MAX_LENGTH, clean_up_tokenization_spaces=False,
    )  # fmt: skip
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def _without_single_words(texts: Iterable[str]) -> Iterator[str]:
    single = frozenset(SINGLE_WORDS)
    for text in texts:
        yield "".join(f"{word} " for word in text.split() if word not in single)


def _with_single_words(saved: dict[str, Any]) -> dict[str, Any]:
    """The saved form of the tokenizer with further words, that no merge leads to and none takes apart."""
    vocab: dict[str, int] = saved["model"]["vocab"]
    for word in SINGLE_WORDS:
        vocab.setdefault(word + _SPACE, len(vocab))
    saved["model"]["ignore_merges"] = True
    return saved


class WordEncoder:
    """Encodes texts word by word, each word once: faster than the tokenizer, with the same result."""

    def __init__(self, tokenizer: "PreTrainedTokenizerFast") -> None:
        self._core: Tokenizer = tokenizer.backend_tokenizer
        self._known: dict[str, list[int]] = {}

    def __call__(self, text: str) -> list[int]:
        """The ids of a text of words, each followed by one space."""
        ids: list[int] = []
        for word in text.split():
            found = self._known.get(word)
            if found is None:
                found = self._known[word] = self._core.encode(f"{word} ", add_special_tokens=False).ids
            ids += found
        return ids
