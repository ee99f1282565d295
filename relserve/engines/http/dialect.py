"""What a server understands: how a request is written for it, and what is left out once it refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from relserve.call.answer_types import Grammar
from relserve.call.grammar_size import num_listed
from relserve.call.relquery import Sampling, Submission
from relserve.call.structured import structured_outputs_of
from relserve.call.thinking import effort_of, template_fields
from relserve.call.turns import messages_of
from relserve.engines.http.gbnf import gbnf_of

MAX_ENUM = 500  # hosted servers take no more allowed values in a schema, and llama.cpp gets slow
WRAPPING_TOKENS = 16  # room for {"answer": ""} around an answer
MARK_TOKENS = 16  # room for the marks around thoughts
MOST_LIKELIEST = {True: 20, False: 5}  # tokens of a place whose probability is told; in a chat, and not
MOST_LIKELIEST_UNMASKED = 1000  # of llama.cpp, which tells words too that the grammar does not allow
FEWER_LIKELIEST = (20, 5)  # that a server may allow, where it refuses more
BOUNDS = ("maxLength", "minItems", "maxItems", "minimum", "maximum", "pattern")  # keywords of JSON schemas

THINKING = "chat_template_kwargs"  # vLLM's field that tells a reasoning model's template whether to think
BUDGET = "thinking_token_budget"  # vLLM's; taken only where it was started with a reasoning parser
EFFORT = "reasoning_effort"  # everybody's

Form = Literal["choice", "regex", "json", "ebnf", "parts"]

_UNSUPPORTED = re.compile(
    r"unsupported|not support|n't support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|not allowed"
    r"|not available|incompatible",
    re.IGNORECASE,
)
_SCHEMA = re.compile(r"response_format|json_?schema|structured|schema|grammar|enum|pattern", re.IGNORECASE)
NO_SYSTEM_ROLE = re.compile(
    r"system role|system message|roles? must alternate|only user and assistant", re.IGNORECASE
)
_LIKELIEST = re.compile(r"top_logprobs|sample logprobs")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Dialect:
    """What is known of a server; starts hopeful and shrinks with each refusal.

    Attributes:
        chat: it has a chat endpoint and the model a chat template.
        is_vllm: it is a vLLM server, which takes grammars and the relQuery's identity as they are.
        is_llama_cpp: it is llama.cpp's server or llama-cpp-python's, which take grammars in GBNF.
        system_role: the model's chat template takes a system message.
        max_tokens_field: the field that limits the reply.
        most_likeliest: tokens of a place whose probability it tells at most.
        no_schema: forms of grammar for which it takes neither a JSON schema nor GBNF.
        omitted: fields that it does not take, and keywords of JSON schemas.
    """

    chat: bool = True
    is_vllm: bool = False
    is_llama_cpp: bool = False
    system_role: bool = True
    max_tokens_field: str = "max_tokens"
    most_likeliest: int = MOST_LIKELIEST_UNMASKED
    no_schema: frozenset[Form] = frozenset()
    omitted: frozenset[str] = frozenset()

    @property
    def path(self) -> str:
        """The endpoint, below the base URL."""
        return "/chat/completions" if self.chat else "/completions"

    @property
    def takes_ebnf(self) -> bool:
        """Whether it can be held to a grammar in EBNF, or what it is turned into."""
        return self.is_vllm or self.is_llama_cpp

    def wraps(self, grammar: Grammar | None) -> bool:
        """Whether an answer under this grammar comes as {"answer": ..}."""
        if grammar is None or grammar.ebnf or self.takes_ebnf or not self.chat:
            return False
        if grammar.source is not None and grammar.shape is None:
            return False  # no schema says what stands in a text; the answer is checked
        return self._takes(grammar)

    def _takes(self, grammar: Grammar) -> bool:
        num_values = len(grammar.choices) if grammar.shape is None else num_listed(grammar.shape)
        return num_values <= MAX_ENUM and form_of(grammar) not in self.no_schema

    def _may_lack(self, grammar: Grammar) -> bool:
        """Whether a row is asked without this grammar, and its answer checked, where it is refused."""
        return self._takes(grammar) and not grammar.ebnf

    def body(self, model: str, prompt: str, submission: Submission) -> dict[str, Any]:
        """The request of one row."""
        sampling = submission.sampling
        body: dict[str, Any] = {"model": model, **self._text(prompt, submission)}
        body |= {k: v for k, v in _sampling(sampling).items() if k not in self.omitted}
        body[self.max_tokens_field] = sampling.max_tokens
        if sampling.thinking:
            body[self.max_tokens_field] += sampling.thinking + MARK_TOKENS
        if sampling.with_confidence and "logprobs" not in self.omitted:
            body |= self._logprobs
        body |= self._thinking(sampling.thinking)
        if self.is_vllm:
            body |= _for_vllm(submission)
        elif self.is_llama_cpp:
            body = {**self._for_llama_cpp(sampling), **body}
            if submission.cache_salt is not None:
                body["cache_prompt"] = False  # it knows no salt: nothing of a prompt is taken from another
        elif sampling.grammar is not None and self.wraps(sampling.grammar):
            body["response_format"] = _schema(sampling.grammar, self.omitted)
            body[self.max_tokens_field] += WRAPPING_TOKENS
        return body

    def _for_llama_cpp(self, sampling: Sampling) -> dict[str, Any]:
        """Fields of llama.cpp alone: the grammar, and what it would otherwise cut or penalise."""
        fields: dict[str, Any] = {"top_p": sampling.top_p, "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}
        grammar = sampling.grammar
        if grammar is not None and self._takes(grammar) and (gbnf := gbnf_of(grammar)) is not None:
            fields["grammar"] = encodable(gbnf)
        return fields

    @property
    def _logprobs(self) -> dict[str, Any]:
        """With the likeliest other tokens of each place: what else could have been chosen."""
        number = self._num_likeliest
        if not self.chat:
            return {"logprobs": max(1, number)}
        return {"logprobs": True, "top_logprobs": number} if number else {"logprobs": True}

    @property
    def _num_likeliest(self) -> int:
        if "top_logprobs" in self.omitted:
            return 0
        useful = MOST_LIKELIEST_UNMASKED if self.chat and self.is_llama_cpp else MOST_LIKELIEST[self.chat]
        return min(useful, self.most_likeliest)

    def _with_fewer_likeliest(self) -> Dialect:
        """What to try after the server refused as many as were asked for."""
        if fewer := [number for number in FEWER_LIKELIEST if number < self._num_likeliest]:
            return replace(self, most_likeliest=fewer[0])
        field = "top_logprobs" if self._num_likeliest else "logprobs"
        return replace(self, omitted=self.omitted | {field})

    @property
    def _tells_template(self) -> bool:
        return self.is_vllm and self.chat and THINKING not in self.omitted

    def _thinking(self, tokens: int) -> dict[str, Any]:
        """How long the model is to think; without a word where it is not to, but to vLLM's templates."""
        fields: dict[str, Any] = {EFFORT: effort_of(tokens)} if tokens else {}
        if self._tells_template:
            fields[THINKING] = template_fields(tokens)  # as on this machine
        if self.is_vllm and tokens and BUDGET not in self.omitted:
            fields[BUDGET] = tokens
        return fields

    def why_no_thoughts(self, status: int, message: str) -> str:
        """Why the model cannot be asked to think, after a request for thoughts was refused; else ""."""
        refused = status in (400, 422) and any(
            field in message for field in (EFFORT, THINKING, "chat_template")
        )
        return message if refused else ""

    def _text(self, prompt: str, submission: Submission) -> dict[str, Any]:
        if not self.chat:
            return {"prompt": encodable(submission.lead + prompt)}
        message = messages_of(prompt, submission.system, submission.turns, self.system_role)
        return {"messages": [{"role": role, "content": encodable(text)} for role, text in message]}

    def after_refusal(self, status: int, message: str, sampling: Sampling) -> Dialect | None:
        """What to try after the server refused a request; None when the refusal is about the row itself."""
        grammar, asks_logprobs = sampling.grammar, sampling.with_confidence and "logprobs" not in self.omitted
        if asks_logprobs and status in (400, 422) and _LIKELIEST.search(message):
            return self._with_fewer_likeliest()
        if self.chat and self.system_role and status in (400, 422, 500) and NO_SYSTEM_ROLE.search(message):
            return replace(self, system_role=False)
        if self.chat and (status in (404, 405, 501) or "chat template" in message.lower()):
            return replace(self, chat=False)
        if status not in (400, 422, 500):
            return None
        if "max_completion_tokens" in message and self.max_tokens_field == "max_tokens":
            return replace(self, max_tokens_field="max_completion_tokens")
        is_constrained = self.wraps(grammar) or self.is_llama_cpp
        if grammar is not None and is_constrained and self._may_lack(grammar) and _SCHEMA.search(message):
            if (keyword := self._refused_keyword(grammar, message)) is not None:
                return replace(self, omitted=self.omitted | {keyword})
            return replace(self, no_schema=self.no_schema | {form_of(grammar)})
        if BUDGET in message and BUDGET not in self.omitted:
            return replace(self, omitted=self.omitted | {BUDGET})
        if _UNSUPPORTED.search(message):
            if self._tells_template and "chat_template" in message:  # vLLM, of Mistral's tokenizers
                return replace(self, omitted=self.omitted | {THINKING})
            for field in ("seed", "temperature", "top_p", "top_logprobs", "logprobs"):
                if field in message and field not in self.omitted:
                    return replace(self, omitted=self.omitted | {field})
        return None

    def _refused_keyword(self, grammar: Grammar, message: str) -> str | None:
        """A bound in the schema that the server does not take; the answer is checked without it, too."""
        if grammar.shape is None or self.is_llama_cpp:
            return None
        return next((word for word in BOUNDS if word in message and word not in self.omitted), None)


def form_of(grammar: Grammar) -> Form:
    """The form of a grammar."""
    if grammar.source is not None:
        return "parts"
    if grammar.shape is not None:
        return "json"
    if grammar.ebnf:
        return "ebnf"
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
    sampling, grammar = submission.sampling, submission.sampling.grammar
    fields: dict[str, Any] = {
        # What is not said here, the server takes from the model's generation_config.
        "top_p": sampling.top_p,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "vllm_xargs": submission.tag().args(),
    }
    if submission.cache_salt is not None:
        fields["cache_salt"] = submission.cache_salt
    if grammar is not None and (held := _held_by_vllm(grammar)) is not None:
        fields["structured_outputs"] = held
    return fields


def _held_by_vllm(grammar: Grammar) -> dict[str, str] | None:
    """vLLM's structured outputs; None where it is held to nothing."""
    if grammar.source is None:
        return structured_outputs_of(grammar, encodable)
    gbnf = gbnf_of(grammar)  # whose notation xgrammar reads, too
    return None if gbnf is None else {"grammar": encodable(gbnf)}


def _schema(grammar: Grammar, omitted: frozenset[str]) -> dict[str, Any]:
    """The grammar as a JSON schema; schemas must describe an object, hence the wrapping."""
    answer: dict[str, Any] = {"type": "string"}
    if grammar.shape is not None:
        answer = _without(grammar.shape.json_schema(), omitted)
    elif grammar.choices:
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


def _without(schema: dict[str, Any], keywords: frozenset[str]) -> dict[str, Any]:
    """A JSON schema without some keywords, at every depth."""
    kept = {key: value for key, value in schema.items() if key not in keywords}
    if "properties" in kept:
        kept["properties"] = {name: _without(each, keywords) for name, each in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = _without(kept["items"], keywords)
    if "anyOf" in kept:
        kept["anyOf"] = [_without(each, keywords) for each in kept["anyOf"]]
    return kept
