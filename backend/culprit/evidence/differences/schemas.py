"""Response schemas of the differences between two selections. Times `*_ns` are UTC nanoseconds."""

from __future__ import annotations

from pydantic import BaseModel

from culprit.domain.rules.finding import Severity
from culprit.evidence.context.schemas import FactChangeResponse
from culprit.web.schemas import HostRef, MessageRef


class SelectionResponse(BaseModel):
    """A time range of a host. `series` is the number of series with data in it."""

    host: HostRef
    from_ns: int
    to_ns: int
    series: int


class SideValuesResponse(BaseModel):
    """The values of a series in one selection. `points` are means in the order of time; null is no data."""

    n: int
    mean: float
    min: float
    max: float
    points: list[float | None]


class SeriesDifferenceResponse(BaseModel):
    """A series that differs.

    `column` is the value of `axis` (such as one CPU) that differs most; `columns_changed` of `columns` differ. `steps`
    is the change of the mean in units of the spread in the first selection, from -100 to 100; null if a side has too
    few values for a spread. `ratio` is second to first mean; null if the first is about zero.
    """

    metric: str
    labels: dict[str, str]
    unit: str
    axis: str | None
    column: str | None
    columns: int
    columns_changed: int
    before: SideValuesResponse
    after: SideValuesResponse
    steps: float | None
    ratio: float | None


class UnmatchedSeriesResponse(BaseModel):
    """A series of one selection. The other one has series of the same metric, but not with these labels."""

    metric: str
    labels: dict[str, str]
    unit: str
    n: int
    mean: float
    min: float
    max: float


class EventDifferenceResponse(BaseModel):
    """Events of one kind and severity. `title` and `last_ns` are those of the newest; rates are per hour."""

    kind: str
    severity: Severity
    title: MessageRef
    last_ns: int
    before: int
    after: int
    before_per_hour: float
    after_per_hour: float


class SettingDifferenceResponse(BaseModel):
    """A fact that two hosts have with different values; null if the setting does not exist."""

    source: str
    name: str
    before: str | None
    after: str | None


class DifferencesResponse(BaseModel):
    """What differs between two selections, the largest differences first.

    `series` lists at most `limit` of `series_changed`. `series_equal` differ by less than one step or by no more than
    chance. `metrics_before_only` and `metrics_after_only` were collected in one selection only, so they are not
    compared; `appeared` and `vanished` are series of metrics that both have (such as those of a process).
    `facts` are changes between the start of the earlier and the end of the later selection of one host; `settings`
    are the differences of two hosts.
    """

    before: SelectionResponse
    after: SelectionResponse
    series: list[SeriesDifferenceResponse]
    series_changed: int
    series_equal: int
    metrics_before_only: list[str]
    metrics_after_only: list[str]
    appeared: list[UnmatchedSeriesResponse]
    appeared_total: int
    vanished: list[UnmatchedSeriesResponse]
    vanished_total: int
    events: list[EventDifferenceResponse]
    events_total: int
    facts: list[FactChangeResponse]
    facts_total: int
    settings: list[SettingDifferenceResponse]
    settings_total: int
