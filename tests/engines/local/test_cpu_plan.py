"""Threads and KV memory of an engine on a CPU: chosen from the model's files and the machine."""

from __future__ import annotations

import json
import os

import pytest

from relserve.engines.local import cpu, start
from relserve.engines.local.cpu_plan import (
    GIB,
    LEAST_BYTES,
    MIB,
    ROW_TOKENS,
    CpuPlan,
    FreeMemory,
    ModelWorkers,
    kv_bytes,
    num_threads,
    plan,
)
from relserve.engines.local.model_files import (
    ModelSize,
    kv_bytes_per_token,
    num_parameters,
    read_config,
    size_of_model,
)
from relserve.machine import capacity
from relserve.tiny import MODEL_DIR

QWEN = dict(  # Qwen2.5-0.5B
    hidden_size=896, num_hidden_layers=24, vocab_size=151_936, intermediate_size=4864,
    num_attention_heads=14, num_key_value_heads=2, max_position_embeddings=32_768,
)  # fmt: skip
SIZE = ModelSize(parameters=2e9, weight_bytes=4 * GIB, kv_bytes=61_440, context=4096)


@pytest.mark.parametrize(("millions", "cores", "threads"), [(5, 8, 1), (25, 8, 1), (250, 1, 1), (250, 2, 2)])
def test_a_small_model_gets_one_thread_and_a_large_one_the_cores(millions, cores, threads):
    assert num_threads(millions * 1e6, cores) == threads


def kv_of(size=SIZE, free=64 * GIB, max_rows=None, workers=ModelWorkers(), node=None):  # noqa: B008
    return kv_bytes(size, FreeMemory(free, node), max_rows, workers) / GIB


def test_workers_share_the_cores():
    assert plan(SIZE, 8, FreeMemory(), None, ModelWorkers(2, 1)).threads == 4
    assert plan(SIZE, 8, FreeMemory(), None, ModelWorkers(2, 2)).threads == 2
    assert plan(SIZE, 2, FreeMemory(), None, ModelWorkers(4, 1)).threads == 1


def test_a_copy_of_a_model_is_as_large_as_the_model():
    middling = SIZE._replace(parameters=60e6)
    assert plan(middling, 8, FreeMemory(), None, ModelWorkers(1, 2)).threads == 4
    assert plan(middling, 8, FreeMemory(), None, ModelWorkers(2, 1)).threads == 1


def test_a_model_of_unknown_size_gets_what_every_machine_has():
    assert plan(None, 8, FreeMemory(), None, ModelWorkers()) == CpuPlan(1, 2 * GIB)


def test_kv_memory_holds_the_rows_and_one_of_the_longest():
    assert kv_of() * GIB == 256 * ROW_TOKENS * SIZE.kv_bytes
    few = kv_of(SIZE._replace(context=131_072), max_rows=4)
    assert few * GIB == 131_072 * SIZE.kv_bytes
    assert kv_of(SIZE._replace(kv_bytes=None)) == 2


@pytest.mark.parametrize(
    ("size", "gib"),
    [
        (ModelSize(5e6, 10.6e6, 4096, 4096), 0.98),  # tiny has about what it had
        (ModelSize(135e6, 269e6, 23_040, 8192), 0.5),  # SmolLM2: 3 GiB if all rows took 512 tokens
        (ModelSize(135e6, 538e6, 46_080, 8192), 1.0),  # the same in float32: twice the weights
        (ModelSize(270e6, 540e6, 49_152, 32_768), 1.5),  # one row of the whole context
        (ModelSize(0.5e9, 1e9, 12_288, 32_768), 1.5),  # of more than 0.5 B all rows, as before
    ],
    ids=["tiny", "smollm2", "in float32", "a long context", "half a billion"],
)
def test_rows_of_a_small_model_take_no_more_than_twice_its_weights(size, gib):
    """Or than a GiB leaves: what all rows could take is ten times a small model's size."""
    assert kv_of(size) == pytest.approx(gib, abs=0.012)


def test_kv_memory_leaves_half_of_what_is_free():
    assert kv_of(free=12 * GIB) == 4
    assert kv_of(free=GIB // 4) * GIB == LEAST_BYTES  # not even the weights fit: vLLM says so
    assert kv_of(free=None) == 2
    assert kv_of(SIZE._replace(kv_bytes=None), free=6 * GIB) == 1


def test_kv_memory_is_in_whole_mib():
    assert kv_of(free=9.3 * GIB) * GIB % MIB == 0


def test_each_part_of_a_split_model_keeps_its_part_of_a_token():
    """vLLM gives every worker as much as the argument says."""
    whole = kv_of()
    assert [kv_of(workers=ModelWorkers(parts)) for parts in (2, 4)] == [whole / 2, whole / 4]
    assert kv_of(free=12 * GIB, workers=ModelWorkers(2)) == 2  # 4 in all


def test_each_copy_of_a_model_has_weights_and_rows_of_its_own():
    assert kv_of(workers=ModelWorkers(1, 2)) == kv_of()
    assert kv_of(free=16 * GIB, workers=ModelWorkers(1, 2)) == 2  # 16 - 2 x 4 are left: 4 in all
    assert kv_of(free=24 * GIB, workers=ModelWorkers(2, 2)) == 2


def test_kv_memory_fits_one_numa_node():
    assert kv_of(node=12 * GIB) == 4
    assert kv_of(node=10 * GIB, workers=ModelWorkers(2)) == kv_of() / 2
    assert kv_of(free=12 * GIB, node=60 * GIB) == 4


@pytest.mark.parametrize(
    ("engine_args", "workers"),
    [
        ({}, ModelWorkers(1, 1)),
        (
            {"tensor_parallel_size": 2, "pipeline_parallel_size": 3, "data_parallel_size": 4},
            ModelWorkers(6, 4),
        ),
    ],
)
def test_engine_arguments_tell_the_workers(engine_args, workers):
    assert cpu.workers_of(engine_args) == workers


def test_the_size_of_a_model_is_estimated_from_its_config():
    assert 0.4e9 < num_parameters(QWEN) < 0.8e9
    assert num_parameters({"text_config": QWEN, "vision_config": {}}) == num_parameters(QWEN)
    assert kv_bytes_per_token(QWEN, 2) == 2 * 24 * 2 * 64 * 2


def test_the_size_of_a_folder_is_read_from_its_weights():
    size = size_of_model(str(MODEL_DIR), None, None)
    file = MODEL_DIR / "model.safetensors"
    assert 5e6 < size.parameters < 5.5e6
    assert size[1:] == (file.stat().st_size, 4096, 4096)  # 2 x 4 layers x 4 heads x 64 x 2 bytes; the context
    in_float32 = size_of_model(str(MODEL_DIR), 4, 512)
    assert in_float32 == (size.parameters, 4 * size.parameters, 8192, 512)


def folder_of(tmp_path, config, name, data):
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / name).write_bytes(data)
    return str(tmp_path)


def safetensors(dtype, *shape):
    header = json.dumps({"w": {"dtype": dtype, "shape": shape, "data_offsets": [0, 128]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(128)


def test_quantised_weights_are_counted_by_the_config(tmp_path):
    weights = safetensors("I32", 4, 8)
    size = size_of_model(folder_of(tmp_path, QWEN, "model.safetensors", weights), None, None)
    assert size.parameters == num_parameters(QWEN)
    assert size.weight_bytes == len(weights)


@pytest.mark.parametrize("config", [{}, {"n_embd": [8, 16]}, QWEN])
def test_headers_of_weights_go_before_what_a_config_says(tmp_path, config):
    folder = folder_of(tmp_path, config, "model.safetensors", safetensors("F16", 1000, 1000, 100))
    assert size_of_model(folder, None, None).parameters == 100e6
    assert cpu.plan_of(folder, {}).threads == capacity.num_idle_cores()


def test_on_a_busy_machine_a_model_gets_the_threads_for_which_cores_are_idle(tmp_path, monkeypatch):
    folder = folder_of(tmp_path, {}, "model.safetensors", safetensors("F16", 1000, 1000, 100))
    monkeypatch.setattr(capacity, "num_cores", lambda: 4)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    for load, threads in ((0.0, 4), (3.6, 4), (5.2, 3), (6.6, 1), (40.0, 1)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert cpu.plan_of(folder, {}).threads == threads


@pytest.mark.parametrize(("dtype", "parameters"), [(None, 500), ("float32", 250)])
def test_a_config_of_its_own_words_leaves_the_size_of_the_files(tmp_path, dtype, parameters):
    size = size_of_model(folder_of(tmp_path, {"torch_dtype": dtype}, "weights.bin", bytes(1000)), None, None)
    assert size == (parameters, 1000, None, 2048)


def test_weights_of_pytorch_are_stored_as_the_config_says(tmp_path):
    config = {**QWEN, "torch_dtype": "bfloat16"}
    size = size_of_model(folder_of(tmp_path, config, "weights.bin", bytes(1000)), None, None)
    assert size.kv_bytes == kv_bytes_per_token(QWEN, 2)


GPT2 = dict(n_embd=768, n_layer=12, n_head=12, n_positions=1024, n_inner=None, vocab_size=50_257)
MPT = dict(d_model=4096, n_layers=32, n_heads=32, max_seq_len=2048, vocab_size=50_432, attn_config={})
DBRX = dict(
    d_model=6144, n_layers=40, n_heads=48, max_seq_len=32_768, vocab_size=100_352,
    attn_config={"kv_n_heads": 8}, ffn_config={"ffn_hidden_size": 10_752, "moe_num_experts": 16},
)  # fmt: skip
QWEN_MOE = dict(  # Qwen3-30B-A3B
    hidden_size=2048, num_hidden_layers=48, vocab_size=151_936, intermediate_size=6144, num_experts=128,
    moe_intermediate_size=768, num_attention_heads=32, num_key_value_heads=4, head_dim=128,
)  # fmt: skip
DEEPSEEK = dict(  # DeepSeek-V2-Lite
    hidden_size=2048, num_hidden_layers=27, vocab_size=102_400, intermediate_size=10_944, n_routed_experts=64,
    n_shared_experts=2, moe_intermediate_size=1408, first_k_dense_replace=1, num_attention_heads=16,
)  # fmt: skip


@pytest.mark.parametrize(
    ("config", "billions"),
    [(GPT2, 0.16), (MPT, 7.3), (DBRX, 132), (QWEN_MOE, 30.5), (DEEPSEEK, 15.7)],
    ids=["gpt2", "mpt", "dbrx", "qwen-moe", "deepseek"],
)
def test_names_and_experts_of_other_models(config, billions):
    assert num_parameters(config) == pytest.approx(billions * 1e9, rel=0.25)


def test_kv_heads_under_other_names():
    assert kv_bytes_per_token(GPT2, 2) == 2 * 12 * 768 * 2
    assert kv_bytes_per_token(DBRX, 2) == 2 * 40 * 8 * 128 * 2


@pytest.mark.parametrize("text", [None, "[]", "{", "{}", '{"hidden_size": 8}'])
def test_a_config_that_tells_nothing_gives_no_size(tmp_path, text):
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    assert size_of_model(str(tmp_path), None, None) is None


def test_a_config_that_is_no_object_is_an_error(tmp_path):
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ValueError, match="no object"):
        read_config(str(tmp_path))


def test_the_users_own_variables_win(monkeypatch):
    for name in (cpu.THREADS, cpu.BIND, *cpu.ALLOCATOR):
        monkeypatch.delenv(name, raising=False)
    assert set(cpu.variables_for(str(MODEL_DIR), {})) == {cpu.THREADS, cpu.BIND, *cpu.ALLOCATOR}
    assert cpu.variables_for(str(MODEL_DIR), {})[cpu.THREADS] == "1"
    monkeypatch.setenv(cpu.THREADS, "3")
    assert set(cpu.variables_for(str(MODEL_DIR), {})) == {cpu.BIND, *cpu.ALLOCATOR}


def test_kv_memory_is_an_argument_of_the_format_that_was_chosen(tmp_path, monkeypatch):
    """Tokens in float32 take twice the bytes; two parts, for one would import vLLM here."""
    folder = folder_of(tmp_path, QWEN, "model.safetensors", safetensors("BF16", 1000, 1000, 500))
    monkeypatch.setattr(cpu, "cpu_dtype", lambda path: "float32")
    split = {"tensor_parallel_size": 2}
    chosen = cpu.arguments_for(folder, split)
    assert chosen["kv_cache_memory_bytes"] == cpu.plan_of(folder, {**split, "dtype": "float32"}).kv_bytes
    assert chosen["kv_cache_memory_bytes"] > cpu.plan_of(folder, split).kv_bytes


@pytest.mark.vllm
def test_two_engines_of_one_process_have_their_own_threads(monkeypatch):
    seen = []

    def start_client(arguments, *_):
        seen.append(os.environ[cpu.THREADS])
        raise InterruptedError

    monkeypatch.delenv(cpu.THREADS, raising=False)
    monkeypatch.setattr(start.engines, "start_client", start_client)
    monkeypatch.setattr(start, "arguments_of", lambda path, engine_args: {"model": path})
    monkeypatch.setattr(start, "variables_of", lambda path, arguments: {cpu.THREADS: path})
    for path in ("1", "8"):
        with pytest.raises(InterruptedError):
            start.launch(path, {}, None)
    assert seen == ["1", "8"]
    assert cpu.THREADS not in os.environ
