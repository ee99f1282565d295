"""What is proposed to somebody who names a model as its host, ollama or another program does."""

from __future__ import annotations

import pytest

from relserve.call.hosted_names import HOSTS, hint_of, lists_all

GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai"


@pytest.mark.parametrize(("name", "url"), [
    ("gpt-4o", "https://api.openai.com/v1#gpt-4o"),
    ("openai/gpt-4o", "https://api.openai.com/v1#gpt-4o"),
    ("o4-mini", "https://api.openai.com/v1#o4-mini"),
    ("claude-sonnet-4-5", "https://api.anthropic.com/v1#claude-sonnet-4-5"),
    ("anthropic/claude-haiku-4-5", "https://api.anthropic.com/v1#claude-haiku-4-5"),
    ("gemini-2.5-flash", f"{GEMINI}#gemini-2.5-flash"),
    ("google/Gemini-2.5-pro", f"{GEMINI}#Gemini-2.5-pro"),
    ("openrouter/qwen/qwen3-8b", "https://openrouter.ai/api/v1#qwen/qwen3-8b"),
    ("azure/my-deployment", "https://RESOURCE.openai.azure.com/openai/v1#my-deployment"),
    ("llama3.2:1b", "http://127.0.0.1:11434/v1#llama3.2:1b"),
    ("hf.co/unsloth/gemma-3:Q4_K_M", "http://127.0.0.1:11434/v1#hf.co/unsloth/gemma-3:Q4_K_M"),
    ("ollama/mistral", "http://127.0.0.1:11434/v1#mistral"),
    ("deepseek-chat", "https://api.deepseek.com/v1#deepseek-chat"),
    ("localhost:8000", "http://localhost:8000"),
    ("gpu.example:8000/v1#qwen", "http://gpu.example:8000/v1#qwen"),
    ("openrouter.ai/api/v1#qwen/qwen3-8b", "https://openrouter.ai/api/v1#qwen/qwen3-8b"),
    ("api.openai.com/v1#gpt-4o", "https://api.openai.com/v1#gpt-4o"),
])  # fmt: skip
def test_the_url_that_was_meant(name: str, url: str) -> None:
    assert f"'{url}'" in str(hint_of(name))


@pytest.mark.parametrize("name", [
    "openai/gpt-oss-20b", "openai-community/gpt2", "google/gemma-3-1b-it", "deepseek-ai/DeepSeek-V3",
    "mistralai/Mistral-7B-Instruct-v0.3", "Qwen/Qwen3-8B", "./models/qwen", "tiney", "o-lala",
])  # fmt: skip
def test_models_of_the_hub_and_nonsense_get_no_url(name: str) -> None:
    assert hint_of(name) is None


def test_the_key_is_named_where_one_is_needed() -> None:
    assert "OPENAI_API_KEY" in str(hint_of("gpt-4o"))
    assert "RELSERVE_API_KEY" in str(hint_of("claude-opus-4-1"))
    assert "KEY" not in str(hint_of("llama3.2:1b"))


def test_which_hosts_list_all_their_names() -> None:
    told = {host.title: lists_all(host.url.replace("RESOURCE", "acme")) for host in HOSTS}
    assert {title for title, lists in told.items() if not lists} == {"Azure OpenAI", "Anthropic"}
    assert lists_all("http://127.0.0.1:8000/v1")
