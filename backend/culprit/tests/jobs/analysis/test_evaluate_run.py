"""Rules over stored runs: findings cite the artifact, are replaced, and use thresholds."""

from __future__ import annotations

from culprit.analysis.findings import evaluation
from culprit.domain.rules import evaluate
from culprit.domain.rules.registry import RULES
from culprit.evidence.view_loader import load_view
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.analysis.threshold import ThresholdOverride
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.artifact import Artifact
from culprit.jobs.analysis.evaluate_run import evaluate_run
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs
from sqlalchemy import select

BOOT = 500 * 10**9
RULE = "F-NET-LISTEN-OVERFLOW"


def netstat(overflows: int) -> str:
    return f"TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 0 {overflows}\n"


def overflowing(db, per_s: int, **more):
    texts = [netstat(1000 + per_s * at) for at in range(10)]
    parts = {"netstat_ext": {"samples": runs.sampled("/proc/net/netstat", texts, BOOT)}}
    waiting = runs.waiting_run(db, artifact_store(), parts, clock=runs.clock_now(BOOT), **more)
    assert ingest_run(waiting.run_id) == "done"
    return waiting


def of_rule(session, run_id):
    session.expire_all()
    query = select(StoredFinding).where(StoredFinding.run_id == run_id, StoredFinding.rule == RULE)
    return session.scalars(query).all()


def test_a_finding_cites_the_line_that_it_was_read_from(db, session, config):
    waiting = overflowing(db, 50)
    assert evaluate_run(waiting.run_id) >= 1
    [result] = of_rule(session, waiting.run_id)
    assert (result.state, result.severity, result.host_id) == ("matched", "critical", waiting.host_id)
    [number] = result.numbers
    assert number["value"] == 50
    [citation] = number["citations"]
    artifact = session.scalars(select(Artifact).where(Artifact.run_id == waiting.run_id)).one()
    assert citation["artifact"] == str(artifact.id)
    assert (citation["collector"], citation["part"]) == ("netstat_ext", "samples")
    lines = runs.sampled("/proc/net/netstat", [netstat(1000 + 50 * at) for at in range(10)], BOOT).decode()
    cited = [lines.splitlines()[line - 1] for line in citation["lines"]]
    # The first sample has no rate; each of the others is part of the mean and of its interval.
    assert cited == [f"TcpExt: 0 {1000 + 50 * at}" for at in range(1, 10)]


def test_evaluating_again_replaces(db, session, config):
    waiting = overflowing(db, 50)
    first = evaluate_run(waiting.run_id)
    assert evaluate_run(waiting.run_id) == first
    assert len(of_rule(session, waiting.run_id)) == 1
    stored = session.get_one(Evaluation, waiting.run_id)
    assert stored.ranking["causes"][0]["id"] == "listen-queue-overflow"
    assert (
        any(item["reason"]["key"] == "missing.not_collected" for item in stored.not_evaluated)
        or not stored.not_evaluated
    )


def test_a_failed_measure_leaves_the_other_rules(db, session, config, monkeypatch):
    def fail(*_):
        raise KeyError("pid")

    whole = evaluate.take_reading
    monkeypatch.setattr(
        evaluate,
        "take_reading",
        lambda view, read: fail() if read.id == RULES["F-TCP-CLOSE-WAIT"].measure.id else whole(view, read),
    )
    monkeypatch.setattr(evaluation, "read_service_times", fail)
    waiting = overflowing(db, 50)
    assert evaluate_run(waiting.run_id) >= 1
    assert len(of_rule(session, waiting.run_id)) == 1
    stored = session.get_one(Evaluation, waiting.run_id)
    failed = {
        item["rule"] for item in stored.not_evaluated if item["reason"]["key"] == "missing.measure_failed"
    }
    assert "F-TCP-CLOSE-WAIT" in failed
    assert stored.ranking["causes"][0]["id"] == "listen-queue-overflow"


def test_run_without_findings_stores_a_single_row(db, session, config):
    waiting = overflowing(db, 0)
    assert evaluate_run(waiting.run_id) == 0
    assert not of_rule(session, waiting.run_id)
    assert RULE in {item["rule"] for item in session.get_one(Evaluation, waiting.run_id).not_matched}


def test_a_threshold_holds_for_its_label_and_its_host(db, session, config):
    labelled = runs.make_host(db, "edge1", {"role": "edge"})
    other = runs.make_host(db, "db1", {"role": "db"})
    with unit_of_work(db.sessions) as write:
        write.add(
            ThresholdOverride(
                name=f"{RULE}.warn", value=100, label_name="role", label_value="edge", why="bursts"
            )
        )
    not_matched, loud = overflowing(db, 50, host_id=labelled), overflowing(db, 50, host_id=other)
    evaluate_run(not_matched.run_id)
    evaluate_run(loud.run_id)
    assert [item.severity for item in of_rule(session, not_matched.run_id)] == ["critical"]
    with unit_of_work(db.sessions) as write:
        write.add(ThresholdOverride(name=f"{RULE}.critical", value=1000, host_id=labelled, why="bursts"))
    evaluate_run(not_matched.run_id)
    assert not of_rule(session, not_matched.run_id)
    assert len(of_rule(session, loud.run_id)) == 1


def test_a_run_that_waits_is_not_evaluated(db, config):
    waiting = runs.waiting_run(db, artifact_store(), {"netstat_ext": {"samples": b"x"}})
    assert evaluate_run(waiting.run_id) is None


def test_evaluation_uses_last_stored_run(db, session, config):
    host = runs.make_host(db, "web7")
    first, second = overflowing(db, 50, host_id=host), overflowing(db, 7, host_id=host)
    seen = load_view(session, artifact_store(), [first.run_id, second.run_id])
    [series] = list(seen.series_of("tcp.listen_overflows_per_s"))
    assert series.values[:, 0].tolist() == [7.0] * 9
    assert series.citation.run == str(second.run_id)


def opened(db, host, *counts: tuple[int, int], scope=None):
    """Return open files by (process ID, count) as two equal samples of a host or a part of it."""
    checks = [
        f"T {turn} {500 + 8 * turn}.00\n"
        + "".join(f"C {turn} {pid} {count} 1024 0 {count} 0 0 app\n" for pid, count in counts)
        for turn in (1, 2)
    ]
    parts = {"fd_table": {"stdout": f"A x86_64\n{''.join(checks)}".encode()}}
    waiting = runs.waiting_run(db, artifact_store(), parts, clock=runs.clock_now(BOOT), host_id=host)
    with unit_of_work(db.sessions) as session:
        capture_id = session.get_one(Run, waiting.run_id).capture_id
        session.get_one(Capture, capture_id).scope = scope or {}
    assert ingest_run(waiting.run_id) == "done"
    return waiting.run_id


def test_evaluation_keeps_findings_outside_later_scope(db, session, config):
    host = runs.make_host(db, "web8")
    whole = opened(db, host, (17, 900), (18, 40))
    of_item = opened(db, host, (18, 60), scope={"kind": "process", "value": "18"})

    def counts(*run_ids):
        rows = load_view(session, artifact_store(), run_ids).rows("fd_counts")
        return {(row.number("pid"), row.number("open_last"), row.citation.run) for row in rows}

    assert counts(whole, of_item) == {(18, 60, str(of_item)), (17, 900, str(whole))}
    again = opened(db, host, (18, 70))
    assert counts(whole, of_item, again) == {(18, 70, str(again))}
