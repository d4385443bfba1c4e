"""The portal of a company: /login/<n> asks a directory, /people/<n> shows an entry, /news/<n> needs no directory.

Environment: DIRECTORY_URL, PEOPLE (how many there are), LOGIN_ATTRIBUTE (mail or employeeNumber), OFFSET (of numbers).
"""

from __future__ import annotations

import hashlib
import os
import threading

import ldap
from flask import Flask, Response, abort, jsonify

SUFFIX = "dc=office,dc=example"
NAMES = ("amara", "bela", "clara", "dario", "emil", "fatima", "gregor", "hana", "ivo", "jana", "karim", "lea")
PEOPLE, OFFSET = int(os.environ["PEOPLE"]), int(os.environ["OFFSET"])
LOGIN_ATTRIBUTE = os.environ["LOGIN_ATTRIBUTE"]
app = Flask(__name__)
local = threading.local()


def open_directory() -> ldap.ldapobject.LDAPObject:
    """Return the connection of this thread, which searches as the portal."""
    if getattr(local, "directory", None) is None:
        directory = ldap.initialize(os.environ["DIRECTORY_URL"])
        directory.set_option(ldap.OPT_NETWORK_TIMEOUT, 3)
        directory.set_option(ldap.OPT_TIMEOUT, 6)
        directory.simple_bind_s(f"cn=portal,{SUFFIX}", "portal")
        local.directory = directory
    return local.directory


def search_people(filter_: str) -> list[tuple[str, dict[str, list[bytes]]]]:
    """Return the entries of people that match."""
    try:
        return open_directory().search_s(f"ou=people,{SUFFIX}", ldap.SCOPE_SUBTREE, filter_)
    except ldap.LDAPError as error:
        local.directory = None
        app.logger.warning("directory: %s", error)
        abort(503)


@app.get("/login/<int:number>")
def log_in(number: int) -> Response:
    """Look a person up and check the password."""
    number %= PEOPLE
    value = f"{NAMES[number % len(NAMES)]}.{number}@office.example"
    if LOGIN_ATTRIBUTE == "employeeNumber":
        value = str(OFFSET + number)
    entries = search_people(f"({LOGIN_ATTRIBUTE}={value})")
    if len(entries) != 1:
        abort(403)
    session = ldap.initialize(os.environ["DIRECTORY_URL"])
    session.set_option(ldap.OPT_TIMEOUT, 6)
    try:
        session.simple_bind_s(entries[0][0], f"secret{number}")
    except ldap.LDAPError:
        abort(503)
    finally:
        session.unbind_s()
    return jsonify(person=entries[0][0])


@app.get("/people/<int:number>")
def show_person(number: int) -> Response:
    """The telephone number of a person."""
    entries = search_people(f"(uid=person{number % PEOPLE})")
    return jsonify(telephone=entries[0][1]["telephoneNumber"][0].decode())


@app.get("/news/<int:number>")
def show_news(number: int) -> Response:
    """A piece of news, signed."""
    text = f"news {number}"
    return jsonify(text=text, signature=hashlib.pbkdf2_hmac("sha256", text.encode(), b"office", 2500).hex())
