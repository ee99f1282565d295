"""What a checkup found, as data: `relserve models check` prints it, or writes it as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ChatTemplate:
    """What the chat template of a model does.

    Attributes:
        present: the folder has one; without, prompts go to the model as they are.
        takes_system: it has a place for a system message, else that goes before the prompt.
        thinks: the model can be asked to think before it answers.
    """

    present: bool
    takes_system: bool
    thinks: bool


@dataclass(frozen=True)
class LocalModel:
    """A model that runs on this machine.

    Attributes:
        architecture, number_format: as vLLM names them.
        parameters, weight_bytes, kv_bytes_per_token: None where the files do not tell.
        quantization: of the weights, as vLLM names it.
        context: the most tokens of a prompt with its answer.
        kv_tokens: that the engine's KV cache holds.
        threads: of each worker; None on a GPU.
        kv_gib: GiB of KV cache of each worker; None where vLLM chooses, as on a GPU.
        users_own: variables of those that relserve chooses where the user set them.
        start_s: how long the engine took to come up.
    """

    architecture: str
    number_format: str
    quantization: str | None
    parameters: float | None
    weight_bytes: float | None
    kv_bytes_per_token: int | None
    vocabulary: int
    context: int
    kv_tokens: int | None
    threads: int | None
    kv_gib: float | None
    users_own: list[str]
    template: ChatTemplate
    start_s: float


@dataclass(frozen=True)
class ServedModel:
    """A model behind a URL: what the server told, and what it refused.

    Attributes:
        name: of the model at the server.
        is_vllm: it takes grammars and the relQuery's identity as they are.
        endpoint: to which prompts go.
        refused: fields of requests that it does not take, and forms of answers without a JSON schema.
        answer_s: how long its first answer took.
    """

    name: str
    is_vllm: bool
    endpoint: str
    refused: list[str]
    answer_s: float


@dataclass(frozen=True)
class Speed:
    """Tokens a second: of prompts that nobody asked before, and of answers to several rows at once.

    None where the engine counts no tokens.

    Attributes:
        busy_cores: of this machine, that other programs kept busy just before.
    """

    prefill: float | None
    decode: float | None
    decode_rows: int
    busy_cores: int = 0


@dataclass(frozen=True)
class CheckResult:
    """Something that was tried: whether it worked, and what came."""

    name: str
    ok: bool
    message: str


@dataclass(frozen=True)
class FunctionSample:
    """One function, asked once: its answer, or why there is none.

    Attributes:
        expected: the right answer, or several with "or" between them; None for free text.
        is_right: whether the answer is one of these; None for free text.
    """

    function: str
    sql: str
    answer: str | None
    problem: str | None
    seconds: float
    expected: str | None = None
    is_right: bool | None = None


@dataclass(frozen=True)
class Page:
    """All that a checkup found.

    Attributes:
        kind: "local", "server" or "scripted".
        local, served: of these kinds.
        text: what the samples are about.
        advice: what to set, a line each; empty for nothing.
    """

    name: str
    kind: str
    local: LocalModel | None
    served: ServedModel | None
    grammars: list[CheckResult]
    logprobs: CheckResult
    speed: Speed
    text: str
    samples: list[FunctionSample]
    advice: list[str]

    @property
    def graded(self) -> list[FunctionSample]:
        """The samples that have a right answer."""
        return [sample for sample in self.samples if sample.is_right is not None]

    @property
    def num_right(self) -> int:
        """How many of `graded` are right."""
        return sum(sample.is_right is True for sample in self.graded)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
