"""`relserve models check`: a checkup's page, for people or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from relserve.checkup.page import CheckResult, LocalModel, Page, ServedModel, Speed
from relserve.checkup.run import check as find_out
from relserve.cli.console import console
from relserve.settings import prefer_own

GIB = 2**30
MAX_ANSWER = 60  # characters of a sample's answer
GRADES = {True: "right", False: "wrong", None: ""}


def check(name: str, as_json: bool) -> None:
    """Check a model and print what was found; progress goes to stderr.

    Raises:
        ModelError, EngineError: see `relserve.checkup.run.check`.
    """
    prefer_own()  # its start, memory and threads are what is looked at
    page = find_out(name, _tell)
    if as_json:
        sys.stdout.write(json.dumps(page.as_dict(), ensure_ascii=False) + "\n")
        return
    screen = console()
    screen.print(_facts(page))
    screen.print(f"\neach function is asked about this text: {page.text}")
    screen.print(_samples(page))
    title = "what to set" if page.advice else "nothing to set"
    screen.print(f"\n{title}", style="bold")
    for line in page.advice:
        screen.print(f"* {line}")
    screen.print(f"\nUse it: relserve sql --model {name} ..", soft_wrap=True)
    made_up = ": its answers are made up" if page.kind == "scripted" else ""
    screen.print(f"right {page.num_right} of {len(page.graded)}{made_up}", style="bold")


def _tell(text: str) -> None:
    sys.stderr.write(f"relserve: {text}\n")


def _facts(page: Page) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, text in lines(page):
        table.add_row(Text(name, style="bold"), Text(text))
    return table


def lines(page: Page) -> Iterator[tuple[str, str]]:
    """The page's upper part: what each line is about, and what it says."""
    yield "model", page.name
    if page.local:
        yield from _local_lines(page.local)
    elif page.served:
        yield from _served_lines(page.served)
    else:
        yield "kind", "no model: made-up answers that are the same every time"
    yield "speed", _speed(page.speed)
    for probe in page.grammars:
        yield f"held to a {probe.name}", _probe(probe)
    yield "probabilities", _probe(page.logprobs)


def _local_lines(local: LocalModel) -> Iterator[tuple[str, str]]:
    weights = f", {local.quantization} weights" if local.quantization else ""
    yield "architecture", f"{local.architecture}, computed in {local.number_format}{weights}"
    yield "parameters", "its files do not tell" if local.parameters is None else _count(local.parameters)
    yield "vocabulary", f"{local.vocabulary:,} tokens"
    yield "context", f"{local.context:,} tokens"
    template = local.template
    system = "takes a system message" if template.takes_system else "takes no system message: it goes first"
    thinking = "; thinks where a call says thinking := 'low'" if template.thinks else ""
    yield "chat template", system + thinking if template.present else "none: prompts go in as they are"
    if local.weight_bytes is not None and local.kv_bytes_per_token is not None:
        yield (
            "memory",
            f"{_size(local.weight_bytes)} of weights, {local.kv_bytes_per_token:,} bytes a KV token",
        )
    if local.kv_tokens is not None:
        rows = local.kv_tokens / local.context
        gib = f"{local.kv_gib:.3g} GiB, " if local.kv_gib is not None else ""
        yield "KV cache", f"{gib}{local.kv_tokens:,} tokens: {rows:.1f} rows of the whole context"
    if local.threads is not None:
        yield "threads", str(local.threads)
    yield "start", f"{local.start_s:.1f} s, with a first answer"


def _served_lines(served: ServedModel) -> Iterator[tuple[str, str]]:
    yield "serves", served.name
    yield "server", "vLLM" if served.is_vllm else "OpenAI-compatible, not vLLM"
    yield "endpoint", served.endpoint
    yield "refused", ", ".join(served.refused) or "nothing"
    yield "first answer", f"{served.answer_s:.2f} s"


def _speed(speed: Speed) -> str:
    def rate(value: float | None) -> str:
        return "not told" if value is None else f"{value:,.0f} tokens/s"

    decode = f"decode {rate(speed.decode)} ({speed.decode_rows} rows at once)"
    return f"prefill {rate(speed.prefill)}, {decode}{', on a busy machine' if speed.busy_cores else ''}"


def _probe(probe: CheckResult) -> str:
    return f"{'yes' if probe.ok else 'no'}: {_short(probe.message)}"


def _samples(page: Page) -> Table:
    table = Table("function", "expected", "answer", "", header_style="bold")
    table.add_column("seconds", justify="right")
    for sample in page.samples:
        text = f"failed: {sample.problem}" if sample.problem else sample.answer
        shown = Text("NULL" if text is None else _short(text))
        table.add_row(
            Text(sample.function), Text(sample.expected or "free text"), shown, GRADES[sample.is_right],
            f"{sample.seconds:.2f}",
        )  # fmt: skip
    return table


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_ANSWER else line[: MAX_ANSWER - 3] + "..."


def _count(number: float) -> str:
    return f"{number / 1e9:,.1f} B" if number >= 1e9 else f"{number / 1e6:,.1f} M"


def _size(num_bytes: float) -> str:
    return f"{num_bytes / GIB:,.1f} GiB" if num_bytes >= GIB else f"{num_bytes / 2**20:,.0f} MiB"
