"""What somebody means who names a hosted model as its host or another program does; calls name it by URL."""

from __future__ import annotations

import re
from typing import NamedTuple

from relserve.call.hosts import host_of

START_HERE = "docs/models.md, 'Start here', has lines to paste"
OLLAMA = "http://127.0.0.1:11434/v1"


class Vendor(NamedTuple):
    """A service with an OpenAI-compatible endpoint.

    Attributes:
        title: what people call it.
        url: of the endpoint.
        own: what its models' names begin with, as a regular expression; "": as those of others do.
        prefixes: what other programs put before the names, without the slash.
        key: the variable that holds the key; "": it takes none.
        lists_all: whether GET /models gives every name that it answers to.
    """

    title: str
    url: str
    own: str
    prefixes: tuple[str, ...]
    key: str = "RELSERVE_API_KEY"
    lists_all: bool = True


HOSTS = (
    Vendor(
        "OpenAI", "https://api.openai.com/v1", r"gpt-\d|chatgpt-|o\d(?:-|$)", ("openai",), "OPENAI_API_KEY",
    ),
    Vendor("Azure OpenAI", "https://RESOURCE.openai.azure.com/openai/v1", "", ("azure",), lists_all=False),
    Vendor("Anthropic", "https://api.anthropic.com/v1", "claude-", ("anthropic",), lists_all=False),
    Vendor(
        "Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-",
        ("google", "gemini", "models"),
    ),
    Vendor("OpenRouter", "https://openrouter.ai/api/v1", "", ("openrouter",)),
    Vendor("Mistral", "https://api.mistral.ai/v1", r"mistral-(?:small|medium|large)-latest", ("mistral",)),
    Vendor("DeepSeek", "https://api.deepseek.com/v1", r"deepseek-(?:chat|reasoner)$", ("deepseek",)),
    Vendor("xAI", "https://api.x.ai/v1", "grok-", ("xai", "x-ai")),
    Vendor("ollama", OLLAMA, "", ("ollama", "ollama_chat"), ""),
)  # fmt: skip

_PORT = re.compile(r"[\w.-]++:\d{2,5}(?:[/#]|$)|(?:localhost|127\.0\.0\.1)/")
_DOMAIN = re.compile(r"[\w-]++(?:\.[\w-]++)++")
_VERSION = re.compile(r"v\d")  # part of the path of an endpoint
_TAGGED = re.compile(r"[\w.-]++(?:/[\w.-]++)*+:[\w.-]++")  # ollama's NAME:TAG


def hint_of(name: str) -> str | None:
    """A question with the name that was probably meant and the key that it needs; None: nothing is known.

    Args:
        name: a model's name that is no URL and no folder here.
    """
    if scheme := _scheme_left_out(name):
        return f"Did you mean '{scheme}://{name}'?"
    host = next((host for host in HOSTS if _is_of(host, name)), _ollama_if_tagged(name))
    if host is None:
        return None
    key = f", with the key in {host.key}" if host.key else ""
    return f"Did you mean '{host.url}#{_without_prefix(name, host)}' ({host.title}{key})?"


def lists_all(url: str) -> bool:
    """Whether the server at a URL is taken to list every name that it answers to.

    Azure lists models where calls name deployments, and Anthropic's list wants headers of its own.
    """
    server = host_of(url)
    return not any(server.endswith(_domain(host)) for host in HOSTS if not host.lists_all)


def _scheme_left_out(name: str) -> str:
    """The beginning of the URL that a name is the rest of; "" where it is none."""
    if _PORT.match(name):
        return "http"
    domain, _, path = name.partition("/")
    is_endpoint = _DOMAIN.fullmatch(domain) and any(_VERSION.match(part) for part in path.split("/"))
    return "https" if is_endpoint else ""


def _domain(host: Vendor) -> str:
    return host_of(host.url).removeprefix("resource")  # which each customer has a name for


def _is_of(host: Vendor, name: str) -> bool:
    prefix, slash, rest = name.partition("/")
    if slash and prefix.casefold() not in host.prefixes:
        return False
    if not host.own:  # any name, and so only behind a prefix
        return bool(slash)
    return re.match(host.own, rest if slash else name, re.IGNORECASE) is not None


def _without_prefix(name: str, host: Vendor) -> str:
    prefix, slash, rest = name.partition("/")
    return rest if slash and prefix.casefold() in host.prefixes else name


def _ollama_if_tagged(name: str) -> Vendor | None:
    return HOSTS[-1] if _TAGGED.fullmatch(name) else None
