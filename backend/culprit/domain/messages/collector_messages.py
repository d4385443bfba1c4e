"""Messages that collectors define: the texts of their own warnings."""

from __future__ import annotations

from collectors.contract import Text
from collectors.registry import COLLECTORS
from culprit.domain.messages import register_messages


def collect_messages() -> dict[str, Text]:
    """Return the texts of all collectors by key, or raise ValueError for a key that two collectors define."""
    messages: dict[str, Text] = {}
    for collector in COLLECTORS.values():
        for key, text in collector.messages.items():
            if key in messages:
                raise ValueError(f"{collector.id} defines {key!r}, which another collector defines already")
            messages[key] = text
    return messages


def register_collector_messages() -> None:
    """Add the texts of all collectors to the messages of `render`."""
    texts = collect_messages()
    register_messages("en", {key: text.en for key, text in texts.items()})
    register_messages("zh", {key: text.zh for key, text in texts.items()})
