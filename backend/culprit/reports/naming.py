"""What numbers, rules and causes are called, in one language."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from collectors.contract import Text
from collectors.metrics import CATALOGUE
from culprit.core.rules.contract import Read
from culprit.core.rules.read import title_of
from culprit.core.rules.registry import CAUSES, RULES
from culprit.kit.sentences import say


def text(one: Text | None, language: str) -> str:
    """A text in a language."""
    return "" if one is None else one.zh if language == "zh" else one.en


def either(one: dict[str, str], language: str) -> str:
    """The same of a text that was stored."""
    return str(one.get(language) or one.get("en") or "")


def rule(rule_id: str, language: str) -> str:
    """The title of a rule; its id where it is none of this release's."""
    known = RULES.get(rule_id)
    return text(known.title, language) if known else rule_id


def cause(cause_id: str, language: str) -> str:
    """The title of a cause."""
    known = CAUSES.get(cause_id)
    return text(known.title, language) if known else cause_id


def measure(rule_id: str, measure_id: str, language: str) -> str:
    """What a number of a rule is called."""
    known = RULES.get(rule_id)
    for read in known.reads() if known else ():
        if read.id == measure_id:
            return reading(read, language)
    return named(measure_id, language)


@lru_cache(maxsize=1)
def _measures() -> dict[str, Read]:
    return {read.id: read for one in RULES.values() for read in one.reads()}


def named(read_id: str, language: str) -> str:
    """What a number is called, by its id alone."""
    if (known := _measures().get(read_id)) is not None:
        return reading(known, language)
    metric = CATALOGUE.get(read_id) or CATALOGUE.get(read_id.rpartition(".")[0].partition("{")[0])
    return text(metric.title, language) if metric else read_id


def reading(read: Read, language: str) -> str:
    """What a measure or a metric is called."""
    return text(title_of(read), language)


def sentence(one: dict[str, Any] | None, language: str) -> str:
    """A stored sentence in a language."""
    return say(one["key"], one.get("params") or {}, language) if one else ""
