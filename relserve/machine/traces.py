"""Traces: OpenTelemetry's spans of what statements do, below those of the user's own program.

They go to the tracer provider that the program has set. Where it has none and OpenTelemetry's own variables
name an endpoint, a provider is made here, and is the process's from then on: vLLM's spans of requests go
there too. Where neither is, nothing is imported and nothing made. A span says how much and how long, never
what: no prompts, no SQL, and of errors their class alone, since messages quote both.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any

from relserve.errors import Cancelled
from relserve.version import VERSION

logger = logging.getLogger(__name__)

SERVICE = "relserve"
OTLP = "OTEL_EXPORTER_OTLP_"  # with TRACES_ behind it a variable is for spans alone
LOCAL = "http://localhost:4318"  # what OpenTelemetry takes where OTEL_TRACES_EXPORTER alone asks for spans
GRPC, HTTP = "grpc", "http/protobuf"
MAX_QUEUED = 1 << 16  # spans that wait to be sent: those of a statement's rows end together
MAX_QUEUED_VARIABLE = "OTEL_BSP_MAX_QUEUE_SIZE"

NAMES = ("traceparent", "tracestate")  # of W3C's headers
Headers = Mapping[str, str]  # these, the second where there is one
NOTHING: Mapping[str, Any] = {}


class Span:
    """A span under way; one of None where nobody traces."""

    __slots__ = ("_span", "is_dropped")

    def __init__(self, span: Any) -> None:
        self._span, self.is_dropped = span, False

    def put(self, attributes: Mapping[str, Any]) -> None:
        """Tell what has become known; what is None is left out."""
        if self._span is not None:
            for name, value in attributes.items():
                if value is not None:
                    self._span.set_attribute(name, value)

    def fail(self, error: type[BaseException]) -> None:
        """It ended with an error of this class."""
        if self._span is not None:
            from opentelemetry.trace import StatusCode

            self._span.set_attribute("error.type", error.__name__)
            self._span.set_status(StatusCode.ERROR)

    def drop(self) -> None:
        """It turned out to be of no interest: nobody gets to see it."""
        self.is_dropped = self._span is not None


_NOBODY = nullcontext(Span(None))
_SAME = nullcontext()
_own: Any = None  # the provider that was made here
_is_missing = False  # OpenTelemetry is asked for and not installed
_starting = threading.Lock()


def is_cancelled(error: Exception) -> bool:
    """See `span`."""
    return isinstance(error, Cancelled)


def span(
    name: str,
    attributes: Mapping[str, Any] = NOTHING,
    interrupted: Callable[[Exception], bool] = is_cancelled,
) -> AbstractContextManager[Span]:
    """A span around what is done inside, below the one that is around it.

    Args:
        interrupted: whether an error is of what was interrupted, and has not failed.
    """
    provider = _provider()
    return _NOBODY if provider is None else _made(provider, name, attributes, interrupted)


def carried() -> Headers | None:
    """The span around this, to be carried to other threads and processes; None where nobody traces."""
    if _provider() is None:
        return None
    headers: dict[str, str] = {}
    _propagator().inject(headers)
    return headers or None


def within(headers: Headers | None) -> AbstractContextManager[None]:
    """Inside, what was carried here is around everything; nothing where nobody traces here."""
    return _SAME if headers is None or _provider() is None else _entered(headers)


def trace_of(headers: Headers) -> dict[str, str]:
    """Those of a request's headers that say below which span it is."""
    return {name: value for name in NAMES if (value := headers.get(name))}


def is_on() -> bool:
    """Whether somebody traces; where the environment asks for it, the provider is there from now on."""
    return _provider() is not None


def endpoint() -> str:
    """Where spans go by OpenTelemetry's own variables, and so vLLM's; "" for nowhere."""
    told = os.environ.get
    exporter = told("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter not in ("", "otlp") or told("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ""
    if given := told(OTLP + "TRACES_ENDPOINT", "").strip():
        return given
    base = told(OTLP + "ENDPOINT", "").strip() or (LOCAL if exporter else "")
    return f"{base.rstrip('/')}/v1/traces" if base and protocol() == HTTP else base


def protocol() -> str:
    """In which words spans go there: OpenTelemetry's grpc or http/protobuf, which is the default here."""
    given = os.environ.get(OTLP + "TRACES_PROTOCOL") or os.environ.get(OTLP + "PROTOCOL")
    return GRPC if given and given.strip().lower() == GRPC else HTTP


def flush(limit_s: float) -> None:
    """Have the spans sent that wait for it, before the process ends without the interpreter's own end.

    Those of a provider that was made here; it takes `limit_s` at most, and what is not sent by then is lost.
    """
    if _own is None:
        return
    # OpenTelemetry's own limit bounds no request that is under way
    sending = threading.Thread(target=_own.force_flush, name="relserve-flush-traces", daemon=True)
    sending.start()
    sending.join(limit_s)


@contextmanager
def _made(
    provider: Any, name: str, attributes: Mapping[str, Any], interrupted: Callable[[Exception], bool]
) -> Iterator[Span]:
    from opentelemetry import trace

    made = provider.get_tracer(SERVICE, VERSION).start_span(name, attributes=dict(attributes))
    span = Span(made)
    try:
        with trace.use_span(made, record_exception=False, set_status_on_exception=False):
            yield span
    except Exception as error:
        if not interrupted(error):
            span.fail(type(error))
        raise
    finally:
        if not span.is_dropped:
            made.end()


@contextmanager
def _entered(headers: Headers) -> Iterator[None]:
    from opentelemetry import context

    token = context.attach(_propagator().extract(headers, context.get_current()))
    try:
        yield
    finally:
        context.detach(token)


def _propagator() -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator()


def _provider() -> Any:
    """Where spans go; None: nowhere. A program that has set a provider has imported OpenTelemetry."""
    if _own is not None:
        return _own
    find = getattr(sys.modules.get("opentelemetry.trace"), "get_tracer_provider", None)
    found = None if find is None else find()
    if found is not None and type(found).__name__ != "ProxyTracerProvider":  # which stands for none
        return found
    return _start(url) if not _is_missing and (url := endpoint()) else None


def _start(url: str) -> Any:
    global _own, _is_missing
    with _starting:
        if _own is not None or _is_missing:
            return _own
        try:
            from opentelemetry import trace
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor

            way = "grpc" if protocol() == GRPC else "http"
            exporters = import_module(f"opentelemetry.exporter.otlp.proto.{way}.trace_exporter")
        except ImportError as error:
            _is_missing = True
            logger.warning(
                "the environment asks for traces at %s, and OpenTelemetry is not installed (%s): nothing is "
                "traced. pip install 'relserve[traces]', or set OTEL_TRACES_EXPORTER=none", url, error,
            )  # fmt: skip
            return None
        name = os.environ.get("OTEL_SERVICE_NAME", SERVICE)
        provider = TracerProvider(resource=Resource.create({"service.name": name}))
        queued = None if MAX_QUEUED_VARIABLE in os.environ else MAX_QUEUED
        provider.add_span_processor(BatchSpanProcessor(exporters.OTLPSpanExporter(endpoint=url), queued))
        trace.set_tracer_provider(provider)  # before vLLM sets one of its own
        _own = provider
        return _own
