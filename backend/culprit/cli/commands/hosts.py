"""culprit host add, list, check, changes, import"""

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
from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line, print_table

app = typer.Typer(no_args_is_help=True)
POLL_S = 0.5


class Sudo(StrEnum):
    """How the user gets root access on the host."""

    NONE = "none"
    NOPASSWD = "nopasswd"
    PASSWORD = "password"  # noqa: S105 - a word


class Format(StrEnum):
    """Formats of host lists."""

    SSH_CONFIG = "ssh_config"
    ANSIBLE = "ansible"
    CSV = "csv"
    KNOWN_HOSTS = "known_hosts"


def register_commands(root: typer.Typer) -> None:
    """Add the command group `host`."""
    root.add_typer(app, name="host", help="Hosts that can be captured.")


def find_host(server: Server, requested: str) -> dict[str, Any]:
    """Return a host by name or ID; prefer an added host if several have the name. Raises CliError."""
    try:
        result = server.find(f"/hosts/{UUID(requested)}")
        if result is not None:
            return dict(result)
    except ValueError:
        pass
    named = [
        item for item in server.get("/hosts", q=requested, limit=200)["items"] if item["name"] == requested
    ]
    if named:
        return dict(min(named, key=lambda item: item["state"] != "active"))
    raise CliError(ExitCode.REFUSED, f"No host '{requested}'. List hosts with './culprit host list'.")


def find_credential(server: Server, requested: str) -> str:
    """Return the ID of a credential by name or ID. Raises CliError."""
    for item in server.get("/credentials", limit=200)["items"]:
        if requested in {item["name"], item["id"]}:
            return str(item["id"])
    raise CliError(
        ExitCode.REFUSED, f"No credential '{requested}'. List credentials under Settings, Credentials."
    )


def parse_labels(supplied: list[str]) -> dict[str, str]:
    """Parse name=value pairs. Raises CliError."""
    labels = {}
    for text in supplied:
        name, equals, value = text.partition("=")
        if not equals:
            raise CliError(ExitCode.USAGE, f"'{text}' is not a label. Use name=value.")
        labels[name] = value
    return labels


def read_text(path: Path) -> str:
    """Read a file, or standard input for '-'. Raises CliError."""
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except OSError as error:
        raise CliError(ExitCode.USAGE, f"{path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise CliError(ExitCode.USAGE, f"{path}: not UTF-8 text.") from None


def build_credential_body(
    key_file: Path | None, certificate_file: Path | None, *, generate: bool, agent: bool, password: bool
) -> dict[str, Any]:
    """Return the credential of `host add`.

    Secrets are read from a prompt, never from options. Raises CliError.
    """
    chosen = [key_file is not None, generate, agent, password]
    if sum(chosen) != 1:
        raise CliError(
            ExitCode.USAGE, "Choose one of --key-file, --generate-key, --agent, --password, --credential."
        )
    if key_file is not None:
        body: dict[str, Any] = {"kind": "key", "private_key": read_text(key_file)}
        if certificate_file is not None:
            body |= {"kind": "certificate", "certificate": read_text(certificate_file)}
        return body
    if password:
        return {"kind": "password", "password": typer.prompt("Password", hide_input=True, err=True)}
    return {"kind": "generated_key" if generate else "agent"}


@app.command("add")
def add_host(  # noqa: PLR0917
    name: Annotated[str, typer.Option(help="Name of the host")],
    address: Annotated[str, typer.Option(help="Address or name to connect to")],
    user: Annotated[str, typer.Option(help="User to log in as")],
    port: Annotated[int, typer.Option(help="Port of sshd")] = 22,
    key_file: Annotated[Path | None, typer.Option(help="Private key; '-' reads standard input")] = None,
    certificate_file: Annotated[Path | None, typer.Option(help="OpenSSH certificate of the key")] = None,
    generate_key: Annotated[
        bool, typer.Option("--generate-key", help="Generate a key and print its public line")
    ] = False,
    agent: Annotated[bool, typer.Option("--agent", help="Use the worker's SSH agent")] = False,
    password: Annotated[bool, typer.Option("--password", help="Prompt for a password")] = False,
    credential: Annotated[str | None, typer.Option(help="Name of a stored credential")] = None,
    sudo: Annotated[Sudo, typer.Option(help="How the user gets root access")] = Sudo.NONE,
    jump_host: Annotated[str | None, typer.Option(help="Name of an added host to connect through")] = None,
    label: Annotated[list[str] | None, typer.Option(help="name=value. Can be repeated")] = None,
    host_key: Annotated[str | None, typer.Option(help="Trusted fingerprint, SHA256:…")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a host. Without --host-key, the command shows the fingerprint and asks you to confirm it."""
    server = Server(find_target())
    body: dict[str, Any] = {
        "name": name, "address": address, "port": port, "username": user,
        "sudo": sudo.value, "labels": parse_labels(label or []),
    }  # fmt: skip
    if credential is not None:
        body["credential_id"] = find_credential(server, credential)
    else:
        body["credential"] = build_credential_body(
            key_file, certificate_file, generate=generate_key, agent=agent, password=password
        )
    if sudo is Sudo.PASSWORD:
        body["sudo_password"] = typer.prompt("sudo password", hide_input=True, err=True)
    if jump_host is not None:
        body["jump_host_id"] = find_host(server, jump_host)["id"]
    body["host_key_fingerprint"] = host_key or confirm_key(server, body)
    result = server.post("/hosts", body, **{"Idempotency-Key": str(uuid4())})
    shape = shapes.shape_host(result)
    if as_json:
        print_json(shape)
        return
    print_line(sys.stdout, f"Added {shape['name']} ({shape['host_key']}).")
    if shape["paste"]:
        print_line(sys.stdout, f"Paste this line into ~{user}/.ssh/authorized_keys on the host:")
        print_line(sys.stdout, shape["paste"])


def confirm_key(server: Server, body: dict[str, Any]) -> str:
    """Show the host key that the host sent and let the user compare it. Raises CliError."""
    where = {name: body[name] for name in ("address", "port", "jump_host_id") if name in body}
    displayed = server.post("/host-key-scans", where)
    print_line(sys.stderr, f"{body['address']} port {body['port']} has this {displayed['type']} key:")
    print_line(sys.stderr, f"  {displayed['fingerprint']}")
    print_line(sys.stderr, "On the host: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub")
    if not sys.stdin.isatty():
        raise CliError(
            ExitCode.REFUSED, "No terminal to confirm the key. Use --host-key with the fingerprint."
        )
    if not typer.confirm("Is the fingerprint the same?", default=False, err=True):
        raise CliError(ExitCode.REFUSED, "The host was not added.")
    return str(displayed["fingerprint"])


@app.command("list")
def list_hosts(
    label: Annotated[list[str] | None, typer.Option(help="name=value. Several labels must all match")] = None,
    as_json: AsJson = False,
) -> None:
    """List the hosts that you can see."""
    server = Server(find_target())
    labels = [f"{name}:{value}" for name, value in parse_labels(label or []).items()]
    results: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = server.get("/hosts", label=labels, limit=200, cursor=cursor)
        results += [shapes.shape_host(item) for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    if as_json:
        print_json(results)
        return
    print_table(
        ("NAME", "ADDRESS", "PORT", "USER", "HOST KEY", "LABELS"),
        (
            (
                item["name"], item["address"], item["port"], item["user"], item["host_key"] or "not trusted",
                " ".join(f"{name}={value}" for name, value in sorted(item["labels"].items())),
            )
            for item in results
        ),
    )  # fmt: skip


@app.command("check")
def check_host(
    host: Annotated[str, typer.Argument(help="Name or ID")],
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the result")] = 180.0,
    as_json: AsJson = False,
) -> None:
    """Check a host: its configuration, and which collectors will work there."""
    server = Server(find_target())
    host_row = find_host(server, host)
    requested = server.post(f"/hosts/{host_row['id']}/check", {})
    end = time.monotonic() + timeout
    while (seen := server.get(f"/hosts/{host_row['id']}/preflight"))["state"] not in {"done", "failed"}:
        if time.monotonic() > end:
            raise CliError(
                ExitCode.TIMED_OUT, f"Check {requested['id']} has not ended. State: '{seen['state']}'."
            )
        time.sleep(POLL_S)
    shape = shapes.shape_check(seen, host_row["name"])
    if as_json:
        print_json(shape)
    else:
        _print_check(shape)
    if shape["state"] == "failed":
        raise typer.Exit(ExitCode.FAILED)


def _print_check(shape: dict[str, Any]) -> None:
    if shape["failure"]:
        print_line(sys.stdout, f"{shape['host']}: {shape['failure']}")
        return
    facts = ", ".join(
        f"{name} {value}" for name, value in (shape["facts"] or {}).items() if value is not None
    )
    print_line(sys.stdout, f"{shape['host']}: {facts}")
    rows = [
        (check["id"], check["state"], check.get("value"), check["reason"], check["remedy"])
        for check in shape["checks"]
    ]
    print_table(("CHECK", "STATE", "VALUE", "REASON", "MEND"), rows)
    collectors = [
        (
            collector["id"],
            collector["state"],
            collector.get("method"),
            collector["reason"],
            collector["remedy"],
        )
        for collector in shape["collectors"]
    ]
    print_table(("COLLECTOR", "STATE", "WAY", "REASON", "MEND"), collectors)


@app.command("changes")
def list_changes(
    host: Annotated[str, typer.Argument(help="Name or ID")],
    days: Annotated[float, typer.Option(min=0.01, max=3650, help="Number of days")] = 30.0,
    as_json: AsJson = False,
) -> None:
    """List facts of a host that have changed, with the readings between which they changed."""
    server = Server(find_target())
    since_ns = time.time_ns() - int(days * 86_400) * 1_000_000_000
    result = server.get(f"/hosts/{find_host(server, host)['id']}/changes", since_ns=since_ns)
    if as_json:
        print_json(result)
        return
    if result["first_ns"] is None:
        print_line(sys.stdout, "No facts yet. Capture the host or run './culprit host check'.")
        return
    print_line(
        sys.stdout,
        f"{result['facts']} facts, read from {_parse_utc(result['first_ns'])} to {_parse_utc(result['last_ns'])}",
    )
    rows = [
        (
            _parse_utc(change["before"]["at_ns"]),
            _parse_utc(change["after"]["at_ns"]),
            change["name"],
            *(_format_value(change[at]) for at in ENDS),
        )
        for change in result["changes"]
    ]
    print_table(("BETWEEN", "AND", "FACT", "BEFORE", "AFTER"), rows)
    for item in result["logged"]:
        print_line(sys.stdout, f"{_parse_utc(item['t_ns'])} {render_message(item['title'])}")


ENDS = ("before", "after")


def _parse_utc(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns // 1_000_000_000, UTC).isoformat(timespec="seconds")


def _format_value(seen: dict[str, Any]) -> str:
    return "(missing)" if seen["value"] is None else str(seen["value"])


@app.command("import")
def import_hosts(  # noqa: PLR0917
    file: Annotated[Path, typer.Argument(help="The list; '-' reads standard input")],
    format_: Annotated[Format, typer.Option("--format", help="Format of the list")],
    user: Annotated[str | None, typer.Option(help="User for hosts without one in the list")] = None,
    port: Annotated[int | None, typer.Option(help="Port for hosts without one in the list")] = None,
    credential: Annotated[str | None, typer.Option(help="Stored credential for all hosts")] = None,
    label: Annotated[list[str] | None, typer.Option(help="name=value for all hosts")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only preview the import")] = False,
    as_json: AsJson = False,
) -> None:
    """Add the hosts of a list. Exit status 3 if some were not added."""
    server = Server(find_target())
    defaults: dict[str, Any] = {"username": user, "port": port, "labels": parse_labels(label or [])}
    if credential is not None:
        defaults["credential_id"] = find_credential(server, credential)
    body = {"format": format_.value, "text": read_text(file), "defaults": defaults, "dry_run": dry_run}
    answer = server.post("/hosts/import", body)
    rows = [{**row, "reason": render_message(row["reason"])} for row in answer["rows"]]
    if as_json:
        print_json({"rows": rows, "added": answer["added"]})
    else:
        lines = ((row["line"], row["name"], row["address"], row["verdict"], row["reason"]) for row in rows)
        print_table(("LINE", "NAME", "ADDRESS", "VERDICT", "REASON"), lines)
    if any(row["verdict"] in {"refused", "incomplete"} for row in rows):
        raise typer.Exit(ExitCode.PARTIAL)
