"""What `up` does once the tables are there: a first admin, a token for the command line, this host.

    python -m culprit.bootstrap [--host-port N --host-user U --host-key-file F --host-public-key-file F]

Everything may be done again: what is there is found and brought up to date. The answer on standard output is
one JSON object {"login_url", "cli_file", "host_id"}; `login_url` is null once the admin has a password. The
options describe the private sshd on loopback by which this machine is captured; without them it is not.

    python -m culprit.bootstrap --login-link NAME

prints a login link for an account that lost its password, and does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from pydantic import SecretStr
from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import audit, sealed
from culprit.auth.accounts import link_url, linked
from culprit.auth.actor import Actor, actor_of
from culprit.auth.endpoints import THIS_HOST
from culprit.auth.sessions import close_sessions, new_link
from culprit.auth.tokens import API_PREFIX, new_token, token_hash
from culprit.config import Settings, settings
from culprit.hosts import credentials
from culprit.hosts.schemas import CredentialIn
from culprit.hosts.service import parse_public_key
from culprit.infra.db import database
from culprit.infra.secrets import vault
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import ApiToken, Credential, Host, NetworkRule, UserAccount

ADMIN = "admin"
CLI_TOKEN = "command line of this machine"  # noqa: S105 - a name
CLI_FILE = "cli.json"
NOTE = "this machine, by up"
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class PrivateSshd:
    """The sshd that `up` runs: on loopback, with throw-away keys."""

    port: int
    user: str
    private_key: str
    public_key: str


def first_admin(session: Session) -> UserAccount:
    """The account that `up` makes; whoever may log in as admin later makes the others."""
    admin = session.scalars(select(UserAccount).where(UserAccount.name == ADMIN)).first()
    if admin is None:
        admin = UserAccount(name=ADMIN, role="admin")
        session.add(admin)
        session.flush()
        audit.record(session, None, "user.created", "user", admin.id, name=ADMIN, role="admin")
    return admin


def cli_token(session: Session, admin: UserAccount) -> str:
    """A new token for the command line of this machine; the one before ends."""
    own = select(ApiToken).where(ApiToken.user_id == admin.id, ApiToken.name == CLI_TOKEN)
    for old in session.scalars(own.where(ApiToken.revoked_at.is_(None))):
        old.revoked_at = now()
    text = new_token(API_PREFIX)
    token = ApiToken(
        user_id=admin.id,
        name=CLI_TOKEN,
        token_hash=token_hash(text),
        prefix=text[: len(API_PREFIX) + 4],
        role="admin",
        expires_at=now() + timedelta(days=3650),
    )
    session.add(token)
    session.flush()
    audit.record(session, None, "token.created", "token", token.id, name=CLI_TOKEN, role="admin")
    return text


def write_private(path: Path, text: str) -> None:
    """A file that only its owner may read, from its first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


def enrol_this_host(session: Session, config: Settings, actor: Actor, sshd: PrivateSshd) -> UUID:
    """This machine as a host, under the key that its own sshd was started with."""
    host = _known(session, config)
    _only_rule(session, sshd.port)
    credential = _credential(session, actor, host, sshd)
    key = parse_public_key(sshd.public_key)
    if host is None:
        host = Host(name=_free_name(session), created_by=actor.id, labels={"machine": "this"})
        session.add(host)
    host.state = "active"
    host.address, host.port, host.username = LOOPBACK, sshd.port, sshd.user
    host.credential_id, host.sudo = credential.id, "none"
    changed = host.host_key != key.blob
    host.host_key_type, host.host_key, host.host_key_fingerprint = key.type, key.blob, key.fingerprint
    if changed:
        host.pinned_at, host.pinned_by = now(), None
    session.flush()
    if changed:
        audit.record(
            session, None, "host.pinned", "host", host.id,
            host=host.name, after=key.fingerprint, port=sshd.port, reason=NOTE,
        )  # fmt: skip
    return host.id


def _known(session: Session, config: Settings) -> Host | None:
    try:
        return session.get(Host, UUID((config.home / THIS_HOST).read_text(encoding="ascii").strip()))
    except (OSError, ValueError):
        return None


def _free_name(session: Session) -> str:
    own = re.sub(r"[^A-Za-z0-9_.-]+", "-", socket.gethostname()).strip("-._")[:60] or "this-machine"
    taken = set(session.scalars(select(Host.name).where(Host.state == "active")))
    return (
        own if own not in taken else next(f"{own}-{n}" for n in range(2, 1000) if f"{own}-{n}" not in taken)
    )


def _only_rule(session: Session, port: int) -> None:
    """The allow-list names exactly this sshd: the rule of an earlier start is turned to the new port."""
    rule = session.scalars(select(NetworkRule).where(NetworkRule.note == NOTE)).first()
    if rule is None:
        rule = NetworkRule(cidr=f"{LOOPBACK}/32", note=NOTE)
        session.add(rule)
    rule.port_from = rule.port_to = port


def _credential(session: Session, actor: Actor, host: Host | None, sshd: PrivateSshd) -> Credential:
    given = CredentialIn(kind="key", private_key=SecretStr(sshd.private_key))
    row = session.get(Credential, host.credential_id) if host and host.credential_id else None
    if row is None:
        return credentials.create(session, actor, credentials.free_name(session, "this machine"), given)
    credentials.replace(row, given, vault())
    return row


def run(config: Settings, sshd: PrivateSshd | None) -> dict[str, str | None]:
    """All of it in one transaction; files are written after it."""
    with unit_of_work(database().sessions) as session:
        admin = first_admin(session)
        link = new_link(session, admin) if admin.password_hash is None else None
        token = cli_token(session, admin)
        sealed.rewrap_all(session, vault())
        host_id = enrol_this_host(session, config, actor_of(admin), sshd) if sshd else None
    cli_file = config.home / CLI_FILE
    write_private(cli_file, json.dumps({"url": config.public_url, "token": token}) + "\n")
    if host_id is not None:
        (config.home / THIS_HOST).write_text(f"{host_id}\n", encoding="ascii")
    else:
        (config.home / THIS_HOST).unlink(missing_ok=True)
    return {
        "login_url": link_url(config.public_url, link) if link else None,
        "cli_file": str(cli_file),
        "host_id": str(host_id) if host_id else None,
    }


def create_login_link(config: Settings, name: str) -> str | None:
    """End password and sessions of an account and return a link that logs in once.

    None where there is no such account, or it is disabled or signs in at an identity provider.
    """
    with unit_of_work(database().sessions) as session:
        user = session.scalars(select(UserAccount).where(UserAccount.name == name).with_for_update()).first()
        if user is None or user.disabled_at is not None or linked(session, user.id) is not None:
            return None
        user.password_hash = None
        close_sessions(session, user.id)
        token = new_link(session, user)
        audit.record(session, None, "user.changed", "user", user.id, name=user.name, new_login_link=True)
    return link_url(config.public_url, token)


def main(argv: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="culprit.bootstrap", description="Prepare a fresh platform.")
    parser.add_argument("--host-port", type=int)
    parser.add_argument("--host-user")
    parser.add_argument("--host-key-file", type=Path, help="private key that the sshd lets in")
    parser.add_argument("--host-public-key-file", type=Path, help="public host key of the sshd")
    parser.add_argument(
        "--login-link", metavar="NAME", help="print a login link for this account, nothing else"
    )
    given = parser.parse_args(argv)
    if given.login_link is not None:
        link = create_login_link(settings(), given.login_link)
        if link is None:
            sys.stderr.write(
                f"culprit: there is no active account '{given.login_link}' with a password here. "
                "People of an identity provider sign in there.\n"
            )
            return 2
        sys.stdout.write(f"{link}\n")
        return 0
    parts = (given.host_port, given.host_user, given.host_key_file, given.host_public_key_file)
    if any(parts) and not all(parts):
        parser.error("the four --host options belong together")
    sshd = None
    if all(parts):
        private_key = given.host_key_file.read_text(encoding="utf-8")
        public_key = given.host_public_key_file.read_text(encoding="utf-8").strip()
        sshd = PrivateSshd(given.host_port, given.host_user, private_key, public_key)
    sys.stdout.write(json.dumps(run(settings(), sshd)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
