"""Thoughts before answers: the rows of one flight that think first.

A row is two requests: its thoughts, ended by the model or at their budget, then prompt, thoughts and end mark
under the grammar. vLLM has a budget of its own (`thinking_token_budget`), but only where a reasoning parser
of the model's family was named when the engine started, and other code for it in each release. Two requests
bound thoughts exactly and keep grammars strict on every release; the prefix cache has most of the second.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from relserve.call.rel_tag import RelTag
from relserve.call.relquery import Reply, Sampling
from relserve.engines.local.dialogue import Dialogue, Talk, TokenizedPrompt, after, times_of, usage_of
from relserve.engines.local.prompts import PromptEncoder
from relserve.errors import Failure, FailureKind
from relserve.vllm_plugin import host
from relserve.vllm_plugin.host import Completion

BANNED = -100.0  # a token's bias in a free text: no thoughts begin anew there


class ThoughtIds(NamedTuple):
    """The marks of a model's thoughts in token ids; see `Marks`."""

    opening: list[int]
    end: list[int]
    closing: list[int]
    answer: list[int]


class Thinking:
    """The thoughts of one flight's rows.

    Args:
        sampling: of the submission.
        answer_cap: the most tokens of one answer, for which the context keeps room.
        max_model_len: tokens of prompt, thoughts and answer together.
        tag: of their requests.
    """

    def __init__(
        self, encoder: PromptEncoder, sampling: Sampling, answer_cap: int, max_model_len: int, tag: RelTag
    ) -> None:
        self._encoder, self._sampling, self._tag = encoder, sampling, tag
        assert encoder.marks is not None  # the engine has seen to it
        self._marks = encoder.marks
        self._ids = ids_of(encoder)
        self._max_model_len = max_model_len
        self._room = max_model_len - answer_cap - len(self._ids.closing)  # for prompt and thoughts
        self._params: dict[int, Any] = {}  # by budget

    def before(self, index: int, ids: list[int], answer: Talk) -> Dialogue:
        """What is asked about a row that thinks: its thoughts, then what `answer` asks after them.

        A row fails where the context has no room for a single thought.
        """
        budget = min(self._sampling.thinking, self._room - len(ids))
        if budget < 1:
            message = f"the prompt has {len(ids)} tokens, the model's context of {self._max_model_len}"
            failure = Failure(FailureKind.OVER_CONTEXT, f"{message} leaves no room to think")
            return Reply(index, None, failure, is_unsent=True)
        (thoughts,) = yield [TokenizedPrompt(ids, self._params_of(budget))]
        reply = yield from answer(index, [*ids, *self._closed(thoughts.outputs[0])])
        thought = Reply(index, None, usage=usage_of([thoughts]), times=times_of([thoughts]))
        reply = after(thought, reply)
        return replace(reply, usage=reply.usage._replace(thought_tokens=thought.usage.output_tokens))

    @property
    def banned(self) -> dict[int, float] | None:
        """Biases that keep thoughts out of a free text, where marks are single tokens."""
        marks = (self._ids.opening, self._ids.end)
        return {ids[0]: BANNED for ids in marks} if all(len(ids) == 1 for ids in marks) else None

    def _params_of(self, budget: int) -> Any:
        if budget not in self._params:
            self._params[budget] = self._new_params(budget)
        return self._params[budget]

    def _new_params(self, budget: int) -> Any:
        sampling, end = self._sampling, self._ids.end
        stop = dict(stop_token_ids=end, detokenize=False) if len(end) == 1 else dict(stop=[self._marks.end])
        return host.shared_sampling_params(
            max_tokens=budget, temperature=sampling.temperature, top_p=sampling.top_p, seed=sampling.seed,
            extra_args=self._tag._replace(output_cap=budget).args(), **stop,
        )  # fmt: skip

    def _closed(self, completion: Completion) -> list[int]:
        """A row's thoughts up to where the answer begins, in token ids."""
        ids = list(completion.token_ids)
        if completion.finish_reason != "stop":  # the budget is used up
            return ids + self._ids.closing
        if len(self._ids.end) > 1:  # the last token may hold more than the mark's last character
            return self._encoder.ids_of(completion.text.rstrip()) + self._ids.closing
        if ids[-1:] == self._ids.end:
            return ids + self._ids.answer
        return ids[:-1] + self._ids.closing  # the model ended its turn without an answer


def ids_of(encoder: PromptEncoder) -> ThoughtIds:
    """The marks of a model that thinks, as its tokenizer has them inside a text."""
    marks = encoder.marks
    assert marks is not None
    start = encoder.ids_of(marks.opening)

    def inside(text: str) -> list[int]:
        # Behind a mark, since some tokenizers begin a text with a space of their own.
        ids = encoder.ids_of(marks.opening + text)
        return ids[len(start) :] if ids[: len(start)] == start else encoder.ids_of(text)

    end = inside(marks.end)
    both = inside(marks.end + marks.answer)
    answer = both[len(end) :] if both[: len(end)] == end else encoder.ids_of(marks.answer)
    return ThoughtIds(start, end, inside(marks.closing), answer)
