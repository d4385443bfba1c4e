"""Each job appears once, next to the job with which its scripts share text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collectors.runner.script_order import order_scripts

LINES = st.lists(st.sampled_from(["echo a", "echo bb", "sleep 1", "cat /proc/stat"]), max_size=6).map(
    "\n".join
)


@given(st.lists(st.lists(LINES, max_size=3), max_size=8))
def test_each_job_appears_once(jobs: list[list[str]]) -> None:
    assert sorted(order_scripts(jobs)) == list(range(len(jobs)))


def test_scripts_with_common_text_are_neighbors() -> None:
    sockets, time = "ss --tcp\nsort", "date\nadjtimex --print"
    jobs = [[f"{sockets}\necho 1"], [time], [], [f"echo 2\n{sockets}"], [f"{time}\necho 3"]]
    order = list(order_scripts(jobs))
    assert abs(order.index(0) - order.index(3)) == 1
    assert abs(order.index(1) - order.index(4)) == 1
