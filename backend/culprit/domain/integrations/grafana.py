"""Build Grafana annotations: start, end, text and tags. Pure functions.

The form is that of Grafana's HTTP API
(https://grafana.com/docs/grafana/latest/developers/http_api/annotations/): times in milliseconds, tags as
`name:value`. Grafana renders the text as HTML, so names of hosts and titles are escaped.
"""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

MAX_TEXT_LENGTH = 1000
MAX_TAG_LENGTH = 100
MAX_TAGS = 20


@dataclass(frozen=True, slots=True)
class AnnotationContent:
    """An annotation. `key` identifies its subject permanently; `end_ms` is None for a moment or an open range."""

    key: str
    time_ms: int
    end_ms: int | None
    text: str
    tags: tuple[str, ...]

    @property
    def subject_kind(self) -> str:
        """Return the type of the subject: capture, incident, event, cause or fix."""
        return self.key.split(":")[::2][-1]

    @property
    def subject_id(self) -> str:
        """Return the ID of the capture, event or incident."""
        return self.key.split(":")[1]

    @property
    def plain_text(self) -> str:
        """Return the text without the link and without HTML escapes."""
        return html.unescape(self.text.rpartition(" <a href=")[0])

    @property
    def identity_tag(self) -> str:
        """Return the tag that identifies this annotation in Grafana."""
        return f"culprit-id:{hashlib.sha256(self.key.encode()).hexdigest()[:24]}"

    def body(self) -> dict[str, Any]:
        """Return the request body for Grafana."""
        reported: dict[str, Any] = {
            "time": self.time_ms,
            "tags": [*self.tags, self.identity_tag],
            "text": self.text,
        }
        return reported if self.end_ms is None else reported | {"timeEnd": self.end_ms}

    @property
    def digest(self) -> str:
        """Return a hash that changes only if the content changes."""
        return hashlib.sha256(json.dumps(self.body(), sort_keys=True).encode()).hexdigest()

    @staticmethod
    def from_stored(key: str, body: Mapping[str, Any]) -> AnnotationContent:
        """Build an annotation from its stored JSON."""
        return AnnotationContent(
            key, body["time"], body.get("timeEnd"), body["text"], tuple(body["tags"][:-1])
        )


def build_annotation(  # noqa: PLR0917 - the parts of one annotation
    key: str, begin: datetime, end: datetime | None, text: str, link: str, tags: Iterable[str]
) -> AnnotationContent:
    """Build an annotation with a link; the text is escaped, bounded and one paragraph."""
    message = " ".join(text.split())
    message = message if len(message) <= MAX_TEXT_LENGTH else message[: MAX_TEXT_LENGTH - 1] + "…"
    address = html.escape(link, quote=True)
    until = None if end is None else max(to_milliseconds(begin), to_milliseconds(end))
    return AnnotationContent(
        key,
        to_milliseconds(begin),
        until,
        f'{html.escape(message)} <a href="{address}">Culprit</a>',
        tuple(dict.fromkeys(["culprit", *(to_tag(item) for item in tags)]))[:MAX_TAGS],
    )


def to_milliseconds(at: datetime) -> int:
    """Return milliseconds since 1970."""
    return int(at.timestamp() * 1000)


def to_tag(text: str) -> str:
    """Return a tag without commas (Grafana's separator) and without unprintable characters."""
    stored = "".join(item if item.isprintable() and item != "," else " " for item in text)
    return " ".join(stored.split())[:MAX_TAG_LENGTH]
