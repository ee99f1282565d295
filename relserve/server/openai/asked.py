"""What a client asks: read, checked as far as the server and not the engine has to, and made ready for it."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from relserve.call.durations import seconds_of
from relserve.call.grammar_repeats import counts_of_ebnf, counts_of_regex, why_refused
from relserve.call.grammar_size import MAX_SIZE
from relserve.call.rel_tag import TPOT_SLO, TTFT_SLO
from relserve.call.slo import Slo, slo_of
from relserve.errors import OptionError
from relserve.server.openai.refusal import bad_request, no_model
from relserve.server.users.salts import Salts
from relserve.server.users.users import User

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
DEFAULT_MAX_TOKENS = 16  # of OpenAI's completions, the older endpoint
# What the engine's own clients say among themselves, and no stranger may.
HIDDEN = ("request_id", "kv_transfer_params", "ec_transfer_params", "priority")
TAGS = ("rel_id", "rel_rows", "rel_workflow", "rel_stage")  # of docs/deadlines.md, those a client may give
OWN_TAGS = ("rel_id", "rel_workflow")  # of them, what is a user's own name for something
COUNTING = ("minProperties", "maxProperties")
MOST_COUNTED = 50  # properties of an object that says so: 100 take a grammar 1 s, 200 take it 16 s
HOLD = ("response_format", "structured_outputs", "tools", "functions")  # of them grammars are made
MEDIA = ("image_url", "audio_url", "video_url")
MOST_STOPS = 64  # of one list, each looked for after every token of an answer
STOPS = ("stop", "stop_token_ids", "bad_words")
COUNTS = ("n", "best_of", "max_tokens", "max_completion_tokens")
MOST_ROWS = 1_000_000  # that a client may announce


@dataclass(frozen=True)
class OpenAIRequest:
    """One request.

    Attributes:
        body: what the engine is asked.
        streams: whether the answer comes in events.
        wants_usage, wants_usage_throughout: whether the client asked for tokens, at the end or in each event.
        num_chars, num_ids: of its prompts, in characters and, where they came so, in tokens.
        num_answers: that it wants, of all prompts.
        max_tokens: of one answer; None: as many as fit.
        slo: its class of limits by name, or seconds to its end.
        deadline_s: seconds after which the answer is of no more use.
    """

    path: str
    body: Mapping[str, Any]
    streams: bool
    wants_usage: bool
    wants_usage_throughout: bool
    num_chars: int
    num_ids: int
    num_answers: int
    max_tokens: int | None
    slo: str | float | None
    deadline_s: float | None

    def ids(self, request_id: str) -> list[str]:
        """By which vLLM knows its prompts, where it is given an id for the request."""
        if self.path == CHAT:
            return [f"chatcmpl-{request_id}"]
        return [f"cmpl-{request_id}-{number}" for number in range(_num_prompts(self.body.get("prompt")))]


class CommonFields(NamedTuple):
    """What every request may say, and the rest of its body.

    Attributes:
        deadline_s: seconds after which its answer is of no more use.
        slo: limits of its tokens.
    """

    body: dict[str, Any]
    deadline_s: float | None
    slo: Slo

    @property
    def limit(self) -> str | float | None:
        """Its class of limits by name, or seconds to its end."""
        return self.slo.name or self.deadline_s


def read_common(raw: bytes, model: str, user: User, salts: Salts, *, is_clear: bool = False) -> CommonFields:
    """What every request may say, of a request's body.

    Args:
        is_clear: refuse a name that is twice in one object, and half a surrogate pair, too.
        model: the one that there is.
        user: who asks, and whose own deadline and limits are those of requests that give none.
        salts: of the engine's prefix cache.

    Raises:
        Refusal: it is no JSON object, or names another model, or one of these fields is wrong.
    """
    body = _object(raw, is_clear)
    if body.get("model") != model:
        name = body.get("model")
        if not isinstance(name, str) or not name:
            raise bad_request("you must provide a model parameter, the name of a model", "model")
        raise no_model(name, [model] if user.models is None or model in user.models else [])
    for name in HIDDEN:
        body.pop(name, None)
    deadline_s = _deadline(body.pop("deadline", None), user.deadline_s)
    given_slo = body.pop("slo", None)
    slo = _slo(user.slo if given_slo is None else given_slo)
    _salt(body, user, salts)
    return CommonFields(body, deadline_s, slo)


def read_asked(path: str, raw: bytes, model: str, user: User, salts: Salts) -> OpenAIRequest:
    """A request's body; the arguments are those of `read_common`.

    Raises:
        Refusal: it is no JSON object, names another model, or has what the server does not take.
    """
    common = read_common(raw, model, user, salts)
    body = common.body
    streams, options = body.get("stream") or False, body.get("stream_options") or {}
    if not isinstance(streams, bool) or not isinstance(options, dict):
        raise bad_request("stream is true or false, and stream_options an object", "stream")
    if streams:  # the quota wants to know, also of an answer that its client leaves
        body["stream_options"] = {**options, "include_usage": True, "continuous_usage_stats": True}
    _check_grammars(body)
    _check_numbers(body)
    asked = body.get("messages" if path == CHAT else "prompt")
    num_chars, num_ids = _size([asked, body.get("tools")])
    num_answers = _num_prompts(asked) * _whole(body.get("n"), 1) if path != CHAT else _whole(body.get("n"), 1)
    if path == CHAT:
        _check_media(asked)
    body["vllm_xargs"] = tags_of(common, user.name, num_answers)
    return OpenAIRequest(
        path, body, streams, streams and bool(options.get("include_usage")),
        streams and bool(options.get("continuous_usage_stats")), num_chars, num_ids, num_answers,
        _max_tokens(path, body), common.limit, common.deadline_s,
    )  # fmt: skip


def _object(raw: bytes, is_clear: bool) -> dict[str, Any]:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON")

    try:
        body = json.loads(raw, parse_constant=refuse, object_pairs_hook=_fields if is_clear else None)
        text = json.dumps(body, allow_nan=False, ensure_ascii=not is_clear)  # 1e999 is JSON, and no number
        if is_clear:
            text.encode()
    except RecursionError:
        raise bad_request("the body is nested too deep") from None
    except UnicodeEncodeError:
        raise bad_request("the body has half a surrogate pair, such as \\ud83d alone; leave it out") from None
    except ValueError as error:
        raise bad_request(f"the body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise bad_request("the body is no JSON object")
    return body


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise bad_request(f"{twice!r} is there more than once in one object; each must be there once")
    return found


def _deadline(given: Any, default: float | None) -> float | None:
    try:
        return default if given is None else seconds_of("deadline", given)
    except OptionError as error:
        raise bad_request(str(error), "deadline") from None


def _slo(given: Any) -> Slo:
    try:
        return Slo() if given is None else slo_of("slo", given)
    except OptionError as error:
        raise bad_request(str(error), "slo") from None


def _salt(body: dict[str, Any], user: User, salts: Salts) -> None:
    """Keep what the engine computes of a user's prompts from others; a salt of theirs is within their own."""
    given = body.get("cache_salt")
    if given is not None and not (isinstance(given, str) and given):
        raise bad_request("cache_salt is a text that is not empty", "cache_salt")
    salt = salts.of(user) if given is None else salts.within(user, given)
    if salt is not None:
        body["cache_salt"] = salt


def _size(values: Any) -> tuple[int, int]:
    """Characters of all texts but pictures and sounds, and how many whole numbers there are."""
    left, num_chars, num_ids = [values], 0, 0
    while left:
        value = left.pop()
        if isinstance(value, str):
            num_chars += 0 if value.startswith("data:") else len(value)
        elif isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, int):
            num_ids += 1
    return num_chars, num_ids


def _num_prompts(prompt: Any) -> int:
    """A list of texts, or of lists of tokens, is several."""
    several = isinstance(prompt, list) and bool(prompt) and isinstance(prompt[0], (str, list))
    return len(prompt) if several else 1


def _max_tokens(path: str, body: Mapping[str, Any]) -> int | None:
    if path == COMPLETIONS:
        return _whole(body.get("max_tokens"), DEFAULT_MAX_TOKENS)
    given = body.get("max_completion_tokens") or body.get("max_tokens")
    return None if given is None else _whole(given, 1)


def _whole(value: Any, default: int) -> int:
    """A number, or what it is where there is none; one below 1 the engine refuses."""
    return value if isinstance(value, int) and value > 0 else default


def _check_numbers(body: Mapping[str, Any]) -> None:
    """Refuse numbers in other words, which the engine would understand and quotas would not."""
    for name in COUNTS:
        if not isinstance(body.get(name), int | None) or isinstance(body.get(name), bool):
            raise bad_request(f"{name} is a whole number", name)
    for name in STOPS:
        if isinstance(given := body.get(name), list) and len(given) > MOST_STOPS:
            raise bad_request(f"{name} has {len(given):,} entries; the most is {MOST_STOPS}", name)


def _check_media(messages: Any) -> None:
    """Refuse pictures and sounds that the server would have to fetch: it may reach more than the client."""
    parts = [
        part
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for part in message["content"]
        if isinstance(part, dict)
    ]
    for kind in MEDIA:
        for part in parts:
            given = part.get(kind)
            url = given.get("url") if isinstance(given, dict) else given
            if url is not None and not (isinstance(url, str) and url.startswith("data:")):
                raise bad_request(f"{kind}: the server fetches nothing; send it as a data: URL", "messages")


def _check_grammars(body: Mapping[str, Any]) -> None:
    """Refuse what would take an engine long to compile, and hold up everybody meanwhile."""
    for name in HOLD:
        if name in body and (size := len(json.dumps(body[name]))) > MAX_SIZE:
            raise bad_request(
                f"{name} has {size:,} characters; the most is {MAX_SIZE:,}, for a grammar is made of it", name
            )
        for part in _objects(body.get(name)):
            for field, text in _patterns(part):
                counts = counts_of_ebnf(text) if field == "grammar" else counts_of_regex(text)
                if why := why_refused(f"the {field}", counts):
                    raise bad_request(f"{name}: {why}", name)
            if counted := next((each for each in COUNTING if part.get(each)), None):
                properties = part.get("properties")
                num_properties = len(properties) if isinstance(properties, dict) else 0
                if num_properties > MOST_COUNTED:
                    raise bad_request(
                        f"{name}: {counted} of an object with {num_properties:,} properties; the most is "
                        f"{MOST_COUNTED}, for a grammar has a rule for each of them and each count: list "
                        "those that must be there as required",
                        name,
                    )


def _objects(held: Any) -> Iterator[dict[str, Any]]:
    """Each object in it, and in its texts that are JSON, as vLLM takes schemas."""
    left = [held]
    while left:
        value = left.pop()
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(value)
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            left += value.values()
            yield value


def _patterns(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each text of an object that is a pattern, and the field's name."""
    for name in ("grammar", "regex", "pattern"):
        if isinstance(text := part.get(name), str):
            yield name, text
    if isinstance(named := part.get("patternProperties"), dict):
        yield from (("pattern", text) for text in named)


def tags_of(common: CommonFields, user: str, num_answers: int) -> dict[str, Any]:
    """What the scheduler is told; a user's relQueries and workflows are their own, whatever they call them.

    A request that neither names a relQuery nor has a deadline stays what it is to the scheduler: an ordinary
    one, for whose first token somebody waits.
    """
    given, deadline_s, slo = common.body.get("vllm_xargs"), common.deadline_s, common.slo
    if given is not None and not isinstance(given, dict):
        raise bad_request("vllm_xargs is an object", "vllm_xargs")
    tags = dict(given or {})
    for name in tags:
        if str(name).startswith("rel_") and name not in TAGS:
            raise bad_request(
                f"vllm_xargs: {name} is not for clients, who may give {', '.join(TAGS)}; a deadline is told "
                "as the field deadline, in seconds",
                "vllm_xargs",
            )
    rows = tags.get("rel_rows", 1)
    if not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise bad_request(f"vllm_xargs: rel_rows is a whole number from 1 to {MOST_ROWS:,}", "vllm_xargs")
    for name in OWN_TAGS:
        if name in tags:
            tags[name] = f"openai {quote(user)} {tags[name]}"
    if deadline_s is not None:
        tags["rel_deadline_s"] = time.time() + deadline_s
        tags.setdefault("rel_id", f"openai {quote(user)} {uuid.uuid4().hex}")
    if "rel_id" in tags:
        tags.setdefault("rel_rows", num_answers)
    limits = {TTFT_SLO: slo.ttft_s, TPOT_SLO: slo.tpot_s}
    tags |= {name: limit for name, limit in limits.items() if limit is not None}
    return tags
