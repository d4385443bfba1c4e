"""Traces as Jaeger, Zipkin and OpenTelemetry write them in JSON, as one kind of span.

Formats: Jaeger's UI and `/api/traces` (`{"data": [{"spans", "processes"}]}`, times in microseconds), Zipkin v2
(https://zipkin.io/zipkin-api/, a list of spans, microseconds), OTLP/JSON
(https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding, nanoseconds as text). A collector's file exporter
writes one OTLP document to a line; that is read as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from collectors.parse.report_json import Json, items, load, mapping, number, words

MAX_SPANS = 200_000
OTLP_ERROR = (2, "STATUS_CODE_ERROR")


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of work of one request. Times in nanoseconds; `parent` is empty where nothing called it."""

    trace: str
    id: str
    parent: str
    service: str
    operation: str
    start_ns: float
    end_ns: float
    error: bool


def jaeger(text: str) -> list[Span] | None:
    """The spans of an export of Jaeger; None where it is none."""
    whole = load(text)
    traces = items(mapping(whole).get("data")) or (
        [whole] if isinstance(whole, dict) and "spans" in whole else []
    )
    return _bounded(span for trace in traces for span in _of_jaeger(trace)) if traces else None


def _of_jaeger(trace: Json) -> Iterator[Span]:
    processes = {
        name: words(mapping(one).get("serviceName")) for name, one in mapping(trace.get("processes")).items()
    }
    for one in items(trace.get("spans")):
        parents = [ref for ref in items(one.get("references")) if ref.get("refType") != "FOLLOWS_FROM"]
        tags = {words(tag.get("key")): tag.get("value") for tag in items(one.get("tags"))}
        start = number(one.get("startTime")) * 1e3
        yield Span(
            words(one.get("traceID")),
            words(one.get("spanID")),
            words(parents[0].get("spanID")) if parents else words(one.get("parentSpanID")),
            processes.get(words(one.get("processID")), "")
            or words(mapping(one.get("process")).get("serviceName")),
            words(one.get("operationName")),
            start,
            start + number(one.get("duration")) * 1e3,
            tags.get("error") in {True, "true"} or tags.get("otel.status_code") == "ERROR",
        )


def zipkin(text: str) -> list[Span] | None:
    """The spans of a Zipkin v2 document (a list of spans, or of traces); None where it is none."""
    whole = load(text)
    if not isinstance(whole, list):
        return None
    flat = [one for entry in whole for one in (entry if isinstance(entry, list) else [entry])]
    return _bounded(_of_zipkin(one) for one in items(flat) if "traceId" in one)


def _of_zipkin(one: Json) -> Span:
    start = number(one.get("timestamp")) * 1e3
    tags = mapping(one.get("tags"))
    service = words(mapping(one.get("localEndpoint")).get("serviceName"))
    if not service or service.startswith("unknown_service"):  # what an SDK says that puts the name into a tag
        service = words(tags.get("service.name")) or service
    parent, shared = words(one.get("parentId")), one.get("shared") is True
    # Both sides of a call may share an id; the server's side is then a child of the client's.
    return Span(
        words(one.get("traceId")),
        words(one.get("id")) + (":server" if shared else ""),
        words(one.get("id")) if shared else parent,
        service,
        words(one.get("name")),
        start,
        start + number(one.get("duration")) * 1e3,
        "error" in tags,
    )


def otlp(text: str) -> list[Span] | None:
    """The spans of OTLP/JSON, one document or one to a line; None where it is none."""
    whole = load(text)
    documents = [whole] if whole is not None else [load(line) for line in text.splitlines() if line.strip()]
    groups = [group for one in documents for group in items(mapping(one).get("resourceSpans"))]
    return _bounded(span for group in groups for span in _of_otlp(group)) if groups else None


def _of_otlp(group: Json) -> Iterator[Span]:
    attributes = items(mapping(group.get("resource")).get("attributes"))
    named = {words(one.get("key")): mapping(one.get("value")).get("stringValue") for one in attributes}
    service = words(named.get("service.name"))
    for scope in items(group.get("scopeSpans")) or items(group.get("instrumentationLibrarySpans")):
        for one in items(scope.get("spans")):
            yield Span(
                words(one.get("traceId")),
                words(one.get("spanId")),
                words(one.get("parentSpanId")),
                service,
                words(one.get("name")),
                number(one.get("startTimeUnixNano")),
                number(one.get("endTimeUnixNano")),
                mapping(one.get("status")).get("code") in OTLP_ERROR,
            )


def _bounded(spans: Iterable[Span]) -> list[Span]:
    """The first MAX_SPANS with a name and times that can be right."""
    kept = []
    for span in spans:
        if span.operation and math.isfinite(span.end_ns - span.start_ns) and span.end_ns >= span.start_ns:
            kept.append(span)
            if len(kept) == MAX_SPANS:
                break
    return kept
