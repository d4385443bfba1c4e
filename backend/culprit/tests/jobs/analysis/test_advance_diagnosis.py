"""Diagnoses with a real sshd and real workers, from the first stage to the result."""

from __future__ import annotations

import pytest
from culprit.analysis.diagnoses import service
from culprit.analysis.diagnoses.schemas import DiagnosisCreate
from culprit.domain.rules.registry import CAUSES
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.captures.capture import Capture
from culprit.tests.support.sshd import make_key, public_key
from sqlalchemy import select

pytestmark = pytest.mark.long(190)


def ask(lab, host, **more):
    with unit_of_work(lab.db.sessions) as session:
        diagnosis_create = DiagnosisCreate(host_id=host, seconds=5, **more)
        return service.create_diagnosis(session, lab.actor, diagnosis_create).id


def get_diagnosis(lab, diagnosis_id) -> Diagnosis:
    with lab.db.sessions() as session:
        return session.get_one(Diagnosis, diagnosis_id)


def ended(lab, diagnosis_id) -> Diagnosis:
    lab.until(lambda: get_diagnosis(lab, diagnosis_id).state != "running", 400, "the end of a diagnosis")
    return get_diagnosis(lab, diagnosis_id)


def workers(lab) -> None:
    lab.worker()
    lab.worker("parse")


def test_a_host_is_diagnosed(lab):
    host = lab.add_host(lab.sshd())
    workers(lab)
    done = ended(lab, ask(lab, host))
    assert (done.state, done.failure) == ("done", None)
    assert done.stages[0]["tier"] == "light"
    assert len(done.stages) <= 3
    result = done.result
    assert len(result["runs"]) == len(done.stages)
    spoken = {item["id"] for name in ("causes", "ruled_out") for item in result[name]}
    explained = {name for cause in result["causes"] for name in cause["explains"]}
    assert spoken | explained | set(result["not_checked"]) == CAUSES.keys()
    for cause in result["causes"]:
        assert all(number["artifact"] for number in cause["evidence"])
    assert result["seconds"] > 5
    *_, last = done.stages
    assert last["named"] == [
        {"cause": item["id"], "confidence": item["confidence"]} for item in result["causes"]
    ]
    times = [stage["named_after_s"] for stage in done.stages]
    assert times == sorted(times) and 5 < times[0] <= result["seconds"]


def test_peers_are_captured_in_the_first_stage_only(lab):
    host, peer = lab.add_host(lab.sshd()), lab.add_host(lab.sshd())
    workers(lab)
    done = ended(lab, ask(lab, host, peer_ids=[peer]))
    assert done.state == "done"
    with lab.db.sessions() as session:
        captures = session.scalars(
            select(Capture).where(Capture.diagnosis_id == done.id).order_by(Capture.number)
        ).all()
        hosts = [sorted(str(run.host_id) for run in capture.runs) for capture in captures]
    assert hosts[0] == sorted([str(host), str(peer)])
    assert all(item == [str(host)] for item in hosts[1:])
    assert all(
        set(difference["peers"]) <= {"lab-4"} or difference["peers"]
        for difference in done.result["differences"]
    )


def test_diagnosis_reports_refused_login(lab, tmp_path):
    make_key(tmp_path / "other")
    host = lab.add_host(lab.sshd(), host_key=public_key(tmp_path / "other"))
    workers(lab)
    done = ended(lab, ask(lab, host))
    assert done.state == "failed"
    assert done.failure["key"].startswith(("ssh.", "run.", "host."))
    assert done.result is None


def test_calling_it_off_ends_its_capture(lab):
    host = lab.add_host(lab.sshd())
    workers(lab)
    diagnosis_id = ask(lab, host)
    lab.until(lambda: get_diagnosis(lab, diagnosis_id).stages, 60, "a first stage")
    with unit_of_work(lab.db.sessions) as session:
        service.cancel_diagnosis(session, lab.actor, diagnosis_id)
    capture = get_diagnosis(lab, diagnosis_id).stages[0]["capture_id"]
    lab.until(lambda: lab.state(capture) in {"canceled", "partial"}, 60, "a canceled capture")
    assert get_diagnosis(lab, diagnosis_id).state == "canceled"
