"""Network allow-list: every notation of a forbidden address is forbidden."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from culprit.infra.network.addresses import RESTRICTED_NETWORKS, AddressRule, is_permitted, resolve_address
from culprit.infra.ssh.errors import SshError
from hypothesis import given
from hypothesis import strategies as st

EVERYWHERE = (AddressRule("0.0.0.0/0", 1, 65535), AddressRule("::/0", 1, 65535))
TEN = (AddressRule("10.0.0.0/8", 22, 22),)

# All of these mean loopback, link-local, or a metadata service.
SPELLINGS = """
127.0.0.1 127.1 127.0.1 127.255.255.254 0x7f000001 0x7f.1 0X7F.0.0.1 2130706433 017700000001 0177.0.0.1
0177.1 127.0x0.0.1 0x7f.0x0.0x0.0x1 localhost LOCALHOST localhost. ::1 0:0:0:0:0:0:0:1 0::1 ::0001
::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:7f00:0001 0:0:0:0:0:ffff:127.0.0.1 ::127.0.0.1 ::7f00:1
64:ff9b::127.0.0.1 64:ff9b::7f00:1 2002:7f00:1:: 2002:7f00:0001::1
0 0.0.0.0 0x0 00 0.0 :: ::ffff:0.0.0.0 0.0.0.1
169.254.169.254 2852039166 0xa9fea9fe 0xa9.0xfe.0xa9.0xfe 0251.0376.0251.0376 169.254.43518
::ffff:169.254.169.254 ::ffff:a9fe:a9fe 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe:: fd00:ec2::254
fd00:ec2::23 fd20:ce::254 fd20:00ce::0254
169.254.0.1 169.254.1 fe80::1 fe80::1%lo fe80::ffff:ffff:ffff:ffff febf::1
100.100.100.200 1684301000 0x646464c8 168.63.129.16 192.0.0.192
224.0.0.1 239.255.255.255 255.255.255.255 4294967295 0xffffffff ff02::1
""".split()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_gets_past_even_the_widest_rule(spelling: str) -> None:
    with pytest.raises(SshError) as refused:
        resolve_address(spelling, 22, EVERYWHERE)
    assert refused.value.kind in {"not_allowed", "dns"}
    assert "reason" not in refused.value.params


def test_there_are_enough_spellings() -> None:
    assert len(SPELLINGS) >= 60


@pytest.mark.parametrize("address", ["10.1.2.3", "203.0.113.1", "127.0.0.1", "::1", "localhost"])
def test_without_a_rule_nothing_is_allowed(address: str) -> None:
    with pytest.raises(SshError):
        resolve_address(address, 22, ())


def test_loopback_requires_its_own_rule() -> None:
    rules = (AddressRule("127.0.0.1/32", 40022, 40022),)
    assert resolve_address("127.0.0.1", 40022, rules) == "127.0.0.1"
    assert resolve_address("localhost", 40022, rules) == "127.0.0.1"
    assert resolve_address("::ffff:127.0.0.1", 40022, rules) == "127.0.0.1"
    for address, port in (("127.0.0.1", 22), ("127.0.0.2", 40022), ("::1", 40022)):
        with pytest.raises(SshError):
            resolve_address(address, port, rules)


def test_networks_and_ports_have_edges() -> None:
    rules = (AddressRule("10.1.0.0/16", 22, 24),)
    for address, port, ok in (
        ("10.1.0.0", 22, True), ("10.1.255.255", 24, True), ("10.2.0.0", 22, False),
        ("10.0.255.255", 22, False), ("10.1.2.3", 21, False), ("10.1.2.3", 25, False),
    ):  # fmt: skip
        assert is_permitted(ipaddress.ip_address(address), port, rules) is ok


def test_what_was_checked_is_what_is_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name whose address changes between check and connection has no effect: it is resolved once."""
    answers = iter([["203.0.113.9", "10.0.0.7"], ["127.0.0.1"]])

    def lookup(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, 1, 6, "", (ip, 22)) for ip in next(answers)]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    assert resolve_address("moving.example", 22, TEN) == "10.0.0.7"
    with pytest.raises(SshError, match="not_allowed"):
        resolve_address("moving.example", 22, TEN)


@pytest.mark.parametrize("name", ["", "\x00", "a" * 300, "ü" * 70, "a..b", "%", "-oProxyCommand=x", "[::1]"])
def test_malformed_input_is_answered_without_a_crash(name: str) -> None:
    with pytest.raises(SshError):
        resolve_address(name, 22, EVERYWHERE)


@given(st.ip_addresses(), st.integers(1, 65535))
def test_guarded_addresses_need_a_rule_within_their_network(ip, port: int) -> None:
    if any(ip in network for network in RESTRICTED_NETWORKS):
        assert not is_permitted(ip, port, EVERYWHERE)
        assert is_permitted(ip, port, (AddressRule(str(ip), port, port),))
    if is_permitted(ip, port, TEN):
        assert port == 22


@given(st.ip_addresses(v=4))
def test_ipv4_in_ipv6_clothes_is_judged_as_ipv4(ip) -> None:
    mapped = ipaddress.IPv6Address(f"::ffff:{ip}")
    assert is_permitted(mapped, 22, TEN) == is_permitted(ip, 22, TEN)
    assert is_permitted(mapped, 22, EVERYWHERE) == is_permitted(ip, 22, EVERYWHERE)
