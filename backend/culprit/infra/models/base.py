"""Base of all tables: constraint names, column types, and the check of every state column."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from sqlalchemy import CheckConstraint, DateTime, MetaData, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

from culprit.infra.db.clock import utc_now
from culprit.infra.db.uuid7 import new_uuid7
from culprit.json_types import Json

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}

JsonList = list[Any]


class Base(DeclarativeBase):
    """Base class of every table."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012
        str: Text(),
        datetime: DateTime(timezone=True),
        Json: JSONB(none_as_null=True),
        JsonList: JSONB(none_as_null=True),
    }


Id = Annotated[UUID, mapped_column(primary_key=True, default=new_uuid7)]
CreatedAt = Annotated[datetime, mapped_column(default=utc_now)]


def allow_values(column: str, values: Iterable[str]) -> CheckConstraint:
    """Return a check that `column` holds one of `values` (snake_case words) or null."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)
