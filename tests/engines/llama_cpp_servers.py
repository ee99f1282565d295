"""Real llama-cpp-python servers."""

from __future__ import annotations

from dataclasses import dataclass

from server_process import ServerProcess

from tests.llama_cpp import PYTHON


@dataclass
class LlamaCppServer(ServerProcess):
    """A llama-cpp-python server of the model's GGUF file."""

    options: tuple[str, ...] = ()

    ready_path = "/v1/models"

    @property
    def command(self) -> list[str]:
        return [
            str(PYTHON), "-m", "llama_cpp.server", "--model", str(self.model), "--model_alias", "tiny",
            "--host", "127.0.0.1", "--port", str(self.port), "--n_ctx", "2048", "--n_threads", "1",
            "--n_threads_batch", "1", "--verbose", "False", *self.options,
        ]  # fmt: skip
