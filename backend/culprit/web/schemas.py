"""Base of request bodies, and schemas that responses of several features share."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from culprit.json_types import Json

MAX_UNKNOWN_FIELDS = 20


class RequestModel(BaseModel):
    """A request body. An unknown field is an error."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _bound_unknown_fields(cls, value: object) -> object:
        """Refuse many unknown fields with one error instead of one for each."""
        if isinstance(value, dict) and len(value) > len(cls.model_fields) + MAX_UNKNOWN_FIELDS:
            raise PydanticCustomError(
                "too_many_fields", "This request has at most {most} fields.", {"most": len(cls.model_fields)}
            )
        return value


class HostRef(BaseModel):
    """Reference to a host."""

    id: UUID
    name: str


class UserRef(BaseModel):
    """Reference to a user."""

    id: UUID
    name: str


class LocalizedText(BaseModel):
    """A text in the languages of the product."""

    en: str
    zh: str


class DocumentedAs:
    """Describe stored JSON in the OpenAPI document with a model. The value itself is passed on unchanged."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(self._model.__pydantic_core_schema__)


class Message(BaseModel):
    """A message for people: its key in `culprit.domain.messages`, and its parameters."""

    key: str
    params: dict[str, str | float]


MessageRef = Annotated[Json, DocumentedAs(Message)]
