"""Senders of alerts: a trigger as they know it, and requests as they make them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from culprit.core.alerts.proof import signature
from fastapi.testclient import TestClient

API = "/api/v1"


@dataclass
class Sender:
    """One trigger, and what it was told when it was made."""

    client: TestClient
    id: str
    kind: str
    proof: str
    secret: str

    def send(self, body: Any, *, headers: dict[str, str] | None = None, at: int | None = None) -> Any:
        """One request, proven; the answer whatever it is."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(
            f"{API}/triggers/{self.id}/alerts", content=raw, headers=headers or self.proven(raw, at)
        )

    def proven(self, raw: bytes, at: int | None = None) -> dict[str, str]:
        """The headers of a request."""
        if self.proof == "token":
            return {"Authorization": f"Bearer {self.secret}"}
        at = int(time.time()) if at is None else at
        signed = signature(self.secret.encode(), at, raw)
        return {"X-Culprit-Timestamp": str(at), "X-Culprit-Signature": f"v1={signed}"}

    def alert(self, host: str = "feed-1", title: str = "slow", **more: Any) -> dict[str, Any]:
        """One alert of our own form, sent; what became of it."""
        answer = self.send({"title": title, "host": host, "nonce": time.monotonic_ns(), **more})
        assert answer.status_code == 202, answer.text
        return dict(answer.json())


def sender(admin: TestClient, client: TestClient, **body: Any) -> Sender:
    """A new trigger, made by `admin`, known to a `client` without an account."""
    wanted = {"name": f"t{time.monotonic_ns()}", "kind": "generic", **body}
    made = admin.post(f"{API}/triggers", json=wanted)
    assert made.status_code == 201, made.text
    one = made.json()
    return Sender(client, one["id"], one["kind"], one["proof"], one["secret"])
