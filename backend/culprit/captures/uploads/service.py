"""Addresses that take one bundle without an account: made, handed out once, revoked, and what one brought taken in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Select, or_, select
from sqlalchemy.orm import Session

from collectors.bundle import Job, Limits, deadline_for, pushing, standalone
from collectors.plans import PLANS, scaled
from collectors.registry import COLLECTORS
from culprit.auth import audit
from culprit.auth.actor import Actor, actor_by_id
from culprit.auth.policy import policy, visible
from culprit.auth.tokens import new_token, token_hash
from culprit.config import Settings
from culprit.imports import service
from culprit.imports.schemas import HostRef, ImportRead, UploadCreate, UploadRead, UserRef
from culprit.imports.upload_claims import Claim, opened, state_of
from culprit.infra.artifacts import ArtifactStore
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.models import Host, UploadAddress, UserAccount

PUBLIC = "/up"


def make(session: Session, config: Settings, actor: Actor, body: UploadCreate) -> tuple[UploadAddress, str]:
    """(the row, the address). Whoever may run the plan and import may make one. Raises Invalid, NotFound, Forbidden."""
    policy(actor, "capture.import")
    plan = PLANS.get(body.plan)
    if plan is None:
        raise Invalid("capture.plan_unknown", plan=body.plan)
    policy(actor, f"capture.{plan.tier}")
    if (body.host_id is None) == (not body.host_name):
        raise Invalid("upload.one_host")
    host = (
        session.scalar(select(Host).where(Host.id == body.host_id, visible(actor))) if body.host_id else None
    )
    if body.host_id is not None and host is None:
        raise NotFound("host.not_found")
    token = new_token()
    row = UploadAddress(
        host_id=body.host_id,
        host_name=host.name if host else body.host_name,
        plan=body.plan,
        seconds=body.seconds,
        token_hash=token_hash(token),
        max_bytes=min(body.max_mb << 20, config.upload_limit),
        note=body.note,
        expires_at=now() + timedelta(minutes=body.minutes),
        created_by=actor.id,
    )
    session.add(row)
    session.flush()
    audit.record(
        session, actor, "upload.made", "upload", row.id, host=row.host_name, plan=row.plan,
        max_bytes=row.max_bytes, until=row.expires_at.isoformat(timespec="seconds"),
    )  # fmt: skip
    return row, f"{config.public_url.rstrip('/')}{PUBLIC}/{token}"


def listed(actor: Actor) -> Select[Any]:
    """One's own, and those of others for hosts that one sees."""
    mine = select(Host.id).where(visible(actor))
    query = select(UploadAddress)
    if actor.unrestricted:
        return query
    return query.where(or_(UploadAddress.created_by == actor.id, UploadAddress.host_id.in_(mine)))


def revoke(session: Session, actor: Actor, upload_id: UUID) -> None:
    """It takes nothing any more. Raises NotFound, Conflict."""
    policy(actor, "capture.import")
    row = session.scalars(listed(actor).where(UploadAddress.id == upload_id).with_for_update()).first()
    if row is None:
        raise NotFound("upload.not_found")
    if row.used_at is not None:
        raise Conflict("upload.used")
    if row.revoked_at is None:
        row.revoked_at = now()
        audit.record(session, actor, "upload.revoked", "upload", row.id, host=row.host_name)


def read(session: Session, rows: Sequence[UploadAddress], url: str | None = None) -> list[UploadRead]:
    """Addresses as they are sent; `url` of the one that was just made."""
    makers = {row.created_by for row in rows}
    names = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(makers)))
    people = {row.id: row.name for row in names}
    same = UploadRead.model_fields.keys() & set(UploadAddress.__table__.columns.keys()) - {"created_by"}
    return [
        UploadRead(
            **{name: getattr(row, name) for name in same},
            state=state_of(row, now()),
            host=HostRef(id=row.host_id, name=row.host_name) if row.host_id else None,
            created_by=UserRef(id=row.created_by, name=people[row.created_by]),
            bytes=row.size,
            url=url,
            command=_command_for(url) if url else None,
        )
        for row in rows
    ]


def _command_for(url: str) -> str:
    """Return the line for a console; elsewhere another user could replace the script before it runs."""
    return f"""d=$(mktemp -d) && cd "$d" && curl -fsS '{url}' -o culprit.sh && sh culprit.sh"""


def script(session: Session, config: Settings, token: str) -> str:
    """What to run on the host: it looks, and sends what it saw to the same address. Raises NotFound, Conflict."""
    row = opened(session, token, lock=False)
    jobs = [
        Job.of(COLLECTORS[one.id], one.seconds) for one in scaled(PLANS[row.plan], row.seconds).collectors
    ]
    text = standalone(jobs, Limits(run=str(uuid4()), deadline_s=deadline_for(jobs), silence_s=0))
    return pushing(text, f"{config.public_url.rstrip('/')}{PUBLIC}/{token}")


def take(  # noqa: PLR0917
    session: Session, store: ArtifactStore, config: Settings, ours: Claim, spool: Path, peer: str
) -> ImportRead:
    """An ordinary import of what was received, on behalf of whoever made the address, as they are now.

    Raises Conflict, Invalid, TooLarge, Forbidden; then nothing has happened.
    """
    row = session.get_one(UploadAddress, ours.id, with_for_update=True)
    ours.check(row)
    maker = actor_by_id(session, row.created_by)
    if maker is None:
        raise Conflict("upload.maker_gone")
    policy(maker, "capture.import")
    with spool.open("rb") as file:
        upload = service.Upload(file, f"{row.host_name}.bundle", "bundle", row.host_id, row.host_name)
        made = service.bring(session, store, config, maker, upload)
    row.used_at, row.used_from, row.failure = now(), peer, None
    row.claimed_at = row.claimed_until = None
    row.size, row.capture_id = spool.stat().st_size, made.id
    audit.record(
        session,
        maker,
        "upload.received",
        "upload",
        row.id,
        address=peer,
        bytes=row.size,
        capture=str(made.id),
    )
    return made
