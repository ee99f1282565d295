"""Starting and stopping real `vllm serve` processes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

SHIPPED = Path(__file__).parents[2] / "relserve/tiny/model"
SCHEDULER = "relserve.vllm_plugin.scheduler"
START_S = 150
VLLM_ENV = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


@dataclass
class VllmServer:
    """A `vllm serve` process of ours."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path

    def wait_until_up(self) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                urllib.request.urlopen(self.url.removesuffix("/v1") + "/health", timeout=2).close()
                return
            time.sleep(0.3)
        self.stop()
        pytest.fail(f"vllm serve did not come up:\n{self.log.read_text()[-4000:]}")

    def stop(self) -> None:
        """Ask it to end, then end whatever is left of its process group."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=10)
        self.kill()

    def kill(self) -> None:
        """kill -9 of the server and the engine process below it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=10)


def start_vllm(model: Path, log: Path, *args: str) -> VllmServer:
    """Start `vllm serve`; returns before it is up."""
    port = free_port()
    command = [
        str(Path(sys.executable).with_name("vllm")), "serve", str(model), "--served-model-name", "tiny",
        "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--enforce-eager",
        "--block-size", "32", "--max-model-len", "2048", "--max-num-seqs", "32", *args,
    ]  # fmt: skip
    if find_spec("relserve.vllm_plugin") and find_spec(SCHEDULER):
        command += ["--scheduler-cls", f"{SCHEDULER}.make"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **VLLM_ENV},
            start_new_session=True,
        )  # fmt: skip
    return VllmServer(process, f"http://127.0.0.1:{port}/v1", log)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def random_model(folder: Path) -> Path:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    special = ["<pad>", "<s>", "</s>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        ["the quick brown fox jumps over a review of a product "] * 50,
        trainers.BpeTrainer(vocab_size=500, special_tokens=special, initial_alphabet=alphabet),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token="<s>", eos_token="</s>", pad_token="<pad>",
        chat_template=CHAT_TEMPLATE,
    )  # fmt: skip
    set_seed(7)
    config = LlamaConfig(
        vocab_size=512, hidden_size=128, num_hidden_layers=2, intermediate_size=256, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=2048, bos_token_id=1, eos_token_id=2, pad_token_id=0,
        initializer_range=0.3,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
