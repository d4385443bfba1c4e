"""Redaction replaces every form of identifying text and keeps other text."""

from __future__ import annotations

import re
from itertools import pairwise
from math import inf

import pytest
from culprit.domain.redaction import places, secrets, statements
from culprit.domain.redaction.kinds import ALL_KINDS, PRESETS, RedactionRules
from culprit.domain.redaction.names import build_expression
from culprit.domain.redaction.preview import list_changed, list_replaced
from culprit.domain.redaction.redactor import MAX_DEPTH, TOO_DEEP, Redactor
from culprit.tests.support.steps import most_steps
from hypothesis import given, settings
from hypothesis import strategies as st

ALL = RedactionRules(
    ALL_KINDS, frozenset({"web1", "feed-prod-7", "cache"}), frozenset({"alice"}), frozenset({"Project X"})
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP"


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("from 10.1.2.3 port 22", ["10.1.2.3"]),
        (
            "peer 2001:db8::1:2 and fe80::1ff:fe23:4567:890a%eth0",
            ["2001:db8::1:2", "fe80::1ff:fe23:4567:890a"],
        ),
        ("   1: 0A01020B:1F90 00000000:0000 0A", ["0A01020B"]),
        ("link/ether 52:54:00:12:34:56", ["52:54:00:12:34:56"]),
        ("write to Alice.Jones+x@mail.example.com now", ["Alice", "mail.example"]),
        ("q=bob%40example.com", ["bob%40"]),
        (
            "http://bob:hunter2@db-master:9200/customers?id=7",
            ["bob", "hunter2", "db-master", "customers", "id=7"],
        ),
        ("curl https://api.acme.io/v1", ["acme.io", "/v1"]),
        ("on feed-prod-7.dc1.internal", ["feed-prod-7", "dc1"]),
        ("FEED-PROD-7 is slow, xfeed-prod-7y too", ["FEED-PROD-7", "feed-prod-7"]),
        (
            "Nov 22 07:00:01 db-0042 sshd[12]: Accepted publickey for carol from 1.2.3.4",
            ["db-0042", "carol", "1.2.3.4"],
        ),
        ("uid=1000(dave) gid=1000(dave)", ["dave"]),
        ("alice ran it", ["alice"]),
        ("/home/alice/src/main.py and ~bob/x", ["alice", "main.py", "bob"]),
        ("password: hunter2", ["hunter2"]),
        ("DB_PASSWORD='a b c'", ["a b c"]),
        ('{"api_key": "k-12345"}', ["k-12345"]),
        ("Authorization: Bearer abcdef123456", ["abcdef123456"]),
        (f"token {JWT}", [JWT, "dBjftJeZ4CVP"]),
        ("AKIAIOSFODNN7EXAMPLE", ["AKIAIOSFODNN7EXAMPLE"]),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", ["ghp_abc"]),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", ["MIIEow"]),
        ("seen Zk3vT9qLx2RfYp7WbN4s here", ["Zk3vT9"]),
        ("mysqldump -u root -pSecr3t db", ["Secr3t"]),
        ("app --db=orders --limit 7", ["orders"]),
        ("java -Dcustomer=acme", ["acme"]),
        ("SELECT * FROM t WHERE name='Müller' AND id = 42", ["Müller", "42"]),
        ("insert into t values ('it''s', \"x y\")", ["it''s", "x y"]),
        ("UPDATE t SET a='never closed", ["never closed"]),
        ("about project x", ["project x"]),
        (r"C:\Users\alice\x.txt", ["Users"]),
    ],
)
def test_redactor_replaces_identifying_text(text, gone):
    after = Redactor(ALL).redact_text(text)
    assert [item for item in gone if item.lower() in after.lower()] == []


@pytest.mark.parametrize(
    "text",
    [
        "44.1 ms > 3 ms at 02:14:10.123, 12,911 switches, n = 300",
        "r/s await and/or 1/2",
        "/proc/pressure/cpu /usr/lib/x86_64-linux-gnu/libc.so.6 /sys/kernel/mm/transparent_hugepage/enabled",
        "127.0.0.1 0.0.0.0 ::1 localhost root",
        "F-NET-TIMEWAIT-PRESSURE sched.delay_ms cpu.busy_pct.mean",
        "com.example.service.MyServiceImplementationFactory2.handleRequest",
        "std::vector<int>::push_back a::b",
        "Linux 6.1.0-13-amd64 perf.data libssl.so.3",
        "user time 12 system time 3",
        "the cached caches of proxies",
        "getty@tty1.service memcpy@plt",
        "2026-01-01T00:00:00+00:00",
        "0190f3a2-7b1c-7d3e-8f00-0123456789ab",
    ],
)
def test_it_stays(text):
    assert Redactor(ALL).redact_text(text) == text


def test_the_same_name_is_the_same_pseudonym():
    redactor = Redactor(ALL)
    assert redactor.redact_text("web1 web1 WEB1") == "host-1 host-1 host-1"
    first = redactor.redact_text("10.0.0.1 10.0.0.2 10.0.0.1")
    assert first == "address-1 address-2 address-1"
    again = Redactor(ALL, {kind: dict(known) for kind, known in redactor.names.items()})
    assert again.redact_text("10.0.0.9 10.0.0.2 web1") == "address-3 address-2 host-1"


def test_a_pseudonym_is_no_real_name():
    redactor = Redactor(RedactionRules(ALL_KINDS, frozenset({"host-1", "zeta"})))
    assert redactor.redact_text("zeta host-1") == "host-2 host-3"


def test_redactor_keeps_structure_and_uses_keys():
    redactor = Redactor(ALL)
    after = redactor.redact_value(
        {"host": "zeta", "n": 3, "ok": True, "none": None, "rows": [["alice", 1.5]], "user": "mallory", "rule": "web1",
         "cmdline": "python3 app.py --x 1", "query": "anything"},
        own=["rule"],
    )  # fmt: skip
    assert after == {
        "host": "host-1", "n": 3, "ok": True, "none": None, "rows": [["user-1", 1.5]], "user": "user-2", "rule": "web1",
        "cmdline": "python3 argument-1", "query": "literal-1",
    }  # fmt: skip


def test_what_a_host_calls_itself_is_never_our_own_word():
    after = Redactor(ALL).redact_value(
        {"id": "web1", "subject": {"id": "web1", "from": "10.0.0.1"}}, own=["id", "from"]
    )
    assert after == {"id": "web1", "subject": {"id": "host-1", "from": "address-1"}}


def test_own_words_are_texts_and_never_structures():
    after = Redactor(ALL).redact_value({"sources": [{"text": "web1"}], "id": ["web1"]}, own=["sources", "id"])
    assert after == {"sources": [{"text": "host-1"}], "id": ["web1"]}


def test_redactor_second_pass_replaces_learned_names():
    redactor = Redactor(ALL)
    texts = ["http://db-42:80/", "user=mallory login: required", "eve.adams@example.com"]
    before = "db-42 and mallory and eve.adams are required"
    assert redactor.redact_text(before) == before
    for text in texts:
        redactor.redact_text(text)
    redactor.learn_names()
    assert redactor.redact_text(before) == "host-1 and user-1 and user-3 are required"


def test_what_is_too_deep_does_not_leave():
    deep: object = "web1"
    for _ in range(MAX_DEPTH + 5):
        deep = [deep]
    after = str(Redactor(ALL).redact_value(deep))
    assert TOO_DEEP in after and "web1" not in after


def test_redactor_keeps_function_names_in_frames_by_default():
    plain = Redactor(RedactionRules(ALL_KINDS - {"symbol"}, frozenset({"web1"})))
    mangled = "_ZN4core3ptr13drop_in_place17h0123456789abcdefE"
    assert plain.redact_frame(mangled) == mangled
    assert plain.redact_frame("handle_web1_request") == "handle_host-1_request"
    assert plain.redact_frame("/opt/acme/bin/serverd") == "/path-1"
    whole = Redactor(ALL)
    assert whole.redact_frame("acme::pay") == whole.redact_frame("acme::pay") == "function-1"
    assert whole.redact_frame("schedule", kernel=True) == "schedule"
    assert whole.redact_value({"frames": ["acme::pay"]}) == {"frames": ["function-1"]}


def test_presets():
    inside = Redactor(RedactionRules(PRESETS["internal"], frozenset({"web1"})))
    assert inside.redact_text("web1 10.0.0.1 password=x") == "web1 10.0.0.1 password=secret-1"
    assert "symbol" not in PRESETS["customer"]


def test_list_changed_shows_replaced_text():
    redactor = Redactor(ALL)
    lines = list_changed(redactor, ["web1 is slow", "all is well", "web1 is slow"])
    assert [(each.before, each.after) for each in lines] == [("web1 is slow", "host-1 is slow")]
    assert [(each.kind, each.original, each.pseudonym) for each in list_replaced(redactor)] == [
        ("host", "web1", "host-1")
    ]


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_text_goes_through_and_known_names_do_not(text):
    after = Redactor(ALL).redact_text(f"{text} feed-prod-7 {text}")
    assert "feed-prod-7" not in after


@given(st.lists(st.text(min_size=1, max_size=12).filter(lambda item: item.strip() != ""), max_size=30))
@settings(max_examples=100, deadline=None)
def test_any_names_make_an_expression_that_finds_them(names):
    known = build_expression(names)
    for name in names:
        if name.strip().lower() == name and name.isascii():
            assert known.search(f" {name} ") is not None


HOSTILE = [
    "a", "a.", "1.", ":1", "-", "_", "@a", "a@", "%40", "password", "select ", "/a", "/", "'\\'", "\"", "http://", "mysql ",
    "--a ", "user ", "eyJ", "eyJa.", "A1b", " =:", "\\\\", "[[", "token=", "Bearer ", "$$",
    "host=", "su ", "-D=", "AKIA", "web", "0a:", "1-", "select 'x' from ", "-eyJ", "-----BEGIN PRIVATE KEY-----\n",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_goes_through(piece):
    text = piece * (64_000 // len(piece))
    result = Redactor(ALL).find_spans(text)
    assert all(0 <= item.start < item.end <= len(text) for item in result)
    assert all(item.end <= after.start for item, after in pairwise(result))


EXPRESSIONS = {
    f"{module.__name__.rpartition('.')[2]}.{name}.{n}": item
    for module in (places, secrets, statements)
    for name, value in vars(module).items()
    for n, item in enumerate(value if isinstance(value, tuple) else (value,))
    if isinstance(item, re.Pattern)
}
#: It takes what it begins, at the latest up to the end of the text: a character is read once.
TAKES_ALL = {"statements._LITERAL.0"}


@pytest.mark.parametrize("name", sorted(EXPRESSIONS.keys() - TAKES_ALL))
def test_expressions_have_bounded_steps(name):
    assert most_steps(EXPRESSIONS[name]) < 1_000_000


def test_what_takes_all_it_begins_leaves_nothing_to_be_read_again():
    for begun in ("'x", '"x', "$$x", "'x\\'", "$$ ' \" "):
        [result] = EXPRESSIONS["statements._LITERAL.0"].finditer(begun)
        assert result.span() == (0, len(begun))


def test_most_steps_counts_backtracking():
    assert most_steps(re.compile("a{1,9}b")) == 9 + 9
    assert most_steps(re.compile("a{1,9}+b")) == 9 + 1
    assert most_steps(re.compile("(?:a{1,9}b)*")) == inf
    assert most_steps(re.compile("(?:a*)*b")) == inf
    assert most_steps(re.compile("(?<![a-z])a+")) == inf


def test_a_block_that_many_begin_ends_once():
    text = "-----BEGIN PRIVATE KEY-----\n" * 1000 + "-----END PRIVATE KEY-----\nafter"
    assert [(item.start, item.end) for item in secrets.find_secrets(text)] == [
        (0, len(text) - len("\nafter"))
    ]


def test_known_names_share_their_beginnings():
    known = build_expression(f"web-{n}" for n in range(500))
    assert most_steps(known) < 5000
