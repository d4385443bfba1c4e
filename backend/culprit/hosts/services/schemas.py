"""What goes in and out about services."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, SecretStr, StringConstraints, model_validator

from culprit.auth.schemas import LabelName, LabelValue, Name, Strict

Port = Annotated[int, Field(ge=1, le=65535)]
Selector = Annotated[dict[LabelName, LabelValue], Field(min_length=1, max_length=10)]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[!-~]{1,400}$", strip_whitespace=True)]
Query = Annotated[str, StringConstraints(pattern=r"^[^\x00]{1,2000}$", strip_whitespace=True)]
Path = Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x1f\x7f'\"\\$`*?\[]{1,400}$")]
Format = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


def _one_header(token: SecretStr) -> SecretStr:
    """It goes into a header as it is: printable, without spaces."""
    if not all("!" <= c <= "~" for c in token.get_secret_value()):
        raise ValueError("a token has printable ASCII characters and no spaces")
    return token


Token = Annotated[SecretStr, Field(min_length=1, max_length=4096), AfterValidator(_one_header)]
# What a screen warns of before anything is captured.
Missing = Literal["rate", "errors", "latency"]


class Locate(Strict):
    """How the service is found on a host."""

    kind: Literal["unit", "container", "port", "cgroup"]
    value: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9/][A-Za-z0-9_.@:/\\-]{0,250}$")]

    @model_validator(mode="after")
    def fitting(self) -> Locate:
        """A port is a number."""
        if self.kind == "port" and not (self.value.isdigit() and 1 <= int(self.value) <= 65535):
            raise ValueError("a port is a number from 1 to 65535")
        return self


class Queries(Strict):
    """PromQL. `rate` and `errors` are requests per second; in `latency`, `$quantile` stands for 0.5, 0.9, 0.99, 0.999.

    A label `route` of their results keeps routes apart.
    """

    rate: Query
    errors: Query
    latency: Query

    @model_validator(mode="after")
    def quantile(self) -> Queries:
        """The latency is asked for four times."""
        if "$quantile" not in self.latency:
            raise ValueError("the latency query must contain $quantile")
        return self


class NoSource(Strict):
    """Nothing measures this service."""

    kind: Literal["none"]


class PrometheusSource(Strict):
    """A Prometheus that the server asks over the window of each capture."""

    kind: Literal["prometheus"]
    url: Url
    queries: Queries
    latency_unit: Literal["s", "ms"] = "s"


class AccessLogSource(Strict):
    """An access log on the host, read there; only numbers leave the host."""

    kind: Literal["access_log"]
    path: Path
    format: Format = "auto"


class AcceptsSource(Strict):
    """Accepts per second of a listening port: a proxy of the request rate, and always called one."""

    kind: Literal["accepts"]
    port: Port


Source = Annotated[NoSource | PrometheusSource | AccessLogSource | AcceptsSource, Field(discriminator="kind")]


class ServiceCreate(Strict):
    """A service to declare. `token` is the bearer token of its Prometheus."""

    name: Name
    selector: Selector
    locate: Locate | None = None
    source: Source = NoSource(kind="none")
    token: Token | None = None


class ServiceUpdate(Strict):
    """What is not mentioned stays. Another kind of source or another server forgets the token."""

    name: Name | None = None
    selector: Selector | None = None
    locate: Locate | None = None
    no_locate: bool = False
    source: Source | None = None
    token: Token | None = None
    no_token: bool = False


class ServiceRead(BaseModel):
    """A service. `missing` is what nobody measures: verdicts that need it will be inconclusive.

    `proxy` is true where the request rate is only inferred. `hosts` counts the visible ones that it runs on.
    """

    id: UUID
    name: str
    selector: dict[str, str]
    locate: Locate | None
    source: Source
    has_token: bool
    missing: list[Missing]
    proxy: bool
    hosts: int
    created_at: datetime


class QueryResult(BaseModel):
    """What one query brought over the last five minutes; `failure` is a sentence where it brought nothing."""

    name: str
    query: str
    series: int
    points: int
    last: float | None
    failure: dict[str, object] | None


class SourceCheck(BaseModel):
    """A source that was tried."""

    results: list[QueryResult]
