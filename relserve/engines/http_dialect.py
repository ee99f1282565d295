"""What a server understands: how a request is written for it, and what is left out once it refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from relserve.answers import Grammar
from relserve.relquery import Sampling, Submission

MAX_ENUM = 500  # hosted servers take no longer list of allowed values in a schema
WRAPPING_TOKENS = 16  # room for {"answer": ""} around an answer

Shape = Literal["choice", "regex"]

_UNSUPPORTED = re.compile(
    r"unsupported|not support|n't support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|not allowed"
    r"|not available|incompatible",
    re.IGNORECASE,
)
_SCHEMA = re.compile(r"response_format|json_?schema|structured|schema|grammar|enum|pattern", re.IGNORECASE)
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Dialect:
    """What is known of a server; starts hopeful and shrinks with each refusal.

    Attributes:
        chat: it has a chat endpoint and the model a chat template.
        is_vllm: it is a vLLM server, which takes grammars and the relQuery's identity as they are.
        max_tokens_field: the field that limits the reply.
        no_schema: shapes of grammar for which it takes no JSON schema.
        omitted: sampling fields that it does not take.
    """

    chat: bool = True
    is_vllm: bool = False
    max_tokens_field: str = "max_tokens"
    no_schema: frozenset[Shape] = frozenset()
    omitted: frozenset[str] = frozenset()

    @property
    def path(self) -> str:
        """The endpoint, below the base URL."""
        return "/chat/completions" if self.chat else "/completions"

    def wraps(self, grammar: Grammar | None) -> bool:
        """Whether an answer under this grammar comes as {"answer": ..}."""
        if grammar is None or self.is_vllm or not self.chat or len(grammar.choices) > MAX_ENUM:
            return False
        return shape_of(grammar) not in self.no_schema

    def body(self, model: str, prompt: str, submission: Submission) -> dict[str, Any]:
        """The request of one row."""
        sampling = submission.sampling
        body: dict[str, Any] = {"model": model, **self._text(prompt, submission.system)}
        body |= {k: v for k, v in _sampling(sampling).items() if k not in self.omitted}
        body[self.max_tokens_field] = sampling.max_tokens
        if self.is_vllm:
            body |= _for_vllm(submission)
        elif sampling.grammar is not None and self.wraps(sampling.grammar):
            body["response_format"] = _schema(sampling.grammar)
            body[self.max_tokens_field] += WRAPPING_TOKENS
        return body

    def _text(self, prompt: str, system: str | None) -> dict[str, Any]:
        prompt = encodable(prompt)
        if self.chat:
            before = [{"role": "system", "content": encodable(system)}] if system else []
            return {"messages": [*before, {"role": "user", "content": prompt}]}
        return {"prompt": f"{encodable(system)}\n{prompt}" if system else prompt}

    def after_refusal(self, status: int, said: str, grammar: Grammar | None) -> Dialect | None:
        """What to try after the server refused a request; None when the refusal is about the row itself."""
        if self.chat and (status in (404, 405, 501) or "chat template" in said.lower()):
            return replace(self, chat=False)
        if status not in (400, 422):
            return None
        if "max_completion_tokens" in said and self.max_tokens_field == "max_tokens":
            return replace(self, max_tokens_field="max_completion_tokens")
        if grammar is not None and self.wraps(grammar) and _SCHEMA.search(said):
            return replace(self, no_schema=self.no_schema | {shape_of(grammar)})
        if _UNSUPPORTED.search(said):
            for field in ("seed", "temperature", "top_p"):
                if field in said and field not in self.omitted:
                    return replace(self, omitted=self.omitted | {field})
        return None


def shape_of(grammar: Grammar) -> Shape:
    """The shape of a grammar."""
    return "choice" if grammar.choices else "regex"


def encodable(text: str) -> str:
    """`text` with lone surrogates, which UTF-8 cannot carry, replaced."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _sampling(sampling: Sampling) -> dict[str, Any]:
    fields: dict[str, Any] = {"temperature": sampling.temperature}
    if sampling.top_p != 1.0:
        fields["top_p"] = sampling.top_p
    if sampling.seed is not None:
        fields["seed"] = sampling.seed
    if sampling.stop:
        fields["stop"] = [encodable(stop) for stop in sampling.stop]
    return fields


def _for_vllm(submission: Submission) -> dict[str, Any]:
    """Fields of vLLM alone: the grammar, and the relQuery for the scheduler inside the server."""
    sampling = submission.sampling
    grammar, longest = sampling.grammar, sampling.max_tokens
    if grammar is not None and grammar.choices:
        longest = min(longest, grammar.max_bytes + 1)
    fields: dict[str, Any] = {
        # What is not said here, the server takes from the model's generation_config.
        "top_p": sampling.top_p,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "vllm_xargs": {
            "rel_id": encodable(submission.rel_id),
            "rel_rows": len(submission.prompts),
            "rel_ol": longest,
        },
    }
    if grammar is not None:
        fields["structured_outputs"] = (
            {"choice": list(grammar.choices)} if grammar.choices else {"regex": grammar.regex}
        )
    return fields


def _schema(grammar: Grammar) -> dict[str, Any]:
    """The grammar as a JSON schema; schemas must describe an object, hence the wrapping."""
    answer: dict[str, Any] = {"type": "string"}
    if grammar.choices:
        answer["enum"] = list(grammar.choices)
    else:
        answer["pattern"] = f"^(?:{grammar.regex})$"
    schema = {
        "type": "object",
        "properties": {"answer": answer},
        "required": ["answer"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
