"""Receipts of a parking service on one event loop of aiohttp: /receipts/<n> has each receipt signed by a command.

Environment: LISTEN (address:port), SIGNER (address:port), WORK (rounds of hashing of a page), and SETTINGS, a JSON file
that is read for each receipt: `signing` is how the command is waited for, `pause_ms` how long before the next attempt.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import time
from pathlib import Path

from aiohttp import web

SIGNER, WORK, SETTINGS = os.environ["SIGNER"], int(os.environ["WORK"]), Path(os.environ["SETTINGS"])
routes = web.RouteTableDef()


def build_command(number: int) -> list[str]:
    """Return the command that asks the company that signs receipts."""
    return ["curl", "-s", "-m", "9", f"http://{SIGNER}/sign/{number}"]


async def sign_receipt(number: int) -> bytes:
    """Return the answer of the command, waited for as the settings state."""
    settings = json.loads(SETTINGS.read_text())
    if settings["signing"] == "captured":
        return subprocess.run(build_command(number), capture_output=True, check=False).stdout
    if settings["signing"] == "output":
        return subprocess.check_output(build_command(number))
    if settings["signing"] == "paced":
        time.sleep(settings["pause_ms"] / 1000)
    child = await asyncio.create_subprocess_exec(*build_command(number), stdout=asyncio.subprocess.PIPE)
    return (await child.communicate())[0]


def render_page(text: bytes) -> web.Response:
    """Return a page with a signature."""
    return web.json_response({"text": hashlib.pbkdf2_hmac("sha256", text, b"parking", WORK).hex()})


@routes.get("/receipts/{number}")
async def show_receipt(request: web.Request) -> web.Response:
    """A receipt with its signature."""
    return render_page(await sign_receipt(int(request.match_info["number"])))


@routes.get("/spaces/{number}")
async def show_space(request: web.Request) -> web.Response:
    """Whether a parking space is free."""
    return render_page(request.path.encode())


def main() -> None:
    app = web.Application()
    app.add_routes(routes)
    address, port = os.environ["LISTEN"].split(":")
    web.run_app(app, host=address, port=int(port), access_log=None, print=None)


if __name__ == "__main__":
    main()
