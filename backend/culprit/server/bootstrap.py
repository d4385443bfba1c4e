"""Prepare a fresh platform for `up`: first admin, API token for the command line, and this machine as a host.

    python -m culprit.server.bootstrap [--host-port N --host-user U --host-key-file F --host-public-key-file
    F]

Repeating it updates existing rows. Standard output is one JSON object {"login_url", "cli_file", "host_id"};
`login_url` is null once the admin has a password. The options describe the private sshd on loopback by which
this machine is captured; without them it is not added.

    python -m culprit.server.bootstrap --login-link NAME

prints a login link for an account whose password is lost, and does nothing else.
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
from sqlalchemy.orm import Session

from culprit.accounts import audit, sealed_columns
from culprit.accounts.accounts import build_login_url
from culprit.accounts.actor import Actor, build_actor
from culprit.accounts.endpoints import LOCAL_HOST_FILE
from culprit.accounts.queries.users import find_identity
from culprit.accounts.sessions import close_sessions, issue_login_link
from culprit.accounts.tokens import API_PREFIX, generate_token, hash_token
from culprit.hosts import credentials
from culprit.hosts.schemas import CredentialSpec
from culprit.hosts.service import parse_public_key
from culprit.infra.db.clock import utc_now
from culprit.infra.db.schema_version import refuse_newer_schema
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.settings import Settings, get_settings
from culprit.infra.vault import get_vault
from culprit.jobs import registry
from culprit.server import queries

ADMIN = "admin"
CLI_TOKEN = "command line of this machine"  # noqa: S105 - a name
CLI_FILE = "cli.json"
NOTE = "this machine, by up"
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class PrivateSshd:
    """The sshd that `up` runs: on loopback, with temporary keys."""

    port: int
    user: str
    private_key: str
    public_key: str


def ensure_admin(session: Session) -> UserAccount:
    """Return the account that `up` creates; admins create all others."""
    admin = queries.find_user(session, ADMIN)
    if admin is None:
        admin = UserAccount(name=ADMIN, role="admin")
        session.add(admin)
        session.flush()
        audit.record_action(session, None, "user.created", "user", admin.id, name=ADMIN, role="admin")
    return admin


def replace_cli_token(session: Session, admin: UserAccount) -> str:
    """Return a new token for the command line of this machine and revoke the previous one."""
    for old in queries.list_active_tokens(session, admin.id, CLI_TOKEN):
        old.revoked_at = utc_now()
    text = generate_token(API_PREFIX)
    token = ApiToken(
        user_id=admin.id,
        name=CLI_TOKEN,
        token_hash=hash_token(text),
        prefix=text[: len(API_PREFIX) + 4],
        role="admin",
        expires_at=utc_now() + timedelta(days=3650),
    )
    session.add(token)
    session.flush()
    audit.record_action(session, None, "token.created", "token", token.id, name=CLI_TOKEN, role="admin")
    return text


def write_private(path: Path, text: str) -> None:
    """Write a file that is readable by its owner only, from its creation on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


def add_this_host(session: Session, config: Settings, actor: Actor, sshd: PrivateSshd) -> UUID:
    """Add this machine as a host with the key of its own sshd."""
    host = _find_local_host(session, config)
    _replace_network_rule(session, sshd.port)
    credential = _store_credential(session, actor, host, sshd)
    key = parse_public_key(sshd.public_key)
    if host is None:
        host = Host(name=_choose_host_name(session), created_by=actor.id, labels={"machine": "this"})
        session.add(host)
    host.state = "active"
    host.address, host.port, host.username = LOOPBACK, sshd.port, sshd.user
    host.credential_id, host.sudo = credential.id, "none"
    changed = host.host_key != key.blob
    host.host_key_type, host.host_key, host.host_key_fingerprint = key.type, key.blob, key.fingerprint
    if changed:
        host.host_key_trusted_at, host.host_key_trusted_by = utc_now(), None
    session.flush()
    if changed:
        audit.record_action(
            session, None, "host.key_trusted", "host", host.id,
            host=host.name, after=key.fingerprint, port=sshd.port, reason=NOTE,
        )  # fmt: skip
    return host.id


def _find_local_host(session: Session, config: Settings) -> Host | None:
    try:
        return session.get(Host, UUID((config.home / LOCAL_HOST_FILE).read_text(encoding="ascii").strip()))
    except (OSError, ValueError):
        return None


def _choose_host_name(session: Session) -> str:
    own = re.sub(r"[^A-Za-z0-9_.-]+", "-", socket.gethostname()).strip("-._")[:60] or "this-machine"
    taken = queries.list_active_host_names(session)
    return (
        own if own not in taken else next(f"{own}-{n}" for n in range(2, 1000) if f"{own}-{n}" not in taken)
    )


def _replace_network_rule(session: Session, port: int) -> None:
    """Make the allow-list contain exactly this sshd: the rule of an earlier start gets the new port."""
    rule = queries.find_network_rule(session, NOTE)
    if rule is None:
        rule = NetworkRule(cidr=f"{LOOPBACK}/32", note=NOTE)
        session.add(rule)
    rule.port_from = rule.port_to = port


def _store_credential(session: Session, actor: Actor, host: Host | None, sshd: PrivateSshd) -> Credential:
    credential_spec = CredentialSpec(kind="key", private_key=SecretStr(sshd.private_key))
    row = session.get(Credential, host.credential_id) if host and host.credential_id else None
    if row is None:
        return credentials.create_credential(
            session, actor, credentials.find_free_name(session, "this machine"), credential_spec
        )
    credentials.replace_secret(row, credential_spec, get_vault())
    return row


def run(config: Settings, sshd: PrivateSshd | None) -> dict[str, str | None]:
    """Prepare the database in one transaction, then write the files."""
    registry.install_routes()
    with unit_of_work(get_database().sessions) as session:
        admin = ensure_admin(session)
        link = issue_login_link(session, admin) if admin.password_hash is None else None
        token = replace_cli_token(session, admin)
        sealed_columns.rewrap_secrets(session, get_vault())
        host_id = add_this_host(session, config, build_actor(admin), sshd) if sshd else None
    cli_file = config.home / CLI_FILE
    write_private(cli_file, json.dumps({"url": config.public_url, "token": token}) + "\n")
    if host_id is not None:
        (config.home / LOCAL_HOST_FILE).write_text(f"{host_id}\n", encoding="ascii")
    else:
        (config.home / LOCAL_HOST_FILE).unlink(missing_ok=True)
    return {
        "login_url": build_login_url(config.public_url, link) if link else None,
        "cli_file": str(cli_file),
        "host_id": str(host_id) if host_id else None,
    }


def create_login_link(config: Settings, name: str) -> str | None:
    """End password and sessions of an account and return a link that logs in once.

    Return None if the account does not exist, is disabled, or signs in at an identity provider.
    """
    with unit_of_work(get_database().sessions) as session:
        user = queries.lock_user(session, name)
        if user is None or user.disabled_at is not None or find_identity(session, user.id) is not None:
            return None
        user.password_hash = None
        close_sessions(session, user.id)
        token = issue_login_link(session, user)
        audit.record_action(
            session, None, "user.changed", "user", user.id, name=user.name, new_login_link=True
        )
    return build_login_url(config.public_url, token)


def main(argv: list[str]) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="culprit.server.bootstrap", description="Prepare a fresh platform.")
    parser.add_argument("--host-port", type=int)
    parser.add_argument("--host-user")
    parser.add_argument("--host-key-file", type=Path, help="private key that the sshd accepts")
    parser.add_argument("--host-public-key-file", type=Path, help="public host key of the sshd")
    parser.add_argument(
        "--login-link", metavar="NAME", help="print a login link for this account, nothing else"
    )
    args = parser.parse_args(argv)
    refuse_newer_schema()
    if args.login_link is not None:
        link = create_login_link(get_settings(), args.login_link)
        if link is None:
            sys.stderr.write(
                f"culprit: no active account '{args.login_link}' with a password. "
                "Accounts of an identity provider sign in there.\n"
            )
            return 2
        sys.stdout.write(f"{link}\n")
        return 0
    parts = (args.host_port, args.host_user, args.host_key_file, args.host_public_key_file)
    if any(parts) and not all(parts):
        parser.error("the four --host options must be used together")
    sshd = None
    if all(parts):
        private_key = args.host_key_file.read_text(encoding="utf-8")
        public_key = args.host_public_key_file.read_text(encoding="utf-8").strip()
        sshd = PrivateSshd(args.host_port, args.host_user, private_key, public_key)
    sys.stdout.write(json.dumps(run(get_settings(), sshd)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
