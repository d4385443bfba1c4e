"""What a provider says about itself, as bytes: whatever they are, they are refused or read, and prove no more than they may."""

from __future__ import annotations

import json
from typing import Any

import pytest
from culprit.signon.discovery import fitting, read_discovery, read_keys, secure
from culprit.signon.idtoken import check, verified
from culprit.signon.refusal import Refused
from culprit.signon.roles import account_name, groups_of, role_of, safe_next
from culprit.tests.support.idp import curve, rsa
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import RSAKey

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=20), inner, max_size=5),
    max_leaves=20,
)


def refusing(work: Any, *arguments: Any) -> Any:
    try:
        return work(*arguments)
    except Refused as refused:
        assert len(refused.detail) < 200
        return None


@given(st.binary(max_size=200) | ANYTHING.map(lambda one: json.dumps(one).encode()))
def test_no_bytes_break_a_reader(body: bytes) -> None:
    refusing(read_discovery, body, "https://id.example")
    refusing(read_keys, body)
    refusing(verified, body.decode("utf-8", "replace"), [], ["RS256"])


@given(
    st.dictionaries(
        st.sampled_from(["iss", "aud", "azp", "exp", "iat", "nbf", "nonce", "sub"]), ANYTHING, max_size=8
    )
)
def test_no_claims_are_enough_by_chance(claims: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        check(claims, "https://id.example", "culprit", "n" * 43, 1_800_000_000.0)


@given(ANYTHING)
def test_groups_are_texts_and_bounded(claim: Any) -> None:
    found = groups_of(claim)
    assert found == sorted(set(found)) and all(isinstance(one, str) and 0 < len(one) <= 300 for one in found)


@given(st.dictionaries(st.sampled_from(["sub", "email", "name", "preferred_username"]), ANYTHING, max_size=4))
def test_every_name_fits_and_is_free(claims: dict[str, Any]) -> None:
    taken = {"somebody", "ada"}
    name = account_name(claims, "preferred_username", taken.__contains__)
    assert name not in taken and 0 < len(name) <= 64 and name[0].isalnum()


@given(st.text(max_size=60) | st.none())
def test_next_stays_here(wanted: str | None) -> None:
    place = safe_next(wanted)
    assert place.startswith("/") and not place.startswith("//") and "\\" not in place
    assert all(ord(one) > 0x20 for one in place)


def test_the_highest_role_counts_and_otherwise_is_no_group() -> None:
    roles = [
        {"group": "a", "role": "viewer"},
        {"group": "b", "role": "admin"},
        {"group": "c", "role": "oncall"},
    ]
    assert role_of(["a", "c"], roles, "admin") == "oncall"
    assert role_of(["x"], roles, None) is None and role_of([], roles, "viewer") == "viewer"


def test_keys_that_prove_nothing_are_left_out() -> None:
    good = rsa("good").as_dict(private=False)
    with pytest.warns(Warning):
        short = RSAKey.generate_key(1024).as_dict(private=False)
    bad = [
        rsa("private").as_dict(private=True),
        {"kty": "oct", "k": "c2VjcmV0"},
        {**good, "use": "enc"},
        {**short, "kid": "short"},
        {"kty": "RSA", "k": "x", **good},
        "text",
        None,
    ]
    assert read_keys(json.dumps({"keys": [good, *bad]}).encode()) == [good]
    with pytest.raises(Refused):
        read_keys(json.dumps({"keys": bad}).encode())


def test_a_key_is_only_used_for_what_it_is() -> None:
    first, second = curve("a").as_dict(private=False), curve("b").as_dict(private=False)
    assert fitting([first, second], "b", "ES256") == [second]
    assert fitting([first, second], None, "ES256") == [], "no choice is made for a token that names no key"
    assert fitting([first], None, "ES256") == [first]
    assert fitting([first], "a", "RS256") == [] and fitting([{**first, "alg": "ES512"}], "a", "ES256") == []


@pytest.mark.parametrize(
    ("url", "yes"),
    [
        ("https://id.example/token?x=1", True),
        ("http://127.0.0.1:8080/token", True),
        ("http://id.example/token", False),
        ("https://user:pw@id.example/", False),
        ("https://id.example/#x", False),
        ("javascript:alert(1)", False),
        ("https://id.example/" + "x" * 2000, False),
        (None, False),
    ],
)
def test_where_a_token_may_travel(url: Any, yes: bool) -> None:
    assert secure(url) is yes
