"""Verifications go on at once, and a fix has settled."""

from __future__ import annotations

from datetime import timedelta

import pytest
from culprit.jobs.verification import advance_verification, state


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(advance_verification, "SETTLED", timedelta(0))
    monkeypatch.setattr(state, "PAUSE", timedelta(0))
