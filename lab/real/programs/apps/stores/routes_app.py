"""Routes of a bus company: kept in memcached, else fetched from the planner; /stops/<n> needs neither.

Environment: CACHE (address:port), PLANNER_URL (such as http://10.80.0.2:8080), CACHE_TIMEOUT_S.
"""

from __future__ import annotations

import hashlib
import os
import socket
import urllib.error
import urllib.request

from flask import Flask, Response, abort

ADDRESS, PORT = os.environ["CACHE"].split(":")
TIMEOUT_S = float(os.environ.get("CACHE_TIMEOUT_S", "0.5"))
app = Flask(__name__)


def fetch_route(number: int) -> bytes:
    """Return a route as the planner answers it."""
    try:
        with urllib.request.urlopen(f"{os.environ['PLANNER_URL']}/routes/{number}", timeout=8) as answer:
            return answer.read()
    except (urllib.error.URLError, OSError):
        abort(502)


@app.get("/routes/<int:number>")
def show_route(number: int) -> Response:
    """A route, from memory where possible."""
    try:
        with socket.create_connection((ADDRESS, int(PORT)), timeout=TIMEOUT_S) as connection:
            stream = connection.makefile("rwb")
            stream.write(b"get route:%d\r\n" % number)
            stream.flush()
            words = stream.readline().split()
            if words[:1] == [b"VALUE"]:
                return Response(stream.read(int(words[3])), mimetype="application/json")
            if words != [b"END"]:
                raise ConnectionResetError(b" ".join(words).decode())
            route = fetch_route(number)
            stream.write(b"set route:%d 0 3600 %d\r\n%b\r\n" % (number, len(route), route))
            stream.flush()
            stream.readline()
    except OSError as error:
        app.logger.warning("route %s: %s", number, error)
        route = fetch_route(number)
    return Response(route, mimetype="application/json")


@app.get("/stops/<int:number>")
def show_stop(number: int) -> Response:
    """A stop, signed."""
    text = f"stop {number}"
    return Response(hashlib.pbkdf2_hmac("sha256", text.encode(), b"stops", 2500).hex(), mimetype="text/plain")
