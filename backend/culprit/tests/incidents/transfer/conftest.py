"""Verifications go on at once, and a fix has settled."""

from __future__ import annotations

from datetime import timedelta

import pytest
from culprit.workflows import verify_fix, verify_state


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(verify_fix, "SETTLED", timedelta(0))
    monkeypatch.setattr(verify_state, "PAUSE", timedelta(0))
