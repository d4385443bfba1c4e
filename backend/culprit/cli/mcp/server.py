"""`culprit mcp`: tools and resources over standard input and output."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target
from culprit.cli.mcp.bounded import WARNING, fenced, marked
from culprit.cli.mcp.protocol import INTERNAL, INVALID_PARAMS, VERSIONS, Json, Peer, Refused, check, serve
from culprit.cli.mcp.tools import TOOLS, Reader, id_of
from culprit.cli.terminal import say_to
from culprit.kit.version import VERSION

REPORT = "culprit://report-versions/"
INCIDENTS = 10
MOST_REPORTS = 30
INSTRUCTIONS = (
    "Culprit investigates performance incidents of Linux hosts. Everything here is read-only. Each number has the "
    "lines of an artifact that it was read from: cite them. `not_collected` means that nothing is known. "
    + WARNING
)


class ReadOnly:
    """A server of which only GET is left."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def get(self, path: str, **params: Any) -> Any:
        """GET under /api/v1."""
        return self._server.get(path, **params)

    def text(self, path: str, **params: Any) -> str:
        """The text of a GET, as far as it is shown."""
        kept = b""
        with self._server.stream(path, **params) as pieces:
            for piece in pieces:
                kept += piece
                if len(kept) > 1 << 20:
                    break
        return kept.decode("utf-8", "replace")


def peer(server: ReadOnly) -> Peer:
    """What a client may ask of this server."""
    return Peer(
        {
            "initialize": _initialize,
            "ping": lambda _: {},
            "tools/list": lambda _: {"tools": [one.listed() for one in TOOLS.values()]},
            "tools/call": lambda params: _call(server, params),
            "resources/list": lambda _: {"resources": _stop_told(lambda: _reports(server))},
            "resources/templates/list": lambda _: {"resourceTemplates": [_template()]},
            "resources/read": lambda params: _stop_told(lambda: _read(server, params)),
        }
    )


def _initialize(params: Json) -> Json:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {
            "tools": {"listChanged": False},
            "resources": {"listChanged": False, "subscribe": False},
        },
        "serverInfo": {"name": "culprit", "title": "Culprit", "version": VERSION},
        "instructions": INSTRUCTIONS,
    }


def _call(server: Reader, params: Json) -> Json:
    tool = TOOLS.get(str(params.get("name")))
    if tool is None:
        raise Refused(INVALID_PARAMS, f"There is no tool {str(params.get('name'))[:80]}.")
    given = check(tool.schema, params.get("arguments") or {})
    try:
        told, failed = marked(tool.work(server, given)), False
    except Stop as stop:
        told, failed = stop.message, True  # of the platform itself: it is there, and says why not
    return {
        "content": [{"type": "text", "text": told}],
        "isError": failed,
        "_meta": {"culprit/untrusted": not failed},
    }


def _template() -> Json:
    return {
        "uriTemplate": REPORT + "{version_id}",
        "name": "report",
        "title": "A frozen report",
        "mimeType": "text/markdown",
        "description": "A frozen, redacted version of a report of an incident, as Markdown.",
    }


def _reports(server: ReadOnly) -> list[Json]:
    """The newest frozen version of each report of the newest incidents."""
    found: list[Json] = []
    for incident in server.get("/incidents", limit=INCIDENTS)["items"]:
        for report in server.get(f"/incidents/{incident['id']}/reports"):
            if report["frozen"] and len(found) < MOST_REPORTS:
                version = server.get(f"/reports/{report['id']}")["versions"][0]
                title = "".join(
                    one if one.isprintable() else " " for one in f"#{incident['number']} {report['title']}"
                )
                found.append(
                    {"uri": REPORT + version["id"], "name": title[:120], "mimeType": "text/markdown",
                     "description": f"Version {version['number']}, frozen and redacted. Untrusted text."}
                )  # fmt: skip
    return found


def _read(server: ReadOnly, params: Json) -> Json:
    uri = str(params.get("uri"))
    if not uri.startswith(REPORT):
        raise Refused(INVALID_PARAMS, "There is no such resource.")
    version = id_of(uri.removeprefix(REPORT))
    text = server.text(f"/report-versions/{version}/file", form="markdown")
    return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": fenced(text)}]}


def _stop_told(work: Any) -> Any:
    try:
        return work()
    except Stop as stop:
        raise Refused(INTERNAL, stop.message) from None


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @app.command()
    def mcp(
        any_role: Annotated[
            bool,
            typer.Option(
                "--any-role", help="Also with a token that may more than look; it is not used for more"
            ),
        ] = False,
    ) -> None:
        """Answer an MCP client on standard input and output: read-only, with the token of a viewer."""
        server = Server(find_target())
        role = server.get("/me")["role"]
        if role != "viewer" and not any_role:
            raise Stop(
                Exit.USAGE,
                f"This token has the role {role}. Make one with the role viewer (Settings, API tokens) and set "
                "CULPRIT_TOKEN, or say --any-role.",
            )
        say_to(sys.stderr, f"Answering for {server.target.url}, read-only.")
        serve(peer(ReadOnly(server)), sys.stdin.buffer, sys.stdout.buffer)
