"""culprit host add|list|check|changes|import"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer

from culprit.cli import shapes
from culprit.cli.connection import Exit, Server, Stop, find_target, sentence
from culprit.cli.terminal import AsJson, print_json, say_to, table

app = typer.Typer(no_args_is_help=True)
POLL_S = 0.5


class Sudo(StrEnum):
    """How the user becomes root on the host."""

    NONE = "none"
    NOPASSWD = "nopasswd"
    PASSWORD = "password"  # noqa: S105 - a word


class Format(StrEnum):
    """Lists of hosts that can be read."""

    SSH_CONFIG = "ssh_config"
    ANSIBLE = "ansible"
    CSV = "csv"
    KNOWN_HOSTS = "known_hosts"


def find_host(server: Server, wanted: str) -> dict[str, Any]:
    """A host by name or id; of several of a name the one that is enrolled. Raises Stop."""
    try:
        found = server.find(f"/hosts/{UUID(wanted)}")
        if found is not None:
            return dict(found)
    except ValueError:
        pass
    named = [one for one in server.get("/hosts", q=wanted, limit=200)["items"] if one["name"] == wanted]
    if named:
        return dict(min(named, key=lambda one: one["state"] != "active"))
    raise Stop(Exit.REFUSED, f"There is no host '{wanted}'; see './culprit host list'.")


def find_credential(server: Server, wanted: str) -> str:
    """The id of a credential by name or id. Raises Stop."""
    for one in server.get("/credentials", limit=200)["items"]:
        if wanted in {one["name"], one["id"]}:
            return str(one["id"])
    raise Stop(Exit.REFUSED, f"There is no credential '{wanted}'.")


def labels_of(given: list[str]) -> dict[str, str]:
    """name=value pairs. Raises Stop."""
    labels = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise Stop(Exit.USAGE, f"A label is written name=value, not '{text}'.")
        labels[name] = value
    return labels


def read_text(path: Path) -> str:
    """A file, or standard input for '-'. Raises Stop."""
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except OSError as error:
        raise Stop(Exit.USAGE, f"{path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Stop(Exit.USAGE, f"{path}: not UTF-8 text.") from None


def credential_body(
    key_file: Path | None, certificate_file: Path | None, *, generate: bool, agent: bool, password: bool
) -> dict[str, Any]:
    """The credential of `host add`; secrets are asked for and never options. Raises Stop."""
    chosen = [key_file is not None, generate, agent, password]
    if sum(chosen) != 1:
        raise Stop(Exit.USAGE, "Choose one of --key-file, --generate-key, --agent, --password, --credential.")
    if key_file is not None:
        body: dict[str, Any] = {"kind": "key", "private_key": read_text(key_file)}
        if certificate_file is not None:
            body |= {"kind": "certificate", "certificate": read_text(certificate_file)}
        return body
    if password:
        return {"kind": "password", "password": typer.prompt("Password", hide_input=True, err=True)}
    return {"kind": "generated_key" if generate else "agent"}


@app.command()
def add(  # noqa: PLR0917
    name: Annotated[str, typer.Option(help="Name of the host")],
    address: Annotated[str, typer.Option(help="Address or name to connect to")],
    user: Annotated[str, typer.Option(help="User to log in as")],
    port: Annotated[int, typer.Option(help="Port of its sshd")] = 22,
    key_file: Annotated[Path | None, typer.Option(help="Private key; '-' reads standard input")] = None,
    certificate_file: Annotated[Path | None, typer.Option(help="OpenSSH certificate of the key")] = None,
    generate_key: Annotated[bool, typer.Option("--generate-key", help="Make one; print its line")] = False,
    agent: Annotated[bool, typer.Option("--agent", help="Use the worker's SSH agent")] = False,
    password: Annotated[bool, typer.Option("--password", help="Ask for a password")] = False,
    credential: Annotated[str | None, typer.Option(help="Name of a stored credential")] = None,
    sudo: Annotated[Sudo, typer.Option(help="How that user becomes root")] = Sudo.NONE,
    jump_host: Annotated[str | None, typer.Option(help="Name of an enrolled host to go over")] = None,
    label: Annotated[list[str] | None, typer.Option(help="name=value; may be repeated")] = None,
    host_key: Annotated[str | None, typer.Option(help="Confirmed fingerprint, SHA256:…")] = None,
    as_json: AsJson = False,
) -> None:
    """Enrol a host. Without --host-key its fingerprint is shown and has to be confirmed."""
    server = Server(find_target())
    body: dict[str, Any] = {
        "name": name, "address": address, "port": port, "username": user,
        "sudo": sudo.value, "labels": labels_of(label or []),
    }  # fmt: skip
    if credential is not None:
        body["credential_id"] = find_credential(server, credential)
    else:
        body["credential"] = credential_body(
            key_file, certificate_file, generate=generate_key, agent=agent, password=password
        )
    if sudo is Sudo.PASSWORD:
        body["sudo_password"] = typer.prompt("sudo password", hide_input=True, err=True)
    if jump_host is not None:
        body["jump_host_id"] = find_host(server, jump_host)["id"]
    body["host_key_fingerprint"] = host_key or confirm_key(server, body)
    made = server.post("/hosts", body, **{"Idempotency-Key": str(uuid4())})
    shape = shapes.host(made)
    if as_json:
        print_json(shape)
        return
    say_to(sys.stdout, f"{shape['name']} is enrolled ({shape['host_key']}).")
    if shape["paste"]:
        say_to(sys.stdout, f"Paste this line into ~{user}/.ssh/authorized_keys on the host:")
        say_to(sys.stdout, shape["paste"])


def confirm_key(server: Server, body: dict[str, Any]) -> str:
    """Show the key that the host shows, and let a person compare it. Raises Stop."""
    where = {name: body[name] for name in ("address", "port", "jump_host_id") if name in body}
    shown = server.post("/hosts/scan-key", where)
    say_to(sys.stderr, f"{body['address']} port {body['port']} shows this {shown['type']} key:")
    say_to(sys.stderr, f"  {shown['fingerprint']}")
    say_to(sys.stderr, "On the host: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub")
    if not sys.stdin.isatty():
        raise Stop(Exit.REFUSED, "Nobody is there to confirm it; pass it as --host-key.")
    if not typer.confirm("Is it the same?", default=False, err=True):
        raise Stop(Exit.REFUSED, "Nothing was enrolled.")
    return str(shown["fingerprint"])


@app.command("list")
def list_hosts(
    label: Annotated[list[str] | None, typer.Option(help="name=value; all of them must hold")] = None,
    as_json: AsJson = False,
) -> None:
    """Hosts that you may see."""
    server = Server(find_target())
    wanted = [f"{name}:{value}" for name, value in labels_of(label or []).items()]
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = server.get("/hosts", label=wanted, limit=200, cursor=cursor)
        found += [shapes.host(one) for one in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    if as_json:
        print_json(found)
        return
    table(
        ("NAME", "ADDRESS", "PORT", "USER", "HOST KEY", "LABELS"),
        (
            (
                one["name"], one["address"], one["port"], one["user"], one["host_key"] or "not confirmed",
                " ".join(f"{name}={value}" for name, value in sorted(one["labels"].items())),
            )
            for one in found
        ),
    )  # fmt: skip


@app.command()
def check(
    host: Annotated[str, typer.Argument(help="Name or id")],
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the result")] = 180.0,
    as_json: AsJson = False,
) -> None:
    """Look at a host: what it is, and which collectors will work there."""
    server = Server(find_target())
    found = find_host(server, host)
    asked = server.post(f"/hosts/{found['id']}/check", {})
    end = time.monotonic() + timeout
    while (seen := server.get(f"/hosts/{found['id']}/preflight"))["state"] not in {"done", "failed"}:
        if time.monotonic() > end:
            raise Stop(Exit.TIMED_OUT, f"The check {asked['id']} has not ended; it is '{seen['state']}'.")
        time.sleep(POLL_S)
    shape = shapes.check(seen, found["name"])
    if as_json:
        print_json(shape)
    else:
        _tell(shape)
    if shape["state"] == "failed":
        raise typer.Exit(Exit.FAILED)


def _tell(shape: dict[str, Any]) -> None:
    if shape["failure"]:
        say_to(sys.stdout, f"{shape['host']}: {shape['failure']}")
        return
    facts = ", ".join(
        f"{name} {value}" for name, value in (shape["facts"] or {}).items() if value is not None
    )
    say_to(sys.stdout, f"{shape['host']}: {facts}")
    rows = [
        (one["id"], one["state"], one.get("value"), one["reason"], one["mend"]) for one in shape["checks"]
    ]
    table(("CHECK", "STATE", "VALUE", "REASON", "MEND"), rows)
    made = [
        (one["id"], one["state"], one.get("way"), one["reason"], one["mend"]) for one in shape["collectors"]
    ]
    table(("COLLECTOR", "STATE", "WAY", "REASON", "MEND"), made)


@app.command()
def changes(
    host: Annotated[str, typer.Argument(help="Name or id")],
    days: Annotated[float, typer.Option(min=0.01, max=3650, help="How far back")] = 30.0,
    as_json: AsJson = False,
) -> None:
    """A host against its own earlier facts: what was read with two values, and between which readings."""
    server = Server(find_target())
    since_ns = time.time_ns() - int(days * 86_400) * 1_000_000_000
    found = server.get(f"/hosts/{find_host(server, host)['id']}/changes", since_ns=since_ns)
    if as_json:
        print_json(found)
        return
    if found["first_ns"] is None:
        say_to(sys.stdout, "Nothing was ever read of this host: capture it, or check it.")
        return
    say_to(
        sys.stdout, f"{found['facts']} facts, read from {_utc(found['first_ns'])} to {_utc(found['last_ns'])}"
    )
    rows = [
        (
            _utc(one["before"]["at_ns"]),
            _utc(one["after"]["at_ns"]),
            one["name"],
            *(_value(one[at]) for at in ENDS),
        )
        for one in found["changes"]
    ]
    table(("BETWEEN", "AND", "FACT", "BEFORE", "AFTER"), rows)
    for one in found["logged"]:
        say_to(sys.stdout, f"{_utc(one['t_ns'])} {sentence(one['title'])}")


ENDS = ("before", "after")


def _utc(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns // 1_000_000_000, UTC).isoformat(timespec="seconds")


def _value(seen: dict[str, Any]) -> str:
    return "(not there)" if seen["value"] is None else str(seen["value"])


@app.command("import")
def import_hosts(  # noqa: PLR0917
    file: Annotated[Path, typer.Argument(help="The list; '-' reads standard input")],
    format_: Annotated[Format, typer.Option("--format", help="What the list is")],
    user: Annotated[str | None, typer.Option(help="User where the list names none")] = None,
    port: Annotated[int | None, typer.Option(help="Port where the list names none")] = None,
    credential: Annotated[str | None, typer.Option(help="Stored credential for all of them")] = None,
    label: Annotated[list[str] | None, typer.Option(help="name=value for all of them")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen")] = False,
    as_json: AsJson = False,
) -> None:
    """Enrol the hosts of a list. Exit status 3 where some of them were not."""
    server = Server(find_target())
    defaults: dict[str, Any] = {"username": user, "port": port, "labels": labels_of(label or [])}
    if credential is not None:
        defaults["credential_id"] = find_credential(server, credential)
    body = {"format": format_.value, "text": read_text(file), "defaults": defaults, "dry_run": dry_run}
    answer = server.post("/hosts/import", body)
    rows = [{**row, "reason": sentence(row["reason"])} for row in answer["rows"]]
    if as_json:
        print_json({"rows": rows, "added": answer["added"]})
    else:
        shown = ((row["line"], row["name"], row["address"], row["verdict"], row["reason"]) for row in rows)
        table(("LINE", "NAME", "ADDRESS", "VERDICT", "REASON"), shown)
    if any(row["verdict"] in {"refused", "incomplete"} for row in rows):
        raise typer.Exit(Exit.PARTIAL)
