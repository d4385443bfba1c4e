"""Collectors that share a script: it runs once, and each gets its files, its outcome and its limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collectors.contract import Needs, Script
from collectors.registry import COLLECTORS
from collectors.runner import program
from collectors.runner.program import CollectorJob
from collectors.tests.host.harness import SHELLS, Live, Room, script
from collectors.tests.support import BytesPart, context

MEMBERS = ("first", "two", "three")
#: Each member gets the number of the process that ran the script.
WRITE = """
for x in first two three; do
  eval "d=\\${OUT_$x-unset}"
  [ "$d" = unset ] || echo $$ > "$d/samples"
done
"""


def build_jobs(sh: str = WRITE, names: tuple[str, ...] = MEMBERS, **more: object) -> list[CollectorJob]:
    """Jobs that share a script, each with a second method of its own."""
    return [
        CollectorJob(
            name,
            (
                Script("shared", Needs(), sh, "shared", share="all"),
                Script("own", Needs(), f"echo {name}", "own"),
            ),
            1,
            **more,  # type: ignore[arg-type]
        )
        for name in names
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shared_script_runs_once_for_all(room: Room, shell: str) -> None:
    live = Live([*build_jobs(), script("alone", "echo $$ >samples")], room.limits(), shell=SHELLS[shell])
    assert live.end() == 0, live.lines
    parts = live.parts()
    assert len({parts[name, "samples"] for name in MEMBERS}) == 1
    assert parts["alone", "samples"] != parts["first", "samples"]
    assert {live.outcomes()[name].state for name in MEMBERS} == {"done"}
    assert {live.outcomes()[name].method for name in MEMBERS} == {"shared"}


def test_a_member_that_is_not_part_of_the_run_gets_nothing(room: Room) -> None:
    live = Live(build_jobs(names=("first", "three")), room.limits())
    assert live.end() == 0, live.lines
    assert set(live.parts()) == {("first", "samples"), ("three", "samples")}


def test_other_durations_run_apart(room: Room) -> None:
    first, two, three = build_jobs()
    live = Live([first, two, replace(three, seconds=2)], room.limits())
    assert live.end() == 0, live.lines
    parts = live.parts()
    assert parts["first", "samples"] == parts["two", "samples"] != parts["three", "samples"]


def test_every_member_falls_back_to_its_own_method(room: Room) -> None:
    live = Live(build_jobs(WRITE + "echo no >&2; exit 69"), room.limits())
    assert live.end() == 0, live.lines
    assert live.parts() == {(name, "stdout"): f"{name}\n".encode() for name in MEMBERS}
    assert {outcome.method for outcome in live.outcomes().values()} == {"own"}


def test_without_another_method_every_member_reports_why(room: Room) -> None:
    jobs = [replace(job, methods=job.methods[:1]) for job in build_jobs("echo no >&2; exit 69")]
    live = Live(jobs, room.limits())
    assert live.end() == 0, live.lines
    outcomes = live.outcomes()
    assert {outcomes[name].state for name in MEMBERS} == {"skipped"}
    assert {outcomes[name].reason.key for name in MEMBERS} == {"reason.unavailable_because"}


def test_the_cap_and_the_deadline_hold_for_every_member(room: Room) -> None:
    write = 'while :; do head -c 20000 /dev/zero >> "$OUT_two/a$((n += 1))"; sleep 0.05; done'
    live = Live(build_jobs(write, max_bytes=60_000, grace_s=10), room.limits())
    assert live.end() == 0, live.lines
    outcomes = live.outcomes()
    assert outcomes["two"].reason.key == "reason.byte_cap"
    assert {outcomes[name].state for name in MEMBERS} == {"failed"}
    live = Live(build_jobs("trap '' TERM; while :; do sleep 1; done", grace_s=0), room.limits())
    assert live.end() == 0, live.lines
    assert {outcome.state for outcome in live.outcomes().values()} == {"timed_out"}
    live.gone(room, 2)


def test_without_a_directory_each_member_writes_to_standard_output(room: Room) -> None:
    write = 'echo "first=${OUT_first-unset} two=${OUT_two-unset}"'
    live = Live(build_jobs(write, ("first", "two")), room.limits(need_bytes=1 << 60))
    assert live.end() == 0, live.lines
    assert live.parts()["first", "stdout"] == b"first= two=unset\n"
    assert live.parts()["two", "stdout"] == b"first=unset two=\n"


@pytest.mark.parametrize(
    "names", [("changes", "clock_sync", "scheduled_jobs"), ("links", "cni_facts"), ("cni_facts",)]
)
def test_real_collectors_that_share_a_script_get_their_own_data(room: Room, names: tuple[str, ...]) -> None:
    jobs = [CollectorJob.of(COLLECTORS[name], 2) for name in names]
    live = Live(jobs, room.limits())
    assert live.end() == 0, live.lines
    assert {outcome.state for outcome in live.outcomes().values()} == {"done"}
    parts = live.parts()
    for name in names:
        own = {part: BytesPart(data) for (collector, part), data in parts.items() if collector == name}
        parsed = COLLECTORS[name].parse(own, context())
        assert parsed.readable, parsed.warnings
        assert parsed.tables or parsed.facts or name == "scheduled_jobs"


def test_the_text_of_a_shared_script_is_sent_once() -> None:
    jobs = build_jobs("echo MARK")
    text = program.build_program(jobs, program.RunnerLimits(run="00000000-0000-7000-8000-000000000000"))
    assert text.count(b"MARK") == 1


def test_members_of_a_share_have_the_same_script_cap_and_signal() -> None:
    shares: dict[str, set[tuple[str, int, str]]] = {}
    for collector in COLLECTORS.values():
        for method in collector.methods:
            if isinstance(method, Script) and method.share:
                assert not collector.exclusive and not collector.options
                same = (method.sh, collector.max_bytes, method.stop)
                shares.setdefault(method.share, set()).add(same)
    assert shares and all(len(same) == 1 for same in shares.values())
