"""Names of numbers, rules and causes in one language."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from collectors.contract import Text
from collectors.metrics.registry import METRICS
from culprit.domain.messages import render_message
from culprit.domain.rules.readings import get_title
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.rule import RuleInput


def pick_text(text: Text | None, language: str) -> str:
    """Return a text in a language."""
    return "" if text is None else text.zh if language == "zh" else text.en


def pick_stored_text(item: dict[str, str], language: str) -> str:
    """Return a stored text in a language."""
    return str(item.get(language) or item.get("en") or "")


def get_rule_title(rule_id: str, language: str) -> str:
    """Return the title of a rule, or its id if this release does not contain it."""
    known = RULES.get(rule_id)
    return pick_text(known.title, language) if known else rule_id


def get_cause_title(cause_id: str, language: str) -> str:
    """Return the title of a cause."""
    known = CAUSES.get(cause_id)
    return pick_text(known.title, language) if known else cause_id


def get_cause_fix(cause_id: str, language: str) -> str:
    """Return the suggested fix of a cause, or "" if this release does not contain the cause."""
    known = CAUSES.get(cause_id)
    return pick_text(known.fix, language) if known else ""


def get_measure_title(rule_id: str, measure_id: str, language: str) -> str:
    """Return the name of a number of a rule."""
    known = RULES.get(rule_id)
    for read in known.inputs() if known else ():
        if read.id == measure_id:
            return get_input_title(read, language)
    return get_reading_title(measure_id, language)


@lru_cache(maxsize=1)
def _map_measures() -> dict[str, RuleInput]:
    return {read.id: read for rule in RULES.values() for read in rule.inputs()}


def get_reading_title(read_id: str, language: str) -> str:
    """Return the name of a number by its id."""
    if (known := _map_measures().get(read_id)) is not None:
        return get_input_title(known, language)
    metric = METRICS.get(read_id) or METRICS.get(read_id.rpartition(".")[0].partition("{")[0])
    return pick_text(metric.title, language) if metric else read_id


def get_input_title(read: RuleInput, language: str) -> str:
    """Return the name of a measure or metric."""
    return pick_text(get_title(read), language)


def render_stored_message(item: dict[str, Any] | None, language: str) -> str:
    """Return a stored message in a language."""
    return render_message(item["key"], item.get("params") or {}, language) if item else ""
