"""Tickets of a leisure park on one event loop of aiohttp: /tickets/<n> asks the partner that keeps the prices.

Environment: LISTEN (address:port), PARTNER (address:port), RELEASE (a number), WORK (rounds of hashing of a page).
"""

from __future__ import annotations

import asyncio
import hashlib
import os

import aiohttp
import requests
from aiohttp import web

PARTNER, WORK = os.environ["PARTNER"], int(os.environ["WORK"])
# Since this release, a library of the partner fetches the prices.
WITH_LIBRARY = 40
ANSWER_TIMEOUT_S = 10
routes = web.RouteTableDef()


class PartnerLibrary:
    """What the partner publishes: it signs a request, sends it and checks the answer."""

    def __init__(self) -> None:
        self.session = requests.Session()

    def fetch_price(self, number: int) -> int:
        """Return the price of a ticket."""
        headers = {"X-Signature": hashlib.sha256(b"%d" % number).hexdigest()}
        answer = self.session.get(
            f"http://{PARTNER}/prices/{number}", headers=headers, timeout=ANSWER_TIMEOUT_S
        )
        return int(answer.json()["price"])


def render_page(text: str) -> web.Response:
    """Return a page with a signature."""
    return web.json_response(
        {"text": text, "signature": hashlib.pbkdf2_hmac("sha256", text.encode(), b"park", WORK).hex()}
    )


@routes.get("/tickets/{number}")
async def show_ticket(request: web.Request) -> web.Response:
    """The price of a ticket, as the partner states it."""
    number = int(request.match_info["number"])
    if library := request.app.get("library"):
        price = library.fetch_price(number)
    else:
        async with request.app["session"].get(f"http://{PARTNER}/prices/{number}") as answer:
            price = (await answer.json(content_type=None))["price"]
    return render_page(f"ticket {number}: {price}")


@routes.get("/rides/{number}")
async def show_ride(request: web.Request) -> web.Response:
    """How long visitors queue for a ride."""
    return render_page(f"ride {request.match_info['number']}")


@routes.get("/map/{number}")
async def show_map(request: web.Request) -> web.Response:
    """A part of the map."""
    return render_page(f"map {request.match_info['number']}")


async def prepare_partner(app: web.Application) -> None:
    """Create what asks the partner."""
    if int(os.environ["RELEASE"]) >= WITH_LIBRARY:
        app["library"] = PartnerLibrary()
    else:
        timeout = aiohttp.ClientTimeout(total=ANSWER_TIMEOUT_S)
        app["session"] = aiohttp.ClientSession(timeout=timeout)


async def serve_pages() -> None:
    """Serve until the process ends."""
    app = web.Application()
    app.add_routes(routes)
    app.on_startup.append(prepare_partner)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    address, port = os.environ["LISTEN"].split(":")
    await web.TCPSite(runner, address, int(port), backlog=1024).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve_pages())
