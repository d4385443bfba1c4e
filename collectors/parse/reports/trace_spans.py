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

from collectors.parse.reports.report_json import Json, as_items, as_mapping, as_number, as_text, load_json

MAX_SPANS = 200_000
OTLP_ERROR = (2, "STATUS_CODE_ERROR")


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """One piece of work of one request. Times in nanoseconds; `parent` is empty where nothing called it."""

    trace: str
    id: str
    parent: str
    service: str
    operation: str
    start_ns: float
    end_ns: float
    error: bool


def parse_jaeger(text: str) -> list[TraceSpan] | None:
    """The spans of an export of Jaeger; None where it is none."""
    whole = load_json(text)
    traces = as_items(as_mapping(whole).get("data")) or (
        [whole] if isinstance(whole, dict) and "spans" in whole else []
    )
    return _limit_spans(span for trace in traces for span in _parse_jaeger_span(trace)) if traces else None


def _parse_jaeger_span(trace: Json) -> Iterator[TraceSpan]:
    processes = {
        name: as_text(as_mapping(item).get("serviceName"))
        for name, item in as_mapping(trace.get("processes")).items()
    }
    for item in as_items(trace.get("spans")):
        parents = [ref for ref in as_items(item.get("references")) if ref.get("refType") != "FOLLOWS_FROM"]
        tags = {as_text(tag.get("key")): tag.get("value") for tag in as_items(item.get("tags"))}
        start = as_number(item.get("startTime")) * 1e3
        yield TraceSpan(
            as_text(item.get("traceID")),
            as_text(item.get("spanID")),
            as_text(parents[0].get("spanID")) if parents else as_text(item.get("parentSpanID")),
            processes.get(as_text(item.get("processID")), "")
            or as_text(as_mapping(item.get("process")).get("serviceName")),
            as_text(item.get("operationName")),
            start,
            start + as_number(item.get("duration")) * 1e3,
            tags.get("error") in {True, "true"} or tags.get("otel.status_code") == "ERROR",
        )


def parse_zipkin(text: str) -> list[TraceSpan] | None:
    """The spans of a Zipkin v2 document (a list of spans, or of traces); None where it is none."""
    whole = load_json(text)
    if not isinstance(whole, list):
        return None
    flat = [item for entry in whole for item in (entry if isinstance(entry, list) else [entry])]
    return _limit_spans(_parse_zipkin_span(item) for item in as_items(flat) if "traceId" in item)


def _parse_zipkin_span(item: Json) -> TraceSpan:
    start = as_number(item.get("timestamp")) * 1e3
    tags = as_mapping(item.get("tags"))
    service = as_text(as_mapping(item.get("localEndpoint")).get("serviceName"))
    if not service or service.startswith(
        "unknown_service"
    ):  # default of an SDK that puts the name into a tag
        service = as_text(tags.get("service.name")) or service
    parent, shared = as_text(item.get("parentId")), item.get("shared") is True
    # Both sides of a call may share an id; the server's side is then a child of the client's.
    return TraceSpan(
        as_text(item.get("traceId")),
        as_text(item.get("id")) + (":server" if shared else ""),
        as_text(item.get("id")) if shared else parent,
        service,
        as_text(item.get("name")),
        start,
        start + as_number(item.get("duration")) * 1e3,
        "error" in tags,
    )


def parse_otlp(text: str) -> list[TraceSpan] | None:
    """The spans of OTLP/JSON, one document or one to a line; None where it is none."""
    whole = load_json(text)
    documents = (
        [whole] if whole is not None else [load_json(line) for line in text.splitlines() if line.strip()]
    )
    groups = [
        group for document in documents for group in as_items(as_mapping(document).get("resourceSpans"))
    ]
    return _limit_spans(span for group in groups for span in _parse_otlp_span(group)) if groups else None


def _parse_otlp_span(group: Json) -> Iterator[TraceSpan]:
    attributes = as_items(as_mapping(group.get("resource")).get("attributes"))
    named = {
        as_text(attribute.get("key")): as_mapping(attribute.get("value")).get("stringValue")
        for attribute in attributes
    }
    service = as_text(named.get("service.name"))
    for scope in as_items(group.get("scopeSpans")) or as_items(group.get("instrumentationLibrarySpans")):
        for item in as_items(scope.get("spans")):
            yield TraceSpan(
                as_text(item.get("traceId")),
                as_text(item.get("spanId")),
                as_text(item.get("parentSpanId")),
                service,
                as_text(item.get("name")),
                as_number(item.get("startTimeUnixNano")),
                as_number(item.get("endTimeUnixNano")),
                as_mapping(item.get("status")).get("code") in OTLP_ERROR,
            )


def _limit_spans(spans: Iterable[TraceSpan]) -> list[TraceSpan]:
    """The first MAX_SPANS with a name and times that can be right."""
    stored = []
    for span in spans:
        if span.operation and math.isfinite(span.end_ns - span.start_ns) and span.end_ns >= span.start_ns:
            stored.append(span)
            if len(stored) == MAX_SPANS:
                break
    return stored
