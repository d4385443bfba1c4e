"""Senders of alerts: a trigger from their point of view, and their requests."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from culprit.domain.alerts.proof import compute_signature
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.automation.trigger_response import TriggerResponseRecord
from culprit.infra.models.captures.run import Run
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

API = "/api/v1"
FEED = {"role": "feed"}


@dataclass
class Sender:
    """One trigger, with the response that created it."""

    client: TestClient
    id: str
    kind: str
    proof: str
    secret: str

    def send(self, body: Any, *, headers: dict[str, str] | None = None, at: int | None = None) -> Any:
        """Send one authenticated request and return the answer."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(
            f"{API}/triggers/{self.id}/alerts", content=raw, headers=headers or self.proven(raw, at)
        )

    def proven(self, raw: bytes, at: int | None = None) -> dict[str, str]:
        """Return the headers of a request."""
        if self.proof == "token":
            return {"Authorization": f"Bearer {self.secret}"}
        at = int(time.time()) if at is None else at
        signed = compute_signature(self.secret.encode(), at, raw)
        return {"X-Culprit-Timestamp": str(at), "X-Culprit-Signature": f"v1={signed}"}

    def alert(self, host: str = "feed-1", title: str = "slow", **more: Any) -> dict[str, Any]:
        """Send one alert of the generic form and return the result."""
        answer = self.send({"title": title, "host": host, "nonce": time.monotonic_ns(), **more})
        assert answer.status_code == 202, answer.text
        return dict(answer.json())


def sender(admin: TestClient, client: TestClient, **body: Any) -> Sender:
    """Create a trigger as `admin`, for a `client` without an account."""
    requested = {"name": f"t{time.monotonic_ns()}", "kind": "generic", **body}
    result = admin.post(f"{API}/triggers", json=requested)
    assert result.status_code == 201, result.text
    item = result.json()
    return Sender(client, item["id"], item["kind"], item["proof"], item["secret"])


def count_rows(db: Database, model: Any) -> int:
    """Return the number of rows of a table."""
    with db.sessions() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def list_rows(db: Database, model: Any) -> list[Any]:
    """Return the rows of a table, the oldest first."""
    with db.sessions() as session:
        return list(session.scalars(select(model).order_by(model.id)))


def age_alerts(db: Database, seconds: float) -> None:
    """Move all captures and alerts back in time, and end the captures on the hosts."""
    back = timedelta(seconds=seconds)
    with unit_of_work(db.sessions) as session:
        session.execute(
            update(TriggerResponseRecord).values(created_at=TriggerResponseRecord.created_at - back)
        )
        session.execute(
            update(Alert).values(created_at=Alert.created_at - back, last_at=Alert.last_at - back)
        )
        session.execute(update(Run).values(state="done", ended_at=func.now()))
        session.execute(update(Diagnosis).values(state="done", ended_at=func.now()))
