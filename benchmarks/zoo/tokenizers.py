"""Made-up tokenizers of the two kinds there are: byte-level BPE, and SentencePiece's with byte fallback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.zoo.pieces import byte_letters, known_merges, letters_of, spelled_out, vocabulary, words

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPACE = "▁"
NUM_WORDS_FOR_LETTERS = 20_000
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


@dataclass(frozen=True)
class ByteLevel:
    """As GPT-2, Llama 3 and Qwen: a letter for each byte, special tokens behind the words.

    Attributes:
        size: tokens without the special ones.
        specials: tokens with a meaning, in their order.
        bos: put before every text; "" for none.
        digits: that one token may have.
        whole_words: a word that is a token is taken as it is, whatever the merges say (as in Llama 3).
    """

    size: int
    specials: tuple[str, ...]
    bos: str = ""
    digits: int = 1
    whole_words: bool = False

    def make(self) -> Tokenizer:
        from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

        letter = byte_letters()
        spelled = ("".join(letter[byte] for byte in word.encode()) for word in words(self.digits))
        tokens, merges = vocabulary(known_merges(), spelled, letter.values(), self.size)
        made = Tokenizer(models.BPE(vocab=tokens, merges=merges, ignore_merges=self.whole_words))
        split = rf"(?i:'s|'t|'re|'ve|'m|'ll|'d)|{_WORD}|\p{{N}}{{1,{self.digits}}}|{_REST}"
        made.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(split), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])  # fmt: skip
        made.decoder = decoders.ByteLevel()
        return finished(made, self.specials, self.bos)


@dataclass(frozen=True)
class SentencePiece:
    """As Llama 2 and Gemma: words with ▁ for their space, and a token for each byte of other letters.

    Attributes:
        size: tokens in all.
        first: special tokens at the beginning, the unknown one among them.
        bos: put before every text; "" for none.
        unknown: never used, for bytes spell everything.
        prefix: whether a space is put before every text (and taken away again).
        specials: further ones, behind the words.
    """

    size: int
    first: tuple[str, ...]
    bos: str = ""
    unknown: str = "<unk>"
    prefix: bool = True
    specials: tuple[str, ...] = ()

    def make(self) -> Tokenizer:
        from tokenizers import Tokenizer, decoders, models, normalizers

        letters = [letter.replace(" ", SPACE) for letter in letters_of(NUM_WORDS_FOR_LETTERS)]
        base = dict.fromkeys([*self.first, *(f"<0x{byte:02X}>" for byte in range(256)), *letters])
        known = [tuple(spelled_out(part).replace(" ", SPACE) for part in merge) for merge in known_merges()]
        spelled = (word.replace(" ", SPACE) for word in words(digits=1))
        tokens, merges = vocabulary(known, spelled, base, self.size - len(self.specials))
        made = Tokenizer(
            models.BPE(vocab=tokens, merges=merges, unk_token=self.unknown, fuse_unk=True, byte_fallback=True)
        )
        spaces = normalizers.Replace(" ", SPACE)
        made.normalizer = (
            normalizers.Sequence([normalizers.Prepend(SPACE), spaces]) if self.prefix else spaces
        )
        steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
        made.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if self.prefix else steps)
        return finished(made, (*self.first, *self.specials), self.bos)


def finished(made: Tokenizer, specials: tuple[str, ...], bos: str) -> Tokenizer:
    """The tokenizer with its special tokens, one of them before every text."""
    from tokenizers import AddedToken, processors

    made.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in specials])
    if bos:
        made.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, made.token_to_id(bos))]
        )
    return made
