"""Small engines with and without the hidden cache, requests for them, and what must hold in idle ones."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.engines import inspect_models_here

VARIABLES = {
    "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1", "VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1",
}  # fmt: skip
VOCABULARY = 8192  # of the embedded model, whose tokenizer the made-up ones have
BLOCK = 32
LENGTHS = (1, 5, 31, 32, 33, 64, 65, 97, 150, 200)  # of prompts: about the borders of both kinds' blocks
SPREAD = 0.15  # of made-up weights: so large that what is said depends on the prompt
NUM_BLOCKS = 30  # a third of what the requests want at once
NUM_NEW = 24
FORMS: dict[str, dict[str, Any]] = {  # of grammars, as vLLM takes them
    "regex": {"regex": r"[a-z]{9,30}"},
    "schema": {
        "json": {
            "type": "object", "required": ["name", "stars", "good"], "additionalProperties": False,
            "properties": {
                "name": {"type": "string", "minLength": 3, "maxLength": 12},
                "stars": {"type": "integer"}, "good": {"type": "boolean"},
            },
        }
    },
    "choice": {"choice": [f"the {dish} was warm and we stayed late" for dish in ("soup", "pie", "steak")]},
    "ebnf": {"grammar": 'root ::= dish ("; " dish)*\ndish ::= [a-z]+ " = " [0-9]+'},
}  # fmt: skip


def build_model(name: str, folder: Path) -> Path:
    """A made-up model of as many heads of keys as of queries: "opt" or "llama"; or the embedded "tiny"."""
    if name == "tiny":
        return MODEL_DIR
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, OPTConfig, OPTForCausalLM
    from transformers.utils import logging

    sizes: dict[str, Any] = dict(
        vocab_size=VOCABULARY, hidden_size=128, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=1024, bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    path = folder / name
    with torch.random.fork_rng():
        torch.manual_seed(17)
        if name == "opt":
            model = OPTForCausalLM(
                OPTConfig(ffn_dim=256, word_embed_proj_dim=128, init_std=SPREAD, dropout=0.0, **sizes)
            )
            for bias in (b for n, b in model.named_parameters() if n.endswith("_proj.bias")):
                torch.nn.init.normal_(bias, std=SPREAD)
        else:
            model = LlamaForCausalLM(LlamaConfig(intermediate_size=256, initializer_range=SPREAD, **sizes))
    logging.disable_progress_bar()
    model.save_pretrained(path)
    for file in MODEL_DIR.glob("token*"):
        shutil.copy(file, path)
    return path


def start(model: Path, cache: str | None, **given: Any) -> Any:
    """An engine; `cache` None: vLLM's own, without a word of relserve's."""
    vllm = pytest.importorskip("vllm", reason="vLLM is not installed")
    ours = given.pop("relserve", {})
    config = {} if cache is None else {"additional_config": {"relserve": {"cache": cache, **ours}}}
    arguments = dict(
        dtype="float32", enforce_eager=True, block_size=BLOCK, max_model_len=512, max_num_batched_tokens=64,
        max_num_seqs=16, num_gpu_blocks_override=NUM_BLOCKS, enable_prefix_caching=True,
    )  # fmt: skip
    inspect_models_here()
    return vllm.LLM(str(model), **{**arguments, **config, **given})


@contextmanager
def environment(own_process: bool = False) -> Iterator[None]:
    """The variables of these engines; without `own_process` they compute in this one."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in VARIABLES.items():
            patched.setenv(name, value)
        patched.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", str(int(own_process)))
        yield


class Work(NamedTuple):
    """Prompts in tokens, what they ask for, and which of them begin alike."""

    prompts: list[Any]
    params: list[Any]


def work(
    kinds: Sequence[str] = (),
    num: int = 20,
    max_tokens: int = NUM_NEW,
    seed: int = 17,
    forms: Sequence[str] = ("", "regex", "", ""),
) -> Work:
    """Requests of odd lengths, a third of which begin alike.

    Args:
        kinds: what each in turn says of its cache; (): nothing.
        forms: the form of each one's grammar in turn (see `FORMS`); "": none.
    """
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    drawn = random.Random(seed)
    common = [drawn.randrange(3, VOCABULARY) for _ in range(5 * BLOCK + 3)]
    prompts, params = [], []
    for i in range(num):
        own = [drawn.randrange(3, VOCABULARY) for _ in range(drawn.choice(LENGTHS))]
        prompts.append({"prompt_token_ids": (common if i % 3 == 0 else []) + own})
        form = forms[i % len(forms)]
        grammar = StructuredOutputsParams(**FORMS[form]) if form else None
        said = {"rel_cache": kinds[i % len(kinds)]} if kinds else None
        params.append(
            SamplingParams(
                max_tokens=max_tokens, temperature=0, ignore_eos=grammar is None, structured_outputs=grammar,
                extra_args=said,
            )
        )  # fmt: skip
    return Work(prompts, params)


def said(llm: Any, requests: Work) -> list[tuple[int, ...]]:
    """The tokens that an engine gives."""
    outputs = llm.generate(requests.prompts, requests.params, use_tqdm=False)
    return [tuple(each.outputs[0].token_ids) for each in outputs]


def scheduler_of(llm: Any) -> Any:
    """The scheduler of an engine in this process."""
    return llm.llm_engine.engine_core.engine_core.scheduler


def check_idle(llm: Any) -> None:
    """No block is lost, the null block is nobody's, and no request is remembered."""
    scheduler = scheduler_of(llm)
    pool = scheduler.kv_cache_manager.block_pool
    assert pool.num_gpu_blocks - 1 - pool.get_num_free_blocks() == 0
    assert pool.null_block.ref_cnt == 0
    assert not scheduler.requests
    assert not scheduler.kinds._hidden
    assert not any(scheduler.kinds.req_to_blocks.values())
    types = scheduler.types
    assert not any((types.planned, types._insisted, types._dropped))


class Watched(NamedTuple):
    """What happened in an engine: switches, those while requests waited for blocks, preemptions (switches
    among them), and how many ran in each step.
    """

    switches: list[str]
    when_full: list[str]
    preempted: list[str]
    running: list[int]


@contextmanager
def watched(llm: Any, switches: Callable[[Any], bool] = lambda request: False) -> Iterator[Watched]:
    """Count what happens, and before each step change the kind of the requests that `switches` picks."""
    scheduler = scheduler_of(llm)
    seen, schedule = Watched([], [], [], []), scheduler.schedule

    def step(*args: Any, **kwargs: Any) -> Any:
        is_full = len(scheduler.waiting) > 0 and len(scheduler.running) < scheduler.max_num_running_reqs
        for request in list(scheduler.running):
            if switches(request):
                name = request.request_id
                seen.switches.append(name)
                seen.when_full.extend([name] if is_full else [])
                scheduler.switch_cache_type(request, not scheduler.kinds.is_hidden(name))
        output = schedule(*args, **kwargs)
        seen.preempted.extend(output.preempted_req_ids or ())
        seen.running.append(len(scheduler.running))
        return output

    with patch.object(scheduler, "schedule", step):
        yield seen


def every(num_tokens: int) -> Callable[[Any], bool]:
    """Picks a request whenever it has said so many tokens more, and once while its prompt is computed."""
    picked: set[tuple[str, int]] = set()

    def pick(request: Any) -> bool:
        key = request.request_id, request.num_output_tokens // num_tokens
        is_new = key not in picked
        picked.add(key)
        return is_new

    return pick
