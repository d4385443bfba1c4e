"""The people of a college: /faces/<n> is a picture, /phones/<n> a number, /hours/<n> needs no directory.

Environment: DIRECTORY_URL, SUFFIX, PEOPLE (how many there are), ROUNDS (what a page costs).
"""

from __future__ import annotations

import hashlib
import os
import threading

import ldap
from flask import Flask, Response, abort, jsonify

SUFFIX, PEOPLE, ROUNDS = os.environ["SUFFIX"], int(os.environ["PEOPLE"]), int(os.environ["ROUNDS"])
app = Flask(__name__)
local = threading.local()


def load_person(number: int) -> dict[str, list[bytes]]:
    """Return the entry of a person, over the connection of this thread."""
    if getattr(local, "directory", None) is None:
        local.directory = ldap.initialize(os.environ["DIRECTORY_URL"])
        local.directory.set_option(ldap.OPT_NETWORK_TIMEOUT, 3)
        local.directory.set_option(ldap.OPT_TIMEOUT, 8)
    try:
        entries = local.directory.search_s(
            f"ou=people,{SUFFIX}", ldap.SCOPE_SUBTREE, f"(uid=person{number % PEOPLE})"
        )
    except ldap.LDAPError as error:
        local.directory = None
        app.logger.warning("directory: %s", error)
        abort(503)
    if not entries:
        abort(404)
    person: dict[str, list[bytes]] = entries[0][1]
    return person


@app.get("/faces/<int:number>")
def show_face(number: int) -> Response:
    """The picture of a person."""
    return Response(load_person(number)["jpegPhoto"][0], mimetype="image/jpeg")


@app.get("/phones/<int:number>")
def show_phone(number: int) -> Response:
    """The telephone number of a person."""
    return jsonify(telephone=load_person(number)["telephoneNumber"][0].decode())


@app.get("/hours/<int:number>")
def show_hours(number: int) -> Response:
    """The office hours of a department, signed."""
    text = f"department {number}"
    return jsonify(
        text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"college", ROUNDS).hex()
    )
