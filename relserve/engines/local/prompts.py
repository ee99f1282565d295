"""Prompts to token ids: the model's chat template where it has one, batches of a fast tokenizer."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from relserve.call.thinking import template_fields
from relserve.call.turns import ChatTurn, messages_of
from relserve.engines.local.thoughts import PLAIN, SWITCHES, Marks, marks_of, switches_of, template_of

log = logging.getLogger(__name__)


class PromptEncoder:
    """Renders and tokenises prompts for one model; thread-safe, meant to run off the event loop."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.has_template = bool(getattr(tokenizer, "chat_template", None))
        self._system_role = True  # until the template refuses it, or leaves it out

    @cached_property
    def marks(self) -> Marks | None:
        """How the model marks its thoughts; None where its files do not show any marks."""
        return marks_of(self._tokenizer) if self.has_template else None

    @cached_property
    def why_it_cannot_think(self) -> str:
        """Why the model cannot be asked to think, "" where it can."""
        if not self.has_template:
            return "it has no chat template"
        if not switches_of(template_of(self._tokenizer)) and not self._opens_thoughts():
            return f"its chat template reads none of {', '.join(SWITCHES)}, and opens no thoughts itself"
        if self.marks is None:
            known = ", ".join(marks.opening for marks in PLAIN)
            return f"its files do not show how it marks thoughts (known marks: {known}, and gpt-oss's)"
        return ""

    def encode(
        self, prompts: Sequence[str], system: str | None, thinking: int = 0, turns: Sequence[ChatTurn] = ()
    ) -> list[list[int]]:
        """Token ids of each prompt; none at all for an empty prompt without a chat template.

        Args:
            thinking: most tokens of thoughts, for which the prompt then ends; at 0 it ends for the answer,
                also where the template opens thoughts whatever it is told.
            turns: of the chat, before each prompt.
        """
        prompts = [speakable(p) for p in prompts]
        system = speakable(system) if system else None
        turns = [ChatTurn(speakable(turn.user), speakable(turn.assistant)) for turn in turns]
        if self.has_template:
            # The template writes the special tokens itself; adding them again would double BOS.
            rendered = self._render(prompts, system, thinking, turns)
            if (marks := self.marks) is not None:
                finish = marks.thinking if thinking else marks.answering
                rendered = [finish(text) for text in rendered]
            return self._ids(rendered, special=False)
        lead = "".join(f"{text}\n" for text in (system, *chain.from_iterable(turns)) if text)
        texts = [lead + p for p in prompts]
        ids = self._ids(texts, special=True)
        return [row if text else [] for row, text in zip(ids, texts, strict=True)]

    def ids_of(self, text: str) -> list[int]:
        """Token ids of a text alone, without special tokens."""
        return self._ids([text], special=False)[0]

    def num_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text alone, without special tokens."""
        return [len(ids) for ids in self._ids([speakable(t) for t in texts], special=False)]

    def _ids(self, texts: list[str], special: bool) -> list[list[int]]:
        if not texts:
            return []
        encoded = self._tokenizer(
            texts, add_special_tokens=special, return_attention_mask=False, verbose=False
        )
        ids: list[list[int]] = encoded["input_ids"]
        return ids

    def _opens_thoughts(self) -> bool:
        return self.marks is not None and self.marks.opens(self._render(["?"], None, 0, ())[0])

    def _render(
        self, prompts: list[str], system: str | None, thinking: int, turns: Sequence[ChatTurn]
    ) -> list[str]:
        if system and prompts and self._system_role:
            # Some templates (Gemma, old Mistral) refuse a system role, others (the first of Phi-3) leave it
            # out without a word: then it goes before the prompt.
            with contextlib.suppress(Exception):
                rendered = self._apply([messages_of(p, system, turns, True) for p in prompts], thinking)
                if system.strip() in rendered[0]:
                    return rendered
            self._system_role = False
        return self._apply([messages_of(p, system, turns, False) for p in prompts], thinking)

    def _apply(self, conversations: list[list[tuple[str, str]]], thinking: int) -> list[str]:
        messages = [[{"role": role, "content": text} for role, text in each] for each in conversations]
        rendered: list[str] = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **template_fields(thinking)
        )
        return rendered


def speakable(text: str) -> str:
    """The text with surrogates paired where they form a character and replaced by U+FFFD where not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def load_encoder(path: str) -> PromptEncoder | None:
    """The encoder of a model from its files on this machine, without an engine; None where that fails.

    Args:
        path: a folder, or a hub id of which the files were fetched before.
    """
    try:
        # AutoTokenizer would be every model's own class, but loads torch, which takes seconds.
        from transformers import PreTrainedTokenizerFast

        return PromptEncoder(PreTrainedTokenizerFast.from_pretrained(path, local_files_only=True))
    except Exception as error:  # no transformers, no files, code of its own: whoever asks can do without
        log.debug("no tokenizer for %s: %s", path, error)
        return None
