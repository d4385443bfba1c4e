"""Create, list and revoke upload addresses, and import uploads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from collectors.plans import PLANS, scale_plan
from collectors.registry import COLLECTORS
from collectors.runner.program import (
    CollectorJob,
    RunnerLimits,
    build_standalone,
    build_upload_script,
    compute_deadline_s,
)
from culprit.accounts import audit
from culprit.accounts.actor import Actor, find_actor
from culprit.accounts.authorization import authorize
from culprit.accounts.tokens import generate_token, hash_token
from culprit.captures.imports import service
from culprit.captures.imports.queries import find_host
from culprit.captures.imports.schemas import ImportResponse, UploadCreate, UploadResponse
from culprit.captures.uploads.locks import UploadLease, find_open_upload, get_address_state
from culprit.captures.uploads.queries import load_user_names, select_uploads
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.clock import utc_now
from culprit.infra.models.captures.upload_address import UploadAddress
from culprit.infra.settings import Settings
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError
from culprit.web.schemas import HostRef, UserRef

PUBLIC = "/up"


def create_upload(
    session: Session, config: Settings, actor: Actor, body: UploadCreate
) -> tuple[UploadAddress, str]:
    """Create an upload address; return its row and its URL.

    Raises:
        ForbiddenError: the actor may not run the plan or import files.
        InvalidRequestError, NotFoundError: the request does not fit the plan or the host.
    """
    authorize(actor, "capture.import")
    plan = PLANS.get(body.plan)
    if plan is None:
        raise InvalidRequestError("capture.plan_unknown", plan=body.plan, plans=", ".join(PLANS))
    authorize(actor, f"capture.{plan.tier}")
    if (body.host_id is None) == (not body.host_name):
        raise InvalidRequestError("upload.one_host")
    host = find_host(session, actor, body.host_id) if body.host_id else None
    if body.host_id is not None and host is None:
        raise NotFoundError("host.not_found")
    token = generate_token()
    row = UploadAddress(
        host_id=body.host_id,
        host_name=host.name if host else body.host_name,
        plan=body.plan,
        seconds=body.seconds,
        token_hash=hash_token(token),
        max_bytes=min(body.max_mb << 20, config.upload_limit),
        note=body.note,
        expires_at=utc_now() + timedelta(minutes=body.minutes),
        created_by=actor.id,
    )
    session.add(row)
    session.flush()
    audit.record_action(
        session, actor, "upload.made", "upload", row.id, host=row.host_name, plan=row.plan,
        max_bytes=row.max_bytes, until=row.expires_at.isoformat(timespec="seconds"),
    )  # fmt: skip
    return row, f"{config.public_url.rstrip('/')}{PUBLIC}/{token}"


def revoke_upload(session: Session, actor: Actor, upload_id: UUID) -> None:
    """Revoke an address. Raises NotFoundError, ConflictError."""
    authorize(actor, "capture.import")
    row = session.scalars(
        select_uploads(actor).where(UploadAddress.id == upload_id).with_for_update()
    ).first()
    if row is None:
        raise NotFoundError("upload.not_found")
    if row.used_at is not None:
        raise ConflictError("upload.used")
    if row.revoked_at is None:
        row.revoked_at = utc_now()
        audit.record_action(session, actor, "upload.revoked", "upload", row.id, host=row.host_name)


def build_responses(
    session: Session, rows: Sequence[UploadAddress], url: str | None = None
) -> list[UploadResponse]:
    """Build the responses of addresses; `url` is that of a new address."""
    people = load_user_names(session, {row.created_by for row in rows})
    same = UploadResponse.model_fields.keys() & set(UploadAddress.__table__.columns.keys()) - {"created_by"}
    return [
        UploadResponse(
            **{name: getattr(row, name) for name in same},
            state=get_address_state(row, utc_now()),
            host=HostRef(id=row.host_id, name=row.host_name) if row.host_id else None,
            created_by=UserRef(id=row.created_by, name=people[row.created_by]),
            bytes=row.size,
            url=url,
            command=_format_command(url) if url else None,
        )
        for row in rows
    ]


def _format_command(url: str) -> str:
    """Return the line for a console; elsewhere another user could replace the script before it runs."""
    return f"""d=$(mktemp -d) && cd "$d" && curl -fsS '{url}' -o culprit.sh && sh culprit.sh"""


def build_script(session: Session, config: Settings, token: str) -> str:
    """Build the script that captures on the host and uploads the bundle. Raises NotFoundError, ConflictError."""
    row = find_open_upload(session, token, lock=False)
    jobs = [
        CollectorJob.of(COLLECTORS[collector.id], collector.seconds)
        for collector in scale_plan(PLANS[row.plan], row.seconds).collectors
    ]
    text = build_standalone(
        jobs, RunnerLimits(run=str(uuid4()), deadline_s=compute_deadline_s(jobs), silence_s=0)
    )
    return build_upload_script(text, f"{config.public_url.rstrip('/')}{PUBLIC}/{token}")


def import_upload(  # noqa: PLR0917
    session: Session, store: ArtifactStore, config: Settings, ours: UploadLease, spool: Path, peer: str
) -> ImportResponse:
    """Import an upload on behalf of the creator of the address, with their current permissions.

    Raises ConflictError, InvalidRequestError, TooLargeError, ForbiddenError; then nothing was stored.
    """
    row = session.get_one(UploadAddress, ours.id, with_for_update=True)
    ours.check(row)
    maker = find_actor(session, row.created_by)
    if maker is None:
        raise ConflictError("upload.maker_gone")
    authorize(maker, "capture.import")
    with spool.open("rb") as file:
        upload = service.UploadedFile(file, f"{row.host_name}.bundle", "bundle", row.host_id, row.host_name)
        imported = service.import_file(session, store, config, maker, upload)
    row.used_at, row.used_from, row.failure = utc_now(), peer, None
    row.claimed_at = row.claimed_until = None
    row.size, row.capture_id = spool.stat().st_size, imported.id
    audit.record_action(
        session,
        maker,
        "upload.received",
        "upload",
        row.id,
        address=peer,
        bytes=row.size,
        capture=str(imported.id),
    )
    return imported
