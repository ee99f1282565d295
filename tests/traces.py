"""Where a test's spans go: a provider that keeps them, and a receiver of OTLP over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest


class Seen(NamedTuple):
    """A span that was sent."""

    name: str
    trace: str
    id: str
    parent: str
    service: str
    attributes: dict[str, Any]


@contextmanager
def kept_spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The provider of this process keeps its spans while this lasts, in the exporter that is given."""
    with monkeypatch.context() as patched:
        forget_provider(patched)
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        from opentelemetry.trace import set_tracer_provider

        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        set_tracer_provider(provider)
        yield exporter


def forget_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test ends no provider is set, and one may be; OpenTelemetry takes one, and for good."""
    trace = pytest.importorskip("opentelemetry.trace")
    pytest.importorskip("opentelemetry.sdk.trace")
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", type(trace._TRACER_PROVIDER_SET_ONCE)())


class Receiver:
    """Takes spans by OTLP over HTTP on this machine, as a collector does.

    Attributes:
        endpoint: as OTEL_EXPORTER_OTLP_TRACES_ENDPOINT has it.
        seen: what came.
    """

    def __init__(self) -> None:
        protocol = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
        seen: list[Seen] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = protocol.ExportTraceServiceRequest()
                request.ParseFromString(self.rfile.read(int(self.headers["content-length"])))
                seen.extend(_read(request))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.seen = seen
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _read(request: Any) -> Iterator[Seen]:
    for resource in request.resource_spans:
        service = _values(resource.resource.attributes).get("service.name", "")
        for scope in resource.scope_spans:
            for span in scope.spans:
                ids = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
                yield Seen(span.name, *ids, service, _values(span.attributes))


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
