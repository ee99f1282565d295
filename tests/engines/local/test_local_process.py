"""A local engine under a script: no __main__ guard, Ctrl-C, kill -9. One leaves in test_engine_traces."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from relserve.engines.local.prompts import PromptEncoder, speakable
from tests.waiting import is_gone, wait_until

# No __main__ guard; the query runs in a thread that is not the main one; Ctrl-C comes between two queries.
SCRIPT = """
import sys, threading, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from asking import ask
from relserve.engines.local.engine import LocalEngine

print("script runs", flush=True)
engine = LocalEngine("tiny", {model!r}, log_path=Path({log!r}))
thread = threading.Thread(target=lambda: print("said", ask(engine, ["hi"])[0].failure, flush=True))
thread.start()
thread.join()
print("pid", engine.pid, flush=True)
"""
INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit SIG_IGN
try:
    print("waiting", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("said", ask(engine, ["hi again"])[0].failure, engine.pid, flush=True)
    time.sleep(60)
"""


def script(model_path: Path, tmp_path: Path, ending: str) -> str:
    here = str(Path(__file__).parents[1])
    return SCRIPT.format(tests=here, model=str(model_path), log=str(tmp_path / "engine.log")) + ending


@pytest.mark.engine_of_its_own
@pytest.mark.performance
@pytest.mark.vllm
def test_ctrl_c_spares_the_engine_and_kill_9_of_the_script_ends_it(model_path, tmp_path, limit_s):
    pytest.importorskip("vllm", reason="vLLM is not installed")
    file = tmp_path / "script.py"
    file.write_text(script(model_path, tmp_path, INTERRUPTED))
    user = subprocess.Popen([sys.executable, file], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        lines = [user.stdout.readline().strip() for _ in range(4)]
        pid = int(lines[2].split()[1])
        assert lines == ["script runs", "said None", f"pid {pid}", "waiting"]
        time.sleep(0.2)
        os.killpg(user.pid, signal.SIGINT)
        assert user.stdout.readline().strip() == f"said None {pid}"
        user.kill()
        wait_until(lambda: is_gone(pid), limit_s(3))
    finally:
        user.kill()
        user.wait()


class WordTokenizer:
    """Makes a token of each word, and one of <s> where special tokens are asked for."""

    chat_template: str | None = None
    system_role = True

    def __call__(self, texts, add_special_tokens, **_):
        ids = [list(range(len(t.split()) + add_special_tokens)) for t in texts]
        return {"input_ids": ids}

    def apply_chat_template(self, conversations, **_):
        if not self.system_role and any(c[0]["role"] == "system" for c in conversations):
            raise ValueError("System role not supported")
        return ["<s> " + " ".join(f"{m['role']}: {m['content']}" for m in c) for c in conversations]


def test_plain_prompts_get_special_tokens_once():
    encoder = PromptEncoder(WordTokenizer())
    assert [len(ids) for ids in encoder.encode(["a b", "c"], None)] == [3, 2]
    assert [len(ids) for ids in encoder.encode(["a b"], "be brief")] == [5]
    assert encoder.encode(["", "a"], None)[0] == []
    assert encoder.num_tokens(["a b", ""]) == [2, 0]


def test_a_template_writes_its_own_special_tokens():
    tokenizer = WordTokenizer()
    tokenizer.chat_template = "{{ .. }}"
    encoder = PromptEncoder(tokenizer)
    assert [len(ids) for ids in encoder.encode(["a b", ""], None)] == [4, 2]
    assert [len(ids) for ids in encoder.encode(["a b"], "be brief")] == [7]


def test_a_template_without_a_system_role_gets_one_message():
    tokenizer = WordTokenizer()
    tokenizer.chat_template, tokenizer.system_role = "{{ .. }}", False
    encoder = PromptEncoder(tokenizer)
    assert [len(ids) for ids in encoder.encode(["a b"], "be brief")] == [6]


@pytest.mark.parametrize(
    ("text", "clean"),
    [("plain", "plain"), ("\ud83d", "\ufffd"), ("a\udc00b", "a\ufffdb"), ("\ud83e\udd86", "🦆"), ("", "")],
)
def test_surrogates_become_characters(text, clean):
    assert speakable(text) == clean
