"""The entrance of a club: /visits/<n> notes a visit in a directory, /people/<n> shows a member.

Environment: DIRECTORY_URL, PEOPLE (how many there are).
"""

from __future__ import annotations

import os
import threading

import ldap
from flask import Flask, Response, abort, jsonify

SUFFIX = "dc=office,dc=example"
PEOPLE = int(os.environ["PEOPLE"])
app = Flask(__name__)
local = threading.local()


def open_directory() -> ldap.ldapobject.LDAPObject:
    """Return the connection of this thread."""
    if getattr(local, "directory", None) is None:
        directory = ldap.initialize(os.environ["DIRECTORY_URL"])
        directory.set_option(ldap.OPT_NETWORK_TIMEOUT, 3)
        directory.set_option(ldap.OPT_TIMEOUT, 6)
        directory.simple_bind_s(f"cn=portal,{SUFFIX}", "portal")
        local.directory = directory
    return local.directory


@app.get("/visits/<int:number>")
def note_visit(number: int) -> Response:
    """Note who came, in the entry of the member."""
    member = f"uid=person{number % PEOPLE},ou=people,{SUFFIX}"
    try:
        open_directory().modify_s(member, [(ldap.MOD_REPLACE, "title", [f"visit {number}".encode()])])
    except ldap.LDAPError:
        local.directory = None
        abort(503)
    return jsonify(visit=number)


@app.get("/people/<int:number>")
def show_member(number: int) -> Response:
    """The telephone number of a member."""
    try:
        entries = open_directory().search_s(
            f"ou=people,{SUFFIX}", ldap.SCOPE_SUBTREE, f"(uid=person{number % PEOPLE})"
        )
    except ldap.LDAPError:
        local.directory = None
        abort(503)
    return jsonify(telephone=entries[0][1]["telephoneNumber"][0].decode())
