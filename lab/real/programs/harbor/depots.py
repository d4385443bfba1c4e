"""Depots of a mover: /vans/<n> and /crates/<n> are answered at once, /routes/<n> when a route is planned.

python depots.py --listen ADDRESS:PORT --quick-ms 20 --route-s 1.6
"""

from __future__ import annotations

import argparse
import asyncio
import random

from aiohttp import web


async def answer_depot(request: web.Request) -> web.Response:
    """An answer after a time that depends on what is wanted."""
    options, kind = request.app["options"], request.match_info["kind"]
    typical_s = options.route_s if kind == "routes" else options.quick_ms / 1000
    await asyncio.sleep(typical_s * random.uniform(0.8, 1.2))
    return web.json_response({"kind": kind, "number": request.match_info["number"], "vans": list(range(20))})


async def serve_depots(options: argparse.Namespace) -> None:
    """Serve until the process ends."""
    app = web.Application()
    app["options"] = options
    app.router.add_get("/{kind}/{number}", answer_depot)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    address, port = options.listen.split(":")
    await web.TCPSite(runner, address, int(port), backlog=1024).start()
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", required=True, help="address:port")
    parser.add_argument("--quick-ms", type=float, required=True)
    parser.add_argument("--route-s", type=float, required=True)
    asyncio.run(serve_depots(parser.parse_args()))


if __name__ == "__main__":
    main()
