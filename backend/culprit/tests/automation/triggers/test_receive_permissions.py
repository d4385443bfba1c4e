"""Permissions of triggers: owner, kill switch and unattended tiers."""

from __future__ import annotations

import time

import pytest
from culprit.accounts.unattended_tiers import get_allowed_tiers, require_tier_allowed
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.automation.unattended_tier import UnattendedTier
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.hosts.host import Host
from culprit.tests.support.runs import make_host
from culprit.tests.support.senders import API, FEED, count_rows, list_rows
from culprit.web.errors import ForbiddenError
from sqlalchemy import update

from collectors.contract import Tier


def test_receive_applies_current_permissions_of_owner(feed, as_, db: Database, people) -> None:
    owner = people["oncall"].id

    def with_account(**values) -> dict:
        with unit_of_work(db.sessions) as session:
            session.execute(update(UserAccount).where(UserAccount.id == owner).values(**values))
        return feed.alert(title=f"t{time.monotonic_ns()}")

    assert with_account(role="viewer")["refused"] == 1
    assert with_account(role="oncall", label_scope={"role": ["ads"]})["unmatched"] == 1
    assert with_account(label_scope={}, disabled_at=utc_now())["refused"] == 1
    assert {item.reason["key"] for item in list_rows(db, Alert)} == {
        "auth.role_too_low", "alert.host_unknown", "trigger.owner_gone",
    }  # fmt: skip
    assert count_rows(db, Capture) == 0
    # The user who saves the trigger owns it.
    assert as_("admin").patch(f"{API}/triggers/{feed.id}", json={}).json()["owner"]["name"] == "admin"
    assert feed.alert(title="now")["started"] == 1


def test_receive_refuses_under_kill_switch(feed, as_, db: Database) -> None:
    as_("admin").post(f"{API}/kill-switches", json={"kind": "label", "label": FEED, "reason": "calm"})
    assert feed.alert()["refused"] == 1
    assert list_rows(db, Alert)[0].reason["key"] == "kill_switch.label"
    assert count_rows(db, Capture) == 0
    assert feed.alert("ads-1")["started"] == 1


def test_trigger_uses_light_tier_until_standard_is_allowed(feed, as_, db: Database) -> None:
    tried = as_("oncall").post(f"{API}/triggers/{feed.id}/test", json={"labels": {"host": "feed-1"}}).json()
    assert (tried["state"], tried["tiers"]) == ("started", ["light"])
    assert [peer["name"] for peer in tried["peers"]] == ["feed-2", "feed-3"]
    assert as_("oncall").post(f"{API}/unattended-tiers", json={"label": FEED}).status_code == 403
    result = as_("admin").post(f"{API}/unattended-tiers", json={"label": FEED}).json()
    assert as_("admin").post(f"{API}/unattended-tiers", json={"label": FEED}).json()["id"] == result["id"]
    tried = as_("oncall").post(f"{API}/triggers/{feed.id}/test", json={"labels": {"host": "feed-1"}}).json()
    assert tried["tiers"] == ["light", "standard"]
    assert as_("admin").delete(f"{API}/unattended-tiers/{result['id']}").status_code == 204
    assert count_rows(db, UnattendedTier) == count_rows(db, Alert) == count_rows(db, Capture) == 0


def test_require_tier_allowed_limits_unattended_captures(db: Database, people, session) -> None:
    host_id = make_host(db, "feed-1", FEED)
    host = session.get_one(Host, host_id)
    assert get_allowed_tiers(session, host, "manual") == set(Tier)
    require_tier_allowed(session, Tier.LIGHT, [host], "trigger")
    for tier in (Tier.STANDARD, Tier.DEEP, Tier.PTRACE):
        with pytest.raises(ForbiddenError):
            require_tier_allowed(session, tier, [host], "trigger")
    session.add(UnattendedTier(label_name="role", label_value="feed"))
    session.flush()
    require_tier_allowed(session, Tier.STANDARD, [host], "trigger")
    for tier in (Tier.DEEP, Tier.PTRACE):
        with pytest.raises(ForbiddenError):
            require_tier_allowed(session, tier, [host], "trigger")
