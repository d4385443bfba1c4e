"""What happened, as an annotation on somebody else's graphs: from when to when, in words, under tags. Pure.

The form is that of Grafana's HTTP API (https://grafana.com/docs/grafana/latest/developers/http_api/annotations/): times
in milliseconds, tags as `name:value`. Grafana shows the text as HTML, so that names of hosts and titles are escaped.
"""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

LONGEST_TEXT = 1000
LONGEST_TAG = 100
MOST_TAGS = 20


@dataclass(frozen=True, slots=True)
class Annotation:
    """`key` names what it is about for ever; `end_ms` is None for a moment, and for what still goes on."""

    key: str
    time_ms: int
    end_ms: int | None
    text: str
    tags: tuple[str, ...]

    @property
    def about(self) -> str:
        """What kind of thing it is about: a capture, an incident, an event, or a cause or a fix of an incident."""
        return self.key.split(":")[::2][-1]

    @property
    def about_id(self) -> str:
        """Of the capture, event or incident."""
        return self.key.split(":")[1]

    @property
    def words(self) -> str:
        """Its text as somebody reads it: without the link, and with the characters that are escaped for HTML."""
        return html.unescape(self.text.rpartition(" <a href=")[0])

    @property
    def mark(self) -> str:
        """A tag by which this one annotation is found again."""
        return f"culprit-id:{hashlib.sha256(self.key.encode()).hexdigest()[:24]}"

    def body(self) -> dict[str, Any]:
        """As Grafana takes it."""
        told: dict[str, Any] = {"time": self.time_ms, "tags": [*self.tags, self.mark], "text": self.text}
        return told if self.end_ms is None else told | {"timeEnd": self.end_ms}

    @property
    def digest(self) -> str:
        """The same while it says the same."""
        return hashlib.sha256(json.dumps(self.body(), sort_keys=True).encode()).hexdigest()

    @staticmethod
    def of(key: str, body: Mapping[str, Any]) -> Annotation:
        """Out of what was stored."""
        return Annotation(key, body["time"], body.get("timeEnd"), body["text"], tuple(body["tags"][:-1]))


def made(  # noqa: PLR0917 - the parts of one annotation
    key: str, begin: datetime, end: datetime | None, text: str, link: str, tags: Iterable[str]
) -> Annotation:
    """An annotation with a link; the words are escaped, bounded and in one paragraph."""
    said = " ".join(text.split())
    said = said if len(said) <= LONGEST_TEXT else said[: LONGEST_TEXT - 1] + "…"
    address = html.escape(link, quote=True)
    until = None if end is None else max(milliseconds(begin), milliseconds(end))
    return Annotation(
        key,
        milliseconds(begin),
        until,
        f'{html.escape(said)} <a href="{address}">Culprit</a>',
        tuple(dict.fromkeys(["culprit", *(tag(one) for one in tags)]))[:MOST_TAGS],
    )


def milliseconds(at: datetime) -> int:
    """Since 1970."""
    return int(at.timestamp() * 1000)


def tag(text: str) -> str:
    """A tag without commas (which separate tags in Grafana) and without what is not printable."""
    kept = "".join(one if one.isprintable() and one != "," else " " for one in text)
    return " ".join(kept.split())[:LONGEST_TAG]
