"""Threads and KV memory of an engine on a CPU: chosen from the model's files and the machine."""

from __future__ import annotations

import json
import os

import pytest

from relserve.engines.local import cpu, start
from relserve.engines.local.cpu_plan import GIB, ROW_TOKENS, CpuPlan, kv_gib, num_threads, plan
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
SIZE = ModelSize(parameters=250e6, weight_bytes=0.5 * GIB, kv_bytes=61_440, context=4096)


@pytest.mark.parametrize(("millions", "cores", "threads"), [(5, 8, 1), (25, 8, 1), (250, 1, 1), (250, 2, 2)])
def test_a_small_model_gets_one_thread_and_a_large_one_the_cores(millions, cores, threads):
    assert num_threads(millions * 1e6, cores) == threads


def test_workers_share_the_cores():
    assert plan(SIZE, 8, None, None, num_workers=2).threads == 4
    assert plan(SIZE, 2, None, None, num_workers=4).threads == 1


def test_a_model_of_unknown_size_gets_what_every_machine_has():
    assert plan(None, 8, None, None, 1) == CpuPlan(1, 2)


def test_kv_memory_holds_the_rows_and_one_of_the_longest():
    rows = 256 * ROW_TOKENS * SIZE.kv_bytes
    assert 0 <= kv_gib(SIZE, 64 * GIB, None) * GIB - rows < GIB
    few = kv_gib(SIZE._replace(context=131_072), 64 * GIB, max_rows=4)
    assert 0 <= few * GIB - 131_072 * SIZE.kv_bytes < GIB
    assert kv_gib(SIZE._replace(kv_bytes=16), 64 * GIB, None) == 1


def test_kv_memory_leaves_half_of_what_is_free():
    assert kv_gib(SIZE, 9 * GIB, None) == 4
    assert kv_gib(SIZE, GIB // 4, None) == 1  # not even the weights fit: vLLM says so
    assert kv_gib(SIZE, None, None) == 2


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


def test_quantised_weights_are_counted_by_the_config(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(QWEN))
    header = json.dumps({"w": {"dtype": "I32", "shape": [4, 8], "data_offsets": [0, 128]}}).encode()
    weights = len(header).to_bytes(8, "little") + header + bytes(128)
    (tmp_path / "model.safetensors").write_bytes(weights)
    size = size_of_model(str(tmp_path), None, None)
    assert size.parameters == num_parameters(QWEN)
    assert size.weight_bytes == len(weights)


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
    for name in (cpu.THREADS, cpu.KV_GIB, cpu.BIND):
        monkeypatch.delenv(name, raising=False)
    assert set(cpu.variables_for(str(MODEL_DIR), {})) == {cpu.THREADS, cpu.KV_GIB, cpu.BIND}
    assert cpu.variables_for(str(MODEL_DIR), {})[cpu.THREADS] == "1"
    assert cpu.KV_GIB not in cpu.variables_for(str(MODEL_DIR), {"kv_cache_memory_bytes": GIB})
    monkeypatch.setenv(cpu.THREADS, "3")
    assert set(cpu.variables_for(str(MODEL_DIR), {})) == {cpu.KV_GIB, cpu.BIND}


def test_two_engines_of_one_process_have_their_own_threads(monkeypatch):
    seen = []

    def start_client(arguments, _):
        seen.append(os.environ[cpu.THREADS])
        raise InterruptedError

    monkeypatch.delenv(cpu.THREADS, raising=False)
    monkeypatch.setattr(start.host, "start_client", start_client)
    monkeypatch.setattr(start, "arguments_of", lambda path, engine_args: {"model": path})
    monkeypatch.setattr(start, "variables_of", lambda path, arguments: {cpu.THREADS: path})
    for path in ("1", "8"):
        with pytest.raises(InterruptedError):
            start.launch(path, {}, None)
    assert seen == ["1", "8"]
    assert cpu.THREADS not in os.environ


def test_the_machine_tells_its_cores_and_free_memory():
    assert 1 <= capacity.num_cores() <= os.cpu_count()
    free = capacity.free_bytes()
    assert free is None or 0 < free < 2**50


def test_a_container_limits_both(monkeypatch, tmp_path):
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "memory.max").write_text(f"{GIB}\n")
    (tmp_path / "memory.current").write_text(f"{GIB // 2}\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 1024\n")
    monkeypatch.setattr(capacity, "_CGROUP", tmp_path)
    assert capacity.num_cores() == 1
    assert capacity.free_bytes() <= GIB // 2 + 1024


def test_threads_of_one_core_count_once(monkeypatch, tmp_path):
    for cpu_number, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        folder = tmp_path / f"cpu{cpu_number}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(siblings)
    monkeypatch.setattr(capacity, "_CPUS", tmp_path)
    monkeypatch.setattr(capacity, "_CGROUP", tmp_path)
    monkeypatch.setattr(capacity, "_allowed_cpus", lambda: {0, 1, 2, 3})
    assert capacity.num_cores() == 2
