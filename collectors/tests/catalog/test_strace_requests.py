"""Which calls of a traced process served a request, and from when to when: synthetic calls as our script prints them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collectors.catalog.application import strace
from collectors.tests.support import BytesPart, context

SERVED = "TCP:[10.0.0.1:8080->10.0.0.9:51234]"
DEPENDENCY = "TCP:[10.0.0.1:51300->10.0.0.2:6379]"
UNCLEAR = "TCP:[127.0.0.1:40000->127.0.0.1:50000]"


def call(t: float, tid: int, name: str, ms: float, fd: str = "", what: str = "", ret: int = 0) -> str:
    return f"call\tt={t}\ttid={tid}\tname={name}\tms={ms}\tret={ret}\tfd={fd}\twhat={what}\n"


def requests(*lines: str) -> list[dict[str, Any]]:
    text = "task\ttid=7\tcomm=feed\n" + "".join(lines) + "end\tseconds=3\n"
    tables = strace.COLLECTOR.parse({"stdout": BytesPart(text.encode())}, context()).tables
    matching_tables = [table for table in tables if table.kind == "strace_requests"]
    if not matching_tables:
        return []
    names = [column.id for column in matching_tables[0].columns]
    return [
        dict(zip(names, row, strict=True)) | {"line": line}
        for row, line in zip(matching_tables[0].rows, matching_tables[0].lines, strict=True)
    ]


def test_a_request_goes_from_its_arrival_to_the_last_write_of_its_answer() -> None:
    [item] = requests(
        call(100.0, 7, "read", 40.0, "9", SERVED, 120),
        call(100.05, 7, "read", 0.1, "9", SERVED, 30),
        call(100.1, 7, "sendto", 0.2, "5", DEPENDENCY, 20),
        call(100.2, 7, "recvfrom", 50.0, "5", DEPENDENCY, 400),
        call(100.5, 7, "write", 1.0, "9", SERVED, 500),
        call(100.6, 7, "writev", 2.0, "9", SERVED, 900),
        call(100.7, 7, "read", 300.0, "9", SERVED, 0),
    )
    assert (item["tid"], item["comm"], item["fd"], item["what"], item["line"]) == (7, "feed", "9", SERVED, 2)
    assert abs(item["t"] - 100.04) < 1e-9 and abs(item["took"] - 562.0) < 1e-6
    assert (item["answered"], item["answered_by"], item["calls"]) == (1, 7, 4)
    assert (item["in_bytes"], item["out_bytes"]) == (150, 1400)


def test_keepalive_requests_are_separate_and_any_thread_may_answer() -> None:
    result = requests(
        call(1.0, 7, "recvfrom", 0.0, "9", SERVED, 10),
        call(1.2, 8, "sendto", 0.0, "9", SERVED, 10),
        call(2.0, 7, "recvfrom", 0.0, "9", SERVED, 10),
        call(2.5, 7, "sendto", 0.0, "9", SERVED, 10),
    )
    assert [round(item["took"]) for item in result] == [500, 200], "the longest first"
    assert [item["answered_by"] for item in result] == [7, 8]


def test_unanswered_request_is_marked() -> None:
    [item] = requests(
        call(1.0, 7, "read", 0.0, "9", SERVED, 10),
        call(1.5, 7, "futex", 1000.0),
    )
    assert (item["answered"], item["answered_by"], round(item["took"])) == (0, None, 1500)


def test_connections_to_others_are_no_requests_and_nothing_is_claimed_of_the_rest() -> None:
    assert not requests(
        call(1.0, 7, "read", 0.0, "5", DEPENDENCY, 10),
        call(1.1, 7, "write", 0.0, "5", DEPENDENCY, 10),
        call(2.0, 7, "read", 0.0, "6", UNCLEAR, 10),
        call(2.1, 7, "write", 0.0, "6", UNCLEAR, 10),
        call(3.0, 7, "connect", 0.0, "9", SERVED, 0),
        call(3.1, 7, "read", 0.0, "9", SERVED, 10),
        call(3.2, 7, "read", 0.0, "4", "/etc/passwd", 10),
    )


def test_what_was_accepted_is_served_whatever_its_ports() -> None:
    unix = "UNIX-STREAM:[11->12]"
    result = requests(
        call(1.0, 7, "accept4", 0.0, "3", "TCP:[0.0.0.0:40000]", 6),
        call(1.1, 7, "read", 0.0, "6", UNCLEAR, 10),
        call(1.2, 7, "write", 0.0, "6", UNCLEAR, 10),
        call(1.3, 7, "close", 0.0, "6", UNCLEAR, 0),
        call(2.0, 7, "accept", 0.0, "3", "UNIX-STREAM:[5]", 6),
        call(2.1, 7, "read", 0.0, "6", unix, 10),
        call(2.4, 7, "write", 0.0, "6", unix, 10),
        call(3.0, 7, "close", 0.0, "6", unix, 0),
        call(4.0, 7, "read", 0.0, "6", "UNIX-STREAM:[20->21]", 10),
    )
    assert [(item["what"], round(item["took"])) for item in result] == [(unix, 300), (UNCLEAR, 100)]


NAMES = st.sampled_from(["read", "write", "accept4", "connect", "close", "sendto", "futex", "recvmsg"])
WHATS = st.sampled_from([SERVED, DEPENDENCY, UNCLEAR, "", "TCP:[x->y]", "TCP:[::1:99999->::1:0]"])


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1e6), st.integers(0, 4), NAMES, st.floats(0, 1e6), st.sampled_from(["", "3", "9"]),
            WHATS, st.integers(-1, 2**60),
        ),
        max_size=60,
    )
)  # fmt: skip
def test_whatever_comes_in_whatever_order_is_bounded_and_never_negative(calls: list[tuple]) -> None:
    result = requests(*(call(*item) for item in calls))
    assert len(result) <= len(calls)
    assert all(item["took"] >= 0 and item["in_bytes"] > 0 for item in result)
