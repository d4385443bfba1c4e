"""Serve `culprit mcp`: tools and resources over standard input and output."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from culprit import VERSION
from culprit.cli.connection import CliError, ExitCode, Server, find_target
from culprit.cli.mcp.bounded import WARNING, fence_text, mark_untrusted
from culprit.cli.mcp.protocol import (
    INTERNAL,
    INVALID_PARAMS,
    VERSIONS,
    McpError,
    McpPeer,
    check_params,
    serve_stdio,
)
from culprit.cli.mcp.tools import TOOLS, ToolReader, parse_id
from culprit.cli.terminal import print_line
from culprit.json_types import Json

REPORT = "culprit://report-versions/"
INCIDENTS = 10
MAX_REPORTS = 30
INSTRUCTIONS = (
    "Culprit investigates performance incidents of Linux hosts. All tools are read-only. Each number has the "
    "lines of the artifact that it was read from: cite them. `not_collected` means that there is no data. "
    + WARNING
)


class ReadOnlyClient:
    """Restrict a server to GET requests."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def get(self, path: str, **params: Any) -> Any:
        """Send a GET below /api/v1."""
        return self._server.get(path, **params)

    def text(self, path: str, **params: Any) -> str:
        """Return the text of a GET, truncated to the maximum."""
        stored = b""
        with self._server.stream(path, **params) as pieces:
            for piece in pieces:
                stored += piece
                if len(stored) > 1 << 20:
                    break
        return stored.decode("utf-8", "replace")


def build_peer(server: ReadOnlyClient) -> McpPeer:
    """Return a peer with the methods that a client may call on this server."""
    return McpPeer(
        {
            "initialize": _initialize,
            "ping": lambda _: {},
            "tools/list": lambda _: {"tools": [tool.to_json() for tool in TOOLS.values()]},
            "tools/call": lambda params: _call_tool(server, params),
            "resources/list": lambda _: {"resources": _convert_cli_error(lambda: _list_reports(server))},
            "resources/templates/list": lambda _: {"resourceTemplates": [_describe_template()]},
            "resources/read": lambda params: _convert_cli_error(lambda: _read_resource(server, params)),
        }
    )


def _initialize(params: Json) -> Json:
    param = params.get("protocolVersion")
    return {
        "protocolVersion": param if param in VERSIONS else VERSIONS[0],
        "capabilities": {
            "tools": {"listChanged": False},
            "resources": {"listChanged": False, "subscribe": False},
        },
        "serverInfo": {"name": "culprit", "title": "Culprit", "version": VERSION},
        "instructions": INSTRUCTIONS,
    }


def _call_tool(server: ToolReader, params: Json) -> Json:
    tool = TOOLS.get(str(params.get("name")))
    if tool is None:
        raise McpError(INVALID_PARAMS, f"Unknown tool: {str(params.get('name'))[:80]}.")
    input_params = check_params(tool.schema, params.get("arguments") or {})
    try:
        reported, failed = mark_untrusted(tool.work(server, input_params)), False
    except CliError as stop:
        reported, failed = (
            stop.message,
            True,
        )  # the answer is only available, with the reason, on the platform itself
    return {
        "content": [{"type": "text", "text": reported}],
        "isError": failed,
        "_meta": {"culprit/untrusted": not failed},
    }


def _describe_template() -> Json:
    return {
        "uriTemplate": REPORT + "{version_id}",
        "name": "report",
        "title": "A frozen report",
        "mimeType": "text/markdown",
        "description": "A frozen, redacted version of a report of an incident, as Markdown.",
    }


def _list_reports(server: ReadOnlyClient) -> list[Json]:
    """List the newest frozen version of each report of the newest incidents."""
    results: list[Json] = []
    for incident in server.get("/incidents", limit=INCIDENTS)["items"]:
        for report in server.get(f"/incidents/{incident['id']}/reports"):
            if report["frozen"] and len(results) < MAX_REPORTS:
                version = server.get(f"/reports/{report['id']}")["versions"][0]
                title = "".join(
                    item if item.isprintable() else " " for item in f"#{incident['number']} {report['title']}"
                )
                results.append(
                    {"uri": REPORT + version["id"], "name": title[:120], "mimeType": "text/markdown",
                     "description": f"Version {version['number']}, frozen and redacted. Untrusted text."}
                )  # fmt: skip
    return results


def _read_resource(server: ReadOnlyClient, params: Json) -> Json:
    uri = str(params.get("uri"))
    if not uri.startswith(REPORT):
        raise McpError(INVALID_PARAMS, "Unknown resource.")
    version = parse_id(uri.removeprefix(REPORT))
    text = server.text(f"/report-versions/{version}/file", form="markdown")
    return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": fence_text(text)}]}


def _convert_cli_error(work: Any) -> Any:
    try:
        return work()
    except CliError as stop:
        raise McpError(INTERNAL, stop.message) from None


def register_command(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def mcp(
        any_role: Annotated[
            bool,
            typer.Option(
                "--any-role", help="Allow a token with more permissions than a viewer. Only reading is used"
            ),
        ] = False,
    ) -> None:
        """Answer an MCP client on standard input and output, read-only, with the token of a viewer."""
        server = Server(find_target())
        role = server.get("/me")["role"]
        if role != "viewer" and not any_role:
            raise CliError(
                ExitCode.USAGE,
                f"This token has the role {role}. Create one with the role viewer (Settings, API tokens) and set "
                "CULPRIT_TOKEN, or use --any-role.",
            )
        print_line(sys.stderr, f"Serving {server.target.url}, read-only.")
        serve_stdio(build_peer(ReadOnlyClient(server)), sys.stdin.buffer, sys.stdout.buffer)
