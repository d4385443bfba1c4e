"""Lessons of tutors on aiohttp: /lessons/<n>, /pupils/<n> and /rooms/<n> of many schools, with lines in a log.

Environment: LISTEN (address:port), RELEASE (a number), SCHOOLS, WORK (rounds of hashing of a page), LOG (a file).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os

from aiohttp import web

WORK = int(os.environ["WORK"])
# Since this release, the lines of a school have its name.
NAMED_SCHOOLS = 20
FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
routes = web.RouteTableDef()


def create_logger(name: str) -> logging.Logger:
    """Return the logger of this name, whose lines are in the log of the service."""
    logger = logging.getLogger(name)
    handler = logging.FileHandler(os.environ["LOG"])
    handler.setFormatter(logging.Formatter(FORMAT))
    logging.getLogger("lessons").addHandler(handler)
    logger.setLevel(logging.INFO)
    return logger


class SchoolPlan:
    """The plan of a school."""

    def __init__(self, number: int, logger: logging.Logger) -> None:
        self.number, self.logger = number, logger
        self.places = [(number * 31 + index * 7) % 90 for index in range(60)]

    def plan_lesson(self, number: int) -> dict[str, object]:
        """Return a lesson with its place."""
        self.logger.info("lesson %d of school %d is planned", number, self.number)
        place = self.places[number % len(self.places)]
        self.logger.info("lesson %d takes place %d", number, place)
        self.logger.info("tutor %d of school %d has time", number % 40, self.number)
        return {"lesson": number, "place": place}


def load_schools(count: int) -> list[SchoolPlan]:
    """Return the schools, each with its logger."""
    if int(os.environ["RELEASE"]) >= NAMED_SCHOOLS:
        return [SchoolPlan(number, create_logger(f"lessons.school{number}")) for number in range(count)]
    logger = create_logger("lessons")
    return [SchoolPlan(number, logger) for number in range(count)]


def render_page(school: SchoolPlan, item: dict[str, object]) -> web.Response:
    """Return a page with a signature."""
    signature = hashlib.pbkdf2_hmac("sha256", repr(item).encode(), b"tutor", WORK).hex()
    school.logger.info("page has signature %s", signature[:12])
    return web.json_response(item | {"school": school.number, "signature": signature})


def find_school(request: web.Request) -> tuple[SchoolPlan, int]:
    """Return the school of a request, and its number."""
    number = int(request.match_info["number"])
    schools: list[SchoolPlan] = request.app["schools"]
    school = schools[number % len(schools)]
    school.logger.info("%s %s for school %d", request.method, request.path, school.number)
    return school, number


@routes.get("/lessons/{number}")
async def show_lesson(request: web.Request) -> web.Response:
    """A lesson."""
    school, number = find_school(request)
    return render_page(school, school.plan_lesson(number))


@routes.get("/pupils/{number}")
async def show_pupil(request: web.Request) -> web.Response:
    """A pupil."""
    school, number = find_school(request)
    school.logger.info("pupil %d is signed in", number)
    return render_page(school, {"pupil": number})


@routes.get("/rooms/{number}")
async def show_room(request: web.Request) -> web.Response:
    """A room."""
    school, number = find_school(request)
    school.logger.info("room %d is free", number)
    return render_page(school, {"room": number})


async def serve_pages() -> None:
    """Serve until the process ends."""
    app = web.Application()
    app["schools"] = load_schools(int(os.environ["SCHOOLS"]))
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    address, port = os.environ["LISTEN"].split(":")
    await web.TCPSite(runner, address, int(port), backlog=1024).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve_pages())
