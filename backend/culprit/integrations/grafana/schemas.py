"""Responses for Grafana."""

from __future__ import annotations

from pydantic import BaseModel


class AnnotationRow(BaseModel):
    """An annotation under Grafana's names; `timeEnd` is null for a moment or an open range."""

    time: int
    timeEnd: int | None
    text: str
    tags: list[str]
