"""Cursor pagination: the next page begins after the last row of this page, even if rows were added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel
from sqlalchemy import ColumnElement, Select
from sqlalchemy.orm import InstrumentedAttribute, Session

from culprit.web.http.page_cursor import decode_cursor, encode_cursor

Row = TypeVar("Row")
Item = TypeVar("Item")
MAX_LIMIT = 200

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of items")]
Cursor = Annotated[str | None, Query(max_length=400, description="`next` of the previous page")]


class Page(BaseModel, Generic[Item]):
    """One page; `next` is null on the last page."""

    items: list[Item]
    next: str | None = None


def build_page(
    session: Session,
    query: Select[Row],
    key: InstrumentedAttribute[UUID] | InstrumentedAttribute[int] | InstrumentedAttribute[str],
    *,
    limit: int,
    cursor: str | None,
    read: Callable[[Sequence[Row]], list[Item]],
    kind: type[UUID] | type[int] | type[str] = UUID,
    newest_first: bool = True,
) -> Page[Item]:
    """Return one page of `query`, ordered by the unique column `key`; `read` converts its rows."""
    column: ColumnElement[object] = key  # type: ignore[assignment]
    if cursor is not None:
        value = decode_cursor(cursor, kind)
        query = query.where(column < value if newest_first else column > value)
    query = query.order_by(column.desc() if newest_first else column.asc()).limit(limit + 1)
    rows = list(session.scalars(query))
    more = len(rows) > limit
    rows = rows[:limit]
    following = None
    if more:
        last = getattr(rows[-1], key.key)
        following = encode_cursor(last if isinstance(last, int) else str(last))
    return Page(items=read(rows), next=following)
