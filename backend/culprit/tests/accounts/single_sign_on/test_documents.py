"""Documents of a provider, as bytes: each is read or refused and proves no more than it may."""

from __future__ import annotations

import json
from typing import Any

import pytest
from culprit.accounts.single_sign_on.discovery import is_secure_url, parse_discovery, parse_keys, select_keys
from culprit.accounts.single_sign_on.idtoken import check_claims, verify_signature
from culprit.accounts.single_sign_on.refusal import SignInError
from culprit.accounts.single_sign_on.roles import choose_account_name, map_role, parse_groups, sanitize_next
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
    except SignInError as refused:
        assert len(refused.detail) < 200
        return None


@given(st.binary(max_size=200) | ANYTHING.map(lambda item: json.dumps(item).encode()))
def test_no_bytes_break_a_reader(body: bytes) -> None:
    refusing(parse_discovery, body, "https://id.example")
    refusing(parse_keys, body)
    refusing(verify_signature, body.decode("utf-8", "replace"), [], ["RS256"])


@given(
    st.dictionaries(
        st.sampled_from(["iss", "aud", "azp", "exp", "iat", "nbf", "nonce", "sub"]), ANYTHING, max_size=8
    )
)
def test_no_claims_are_enough_by_chance(claims: dict[str, Any]) -> None:
    with pytest.raises(SignInError):
        check_claims(claims, "https://id.example", "culprit", "n" * 43, 1_800_000_000.0)


@given(ANYTHING)
def test_groups_are_texts_and_bounded(claim: Any) -> None:
    groups = parse_groups(claim)
    assert groups == sorted(set(groups)) and all(
        isinstance(group, str) and 0 < len(group) <= 300 for group in groups
    )


@given(st.dictionaries(st.sampled_from(["sub", "email", "name", "preferred_username"]), ANYTHING, max_size=4))
def test_every_name_fits_and_is_free(claims: dict[str, Any]) -> None:
    taken = {"somebody", "ada"}
    name = choose_account_name(claims, "preferred_username", taken.__contains__)
    assert name not in taken and 0 < len(name) <= 64 and name[0].isalnum()


@given(st.text(max_size=60) | st.none())
def test_next_stays_here(next_path: str | None) -> None:
    place = sanitize_next(next_path)
    assert place.startswith("/") and not place.startswith("//") and "\\" not in place
    assert all(ord(item) > 0x20 for item in place)


def test_the_highest_role_counts_and_otherwise_is_no_group() -> None:
    roles = [
        {"group": "a", "role": "viewer"},
        {"group": "b", "role": "admin"},
        {"group": "c", "role": "oncall"},
    ]
    assert map_role(["a", "c"], roles, "admin") == "oncall"
    assert map_role(["x"], roles, None) is None and map_role([], roles, "viewer") == "viewer"


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
    assert parse_keys(json.dumps({"keys": [good, *bad]}).encode()) == [good]
    with pytest.raises(SignInError):
        parse_keys(json.dumps({"keys": bad}).encode())


def test_a_key_is_only_used_for_what_it_is() -> None:
    first, second = curve("a").as_dict(private=False), curve("b").as_dict(private=False)
    assert select_keys([first, second], "b", "ES256") == [second]
    assert select_keys([first, second], None, "ES256") == [], (
        "no choice is made for a token that names no key"
    )
    assert select_keys([first], None, "ES256") == [first]
    assert (
        select_keys([first], "a", "RS256") == []
        and select_keys([{**first, "alg": "ES512"}], "a", "ES256") == []
    )


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
    assert is_secure_url(url) is yes
