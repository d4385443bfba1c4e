"""Diagnoses end to end: a real sshd, real workers, stage by stage to an answer."""

from __future__ import annotations

import pytest
from culprit.core.rules.registry import CAUSES
from culprit.diagnoses import service
from culprit.diagnoses.schemas import DiagnosisCreate
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, Diagnosis
from culprit.tests.support.sshd import make_key, public_key
from sqlalchemy import select

pytestmark = pytest.mark.long(60)


def ask(lab, host, **more):
    with unit_of_work(lab.db.sessions) as session:
        wanted = DiagnosisCreate(host_id=host, seconds=5, **more)
        return service.create(session, lab.actor, wanted).id


def found(lab, diagnosis_id) -> Diagnosis:
    with lab.db.sessions() as session:
        return session.get_one(Diagnosis, diagnosis_id)


def ended(lab, diagnosis_id) -> Diagnosis:
    lab.until(lambda: found(lab, diagnosis_id).state != "running", 120, "the end of a diagnosis")
    return found(lab, diagnosis_id)


def workers(lab) -> None:
    lab.worker()
    lab.worker("parse")


def test_a_host_is_diagnosed(lab):
    host = lab.enrol(lab.sshd())
    workers(lab)
    done = ended(lab, ask(lab, host))
    assert (done.state, done.failure) == ("done", None)
    assert done.stages[0]["tier"] == "light"
    assert len(done.stages) <= 3
    result = done.result
    assert len(result["runs"]) == len(done.stages)
    spoken = {one["id"] for name in ("causes", "ruled_out") for one in result[name]}
    explained = {name for one in result["causes"] for name in one["explains"]}
    assert spoken | explained | set(result["not_looked_at"]) == CAUSES.keys()
    for one in result["causes"]:
        assert all(number["artifact"] for number in one["evidence"])
    assert result["seconds"] > 5


def test_twins_are_captured_in_the_first_stage_alone(lab):
    host, twin = lab.enrol(lab.sshd()), lab.enrol(lab.sshd())
    workers(lab)
    done = ended(lab, ask(lab, host, twin_ids=[twin]))
    assert done.state == "done"
    with lab.db.sessions() as session:
        captures = session.scalars(
            select(Capture).where(Capture.diagnosis_id == done.id).order_by(Capture.number)
        ).all()
        hosts = [sorted(str(run.host_id) for run in one.runs) for one in captures]
    assert hosts[0] == sorted([str(host), str(twin)])
    assert all(one == [str(host)] for one in hosts[1:])
    assert all(set(one["there"]) <= {"lab-4"} or one["there"] for one in done.result["differences"])


def test_a_host_that_lets_nobody_in_is_told_and_not_guessed(lab, tmp_path):
    make_key(tmp_path / "other")
    host = lab.enrol(lab.sshd(), host_key=public_key(tmp_path / "other"))
    workers(lab)
    done = ended(lab, ask(lab, host))
    assert done.state == "failed"
    assert done.failure["key"].startswith(("ssh.", "run.", "host."))
    assert done.result is None


def test_calling_it_off_ends_its_capture(lab):
    host = lab.enrol(lab.sshd())
    workers(lab)
    diagnosis_id = ask(lab, host)
    lab.until(lambda: found(lab, diagnosis_id).stages, 60, "a first stage")
    with unit_of_work(lab.db.sessions) as session:
        service.cancel(session, lab.actor, diagnosis_id)
    capture = found(lab, diagnosis_id).stages[0]["capture_id"]
    lab.until(lambda: lab.state(capture) in {"cancelled", "partial"}, 60, "a cancelled capture")
    assert found(lab, diagnosis_id).state == "cancelled"
