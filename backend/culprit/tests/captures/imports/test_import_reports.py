"""Imported traces, load tests and Prometheus responses become runs with tables that can be cited."""

import gzip
from pathlib import Path
from uuid import UUID

import pytest
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.settings import REPOSITORY
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs
from sqlalchemy import select

FOLDER = Path(REPOSITORY) / "collectors" / "tests" / "fixtures" / "reports"
JMETER = b"""timeStamp,elapsed,label,responseCode,responseMessage
1795295643000,12,Home,200,OK
1795295644500,30,Home,500,Internal
"""


def bring(client, data, **form):
    return client.post("/api/v1/imports", files={"file": ("f", data)}, data=form)


@pytest.mark.parametrize(
    ("name", "kind", "table"),
    [
        ("wrk.txt", "wrk", "load_test"),
        ("iperf3_tcp.json", "iperf3", "load_test"),
        ("otlp.json", "otlp", "spans_by_operation"),
        ("zipkin.json", "zipkin", "spans_by_operation"),
        ("prometheus_rate.json", "prometheus", "prometheus_series"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_report_becomes_a_table(as_, session, name, kind, table, pack):
    answer = bring(as_("investigator"), pack((FOLDER / name).read_bytes()))
    assert answer.status_code == 201, answer.text
    result = answer.json()
    assert result["kind"] == kind
    run_id = UUID(result["runs"][0]["id"])
    assert ingest_run(run_id) == "done"
    row = session.scalars(select(ResultTable).where(ResultTable.run_id == run_id)).one()
    assert row.kind == table and len(row.rows) == len(row.lines) > 0
    artifact = session.get_one(Artifact, row.artifact_id)
    assert (artifact.part, artifact.media_type) == ("file", "text/plain; charset=utf-8")
    assert as_("viewer").get(f"/api/v1/runs/{run_id}").status_code == 200
    lines = as_("investigator").get(f"/api/v1/artifacts/{artifact.id}/lines")
    assert lines.status_code == 200


def test_requests_with_times_stand_on_the_timeline_of_their_host(as_, db, session):
    host = runs.make_host(db)
    result = bring(as_("investigator"), JMETER, host_id=str(host)).json()
    run_id = UUID(result["runs"][0]["id"])
    assert ingest_run(run_id) == "done"
    series_list = session.scalars(
        select(SeriesChunk).where(SeriesChunk.run_id == run_id, SeriesChunk.level == 0)
    ).all()
    assert {series.metric for series in series_list} >= {"app.requests_per_s", "app.errors_pct", "app.p99_ms"}
    assert {series.labels["route"] for series in series_list} == {"Home"}


@pytest.mark.parametrize(
    ("data", "kind", "key"),
    [
        ((FOLDER / "iperf3_refused.json").read_bytes(), "auto", "reports.iperf3_failed"),
        ((FOLDER / "prometheus_refused.json").read_bytes(), "auto", "reports.prometheus_error"),
        (b"Running 5s test @ http://h/\n", "auto", "reports.not_wrk"),
        (b"{}", "vegeta", "reports.not_vegeta"),
        (b"[" * 100_000, "zipkin", "reports.no_spans"),
        (b"a,b\n1,2\n", "jmeter", "reports.not_jmeter"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(as_, data, kind, key):
    answer = bring(as_("investigator"), data, kind=kind)
    assert (answer.status_code, answer.json()["key"]) == (422, key)
