"""Requests and responses of services."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, SecretStr, StringConstraints, model_validator

from culprit.accounts.schemas import LabelName, LabelValue, Name
from culprit.web.schemas import MessageRef, RequestModel

Port = Annotated[int, Field(ge=1, le=65535)]
Selector = Annotated[dict[LabelName, LabelValue], Field(min_length=1, max_length=10)]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[!-~]{1,400}$", strip_whitespace=True)]
Query = Annotated[str, StringConstraints(pattern=r"^[^\x00]{1,2000}$", strip_whitespace=True)]
Path = Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x1f\x7f'\"\\$`*?\[]{1,400}$")]
Format = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


def _validate_header(token: SecretStr) -> SecretStr:
    """Require printable text without spaces, because it becomes part of a header."""
    if not all("!" <= c <= "~" for c in token.get_secret_value()):
        raise ValueError("a token has printable ASCII characters and no spaces")
    return token


Token = Annotated[SecretStr, Field(min_length=1, max_length=4096), AfterValidator(_validate_header)]
# Missing measurements that the interface shows before a capture.
Missing = Literal["rate", "errors", "latency"]


class ServiceLocator(RequestModel):
    """How to find the service on a host."""

    kind: Literal["unit", "container", "port", "cgroup"]
    value: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9/][A-Za-z0-9_.@:/\\-]{0,250}$")]

    @model_validator(mode="after")
    def validate_port(self) -> ServiceLocator:
        """Require a number for a port."""
        if self.kind == "port" and not (self.value.isdigit() and 1 <= int(self.value) <= 65535):
            raise ValueError("a port is a number from 1 to 65535")
        return self


class PrometheusQueries(RequestModel):
    """PromQL. `rate` and `errors` are requests per second; in `latency`, `$quantile` is 0.5, 0.9,
    0.99, 0.999.

    A label `route` of the results separates routes.
    """

    rate: Query
    errors: Query
    latency: Query

    @model_validator(mode="after")
    def quantile(self) -> PrometheusQueries:
        """Require `$quantile` in the latency query."""
        if "$quantile" not in self.latency:
            raise ValueError("the latency query must contain $quantile")
        return self


class NoSourceConfig(RequestModel):
    """This service is not measured."""

    kind: Literal["none"]


class PrometheusSourceConfig(RequestModel):
    """A Prometheus that the server queries for the time range of each capture."""

    kind: Literal["prometheus"]
    url: Url
    queries: PrometheusQueries
    latency_unit: Literal["s", "ms"] = "s"


class AccessLogSourceConfig(RequestModel):
    """An access log on the host, read there; only numbers leave the host."""

    kind: Literal["access_log"]
    path: Path
    format: Format = "auto"


class AcceptsSourceConfig(RequestModel):
    """Accepted connections per second of a listening port: an approximation of the request rate, labeled as one."""

    kind: Literal["accepts"]
    port: Port


Source = Annotated[
    NoSourceConfig | PrometheusSourceConfig | AccessLogSourceConfig | AcceptsSourceConfig,
    Field(discriminator="kind"),
]


class ServiceCreate(RequestModel):
    """A service to declare. `token` is the bearer token of its Prometheus."""

    name: Name
    selector: Selector
    locate: ServiceLocator | None = None
    source: Source = NoSourceConfig(kind="none")
    token: Token | None = None


class ServiceUpdate(RequestModel):
    """A change; absent fields are kept. Another kind of source or another server deletes the token."""

    name: Name | None = None
    selector: Selector | None = None
    locate: ServiceLocator | None = None
    no_locate: bool = False
    source: Source | None = None
    token: Token | None = None
    no_token: bool = False


class ServiceResponse(BaseModel):
    """A service. `missing` lists what is not measured: verdicts that need it are inconclusive.

    `proxy` is true if the request rate is only approximated. `hosts` counts the visible hosts on which it
    runs.
    """

    id: UUID
    name: str
    selector: dict[str, str]
    locate: ServiceLocator | None
    source: Source
    has_token: bool
    missing: list[Missing]
    proxy: bool
    hosts: int
    created_at: datetime


class SourceQueryResult(BaseModel):
    """The result of one query over the last five minutes; `failure` is the message of a failed query."""

    name: str
    query: str
    series: int
    points: int
    last: float | None
    failure: MessageRef | None


class SourceCheckResponse(BaseModel):
    """The result of a test of a source."""

    results: list[SourceQueryResult]
