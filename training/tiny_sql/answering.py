"""The model in this process, under its grammar: for evaluation while and after it is trained."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch
import xgrammar
from transformers import DynamicCache, LlamaForCausalLM

from relserve.linking.pointer import PointerError, PointerPrompt, pointer_prompt, sql_of
from relserve.linking.schema import Schema
from relserve.linking.values import SchemaValues
from relserve.tiny_sql import MODEL_DIR
from training.tiny.batches import Batch
from training.tiny.tokenizer import load_tokenizer
from training.tiny_sql.tokenizer import prompt_text

MAX_ANSWER_TOKENS = 64
_BATCH_ROWS = 40


class Vote(NamedTuple):
    """The SQL that most shuffles of the handles lead to (None: no shuffle gave any), and their share."""

    sql: str | None
    share: float


class GrammarModel:
    """A loaded checkpoint that answers greedily under the grammar of each prompt."""

    def __init__(self, folder: Path = MODEL_DIR) -> None:
        self.tokenizer = load_tokenizer(folder)
        self.model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        info = xgrammar.TokenizerInfo.from_huggingface(self.tokenizer)
        self._compiler = xgrammar.GrammarCompiler(info, cache_enabled=False)

    def answers(self, prompts: Sequence[PointerPrompt]) -> list[str]:
        """The answer to each prompt."""
        found: list[str] = []
        for start in range(0, len(prompts), _BATCH_ROWS):
            found += self._answer_batch(prompts[start : start + _BATCH_ROWS])
        return found

    @torch.inference_mode()
    def _answer_batch(self, prompts: Sequence[PointerPrompt]) -> list[str]:
        encoded = self.tokenizer(
            [prompt_text(prompt.text) for prompt in prompts],
            add_special_tokens=False, padding=True, padding_side="left", return_tensors="pt",
        )  # fmt: skip
        matchers = [
            xgrammar.GrammarMatcher(self._compiler.compile_grammar(prompt.grammar)) for prompt in prompts
        ]
        allowed = xgrammar.allocate_token_bitmask(len(prompts), len(self.tokenizer))
        ids, mask, cache = encoded.input_ids, encoded.attention_mask, DynamicCache(config=self.model.config)
        places = mask.cumsum(1).sub(1).clamp(min=0)
        said: list[list[int]] = [[] for _ in prompts]
        for _ in range(MAX_ANSWER_TOKENS):
            out = self.model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=places,
                past_key_values=cache,
                logits_to_keep=1,
            )
            chosen = self._choose(out.logits[:, -1].float(), matchers, allowed, said)
            if all(matcher.is_terminated() for matcher in matchers):
                break
            ids, mask = (
                chosen.unsqueeze(1),
                torch.cat([mask, torch.ones(len(prompts), 1, dtype=torch.long)], 1),
            )
            places = places[:, -1:] + 1
        return [self.tokenizer.decode(tokens) for tokens in said]

    def _choose(
        self,
        logits: torch.Tensor,
        matchers: Sequence[xgrammar.GrammarMatcher],
        allowed: torch.Tensor,
        said: list[list[int]],
    ) -> torch.Tensor:
        """The best allowed token of each row that has not ended, noted in `said`."""
        going = [row for row, matcher in enumerate(matchers) if not matcher.is_terminated()]
        for row in going:
            matchers[row].fill_next_token_bitmask(allowed, row)
        xgrammar.apply_token_bitmask_inplace(logits, allowed)
        chosen = logits.argmax(-1)
        for row in going:
            token = int(chosen[row])
            matchers[row].accept_token(token)
            if not matchers[row].is_terminated():
                said[row].append(token)
        return chosen

    def shuffled(self, questions: Iterable[tuple[Schema, str]], shuffles: int) -> list[list[str | None]]:
        """The SQL that each of several shuffles of the schema's handles leads to, for each question."""
        groups = [_prompts(schema, question, shuffles) for schema, question in questions]
        answers = iter(self.answers([prompt for group in groups for prompt in group]))
        return [[_sql(next(answers), prompt) for prompt in group] for group in groups]


def _prompts(schema: Schema, question: str, shuffles: int) -> list[PointerPrompt]:
    values = SchemaValues(schema)
    try:
        return [pointer_prompt(schema, question, values, Random(seed)) for seed in range(shuffles)]
    except PointerError:
        return []


def _sql(answer: str, prompt: PointerPrompt) -> str | None:
    try:
        return sql_of(answer, prompt)
    except PointerError:
        return None


def voted(found: Sequence[str | None]) -> Vote:
    """What most of the shuffles of a question agree on; of equals the first."""
    written = [sql for sql in found if sql is not None]
    best = max(written, key=written.count, default=None)
    return Vote(best, written.count(best) / len(found) if best is not None else 0.0)


@torch.inference_mode()
def share_told(model: LlamaForCausalLM, batches: Sequence[Batch]) -> float:
    """The share of examples whose every answer token is the likeliest after the right ones before it."""
    was_training = model.training
    model.eval()
    right = total = 0
    for batch in batches:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = model.model.forward(input_ids=batch.ids[:, :-1], use_cache=False).last_hidden_state
        answers = batch.weights[:, 1:] == 1.0
        told = torch.ones_like(answers)
        told[answers] = model.lm_head(hidden[answers].float()).argmax(-1) == batch.ids[:, 1:][answers]
        right += int(told.all(1).sum())
        total += len(told)
    model.train(was_training)
    return right / total
