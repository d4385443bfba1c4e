"""Verifications go on at once, and a fix has settled."""

from __future__ import annotations

from datetime import timedelta

import pytest
from culprit.jobs.verification import schedule, state


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(schedule, "SETTLING_TIME", timedelta(0))
    monkeypatch.setattr(schedule, "WIDE_PAUSE", timedelta(0))
    monkeypatch.setattr(state, "CAPTURE_PAUSE", timedelta(0))
