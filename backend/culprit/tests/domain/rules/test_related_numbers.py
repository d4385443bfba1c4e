"""Numbers that are told beside those that rules compare: which ones, with what title, and that they have no say."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from culprit.core.rules.contract import Finding, Grade, Number, Over
from culprit.core.rules.evaluate import evaluate
from culprit.core.rules.form import MAX_EVIDENCE, evidence, finding, read_finding
from culprit.core.rules.rank import rank
from culprit.core.rules.read import sources, title_of, unit_of
from culprit.core.rules.registry import CAUSES, RULES
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract import Tier
from collectors.metrics import CATALOGUE
from collectors.registry import COLLECTORS

from .test_engine import BUSY, OVERFLOWS, one, rule, view
from .test_engine import lane as lane_of
from .test_seeds import HERE, WITH_TEXT, Json, said
from .test_seeds import view as case_view

#: What comes home beside every other light collector, as it was really captured on a quiet host.
LIGHT = dict.fromkeys(("meminfo", "cpu_stat", "loadavg"), "debian-12-kernel6.18") | {
    "vmstat": "debian-12-procps4.0.2"
}
#: And what the TCP of a host that has something to do says.
TRAFFIC = ("network", "F-NET-SYN-RETRANS", "lossy-path")
#: (rule, its case) → what is told beside, in that order. Of a cause with several rules, those that name it first.
TOLD = {
    ("F-MEM-OOM-CGROUP", "memory/kill-in-group"): (
        "cgroup.memory_limit_mb", "cgroup.killed_anon_mb", "cgroup.memory_most_mb",
    ),
    ("F-MEM-OOM-HOST", "memory/host-out-of-memory"): ("host.killed_anon_mb",),
    ("F-MEM-GROWTH", "memory/real-leak"): ("proc.anon_mb", "proc.memory_lasts_min", "proc.growing_steps"),
    ("F-JVM-OOM-KILLED", "memory/jvm-at-limit"): (
        "cgroup.memory_limit_mb", "cgroup.killed_anon_mb", "cgroup.oom_kills_recent", "cgroup.memory_limit_hits",
    ),
    ("F-HW-MEMORY-ERRORS", "cpu/corrected-errors"): ("platform.memory_errors_since_boot",),
    ("F-CLOCK-OFFSET", "cpu/set-by-hand"): ("clock.error_ms", "clock.stratum"),
    ("F-NET-LINK-FLAP", "network/bad-cable"): ("tcp.retrans_pct.mean", "links.speed_mbit_per_s"),
    ("F-DISK-ERRORS", "disk/worn"): ("disk.error_lines",),
    ("F-PROC-DSTATE", "disk/throttled-readers"): (
        "disk.busiest_util_pct", "sched.blocked.held", "load.avg1.last", "cpu.total_iowait_pct.mean",
    ),
    ("F-NET-FW-DROP", "network/random-and-service"): (
        "firewall.service_drops_per_s", "tcp.retrans_pct.mean", "tcp.syn_retrans_per_s.mean",
    ),
    ("F-NET-FW-STATISTIC", "network/random"): (
        "firewall.drop_chance_pct", "firewall.service_drop_pct", "tcp.retrans_pct.mean",
    ),
    ("F-FLAME-HOT-FUNCTION", "cpu/one-function-of-a-service"): ("cpu.total_busy_pct.mean", "sched.runq_per_cpu.held"),
    ("F-IO-DUP-LINES", "app/twice"): ("log.twin_lines",),
    ("F-NET-PORT-EXHAUSTION", "network/all-taken"): (
        "tcp.local_ports", "tcp.time_wait_to_destination", "tcp.established_to_destination",
        "tcp.active_opens_per_s.mean",
    ),
    ("F-KTHREAD-STARVES", "cpu/ksmd-beside"): (
        "sched.waiting_threads", "cpu.total_busy_pct.mean", "sched.runq_per_cpu.held",
    ),
    ("F-NET-LISTEN-OVERFLOW", "network/overflowing"): ("tcp.passive_opens_per_s.mean", "tcp.listen_drops_per_s.mean"),
    ("F-NET-BACKLOG-SMALL", "network/nearly-full"): (
        "listener.queue_max", "listener.backlog", "tcp.passive_opens_per_s.mean",
    ),
    ("F-NET-MTU-SMALL", "network/a-thousand"): ("links.too_long_per_s", "tcp.retrans_pct.mean"),
    ("F-NET-MTU-MISMATCH", "network/eth1"): (
        "links.mtu_bytes", "links.peer_mtu_bytes", "links.too_long_per_s", "tcp.retrans_pct.mean",
    ),
    ("F-NET-QDISC-DROP", "network/tbf"): ("qdisc.sent_per_s", "tcp.retrans_pct.mean", "qdisc.waiting_packets"),
}  # fmt: skip


def step_of(file: str, rule_id: str, step: str) -> Json:
    steps = yaml.safe_load((HERE / "cases" / f"{file}.yaml").read_text())
    return next(each for each in steps if (each["step"], each.get("rule")) == (step, rule_id))


def case(name: str, rule_id: str) -> Json:
    """The step of a case, with what comes home beside it on any host."""
    file, _, step = name.partition("/")
    found = step_of(file, rule_id, step)
    parts, captured = found.get("parts", {}), found.get("fixture", {})
    traffic = step_of(*TRAFFIC)["parts"]
    # A kill counts for some minutes by the clock of meminfo: that of another day would make it an old one.
    left_out = {*parts, *captured, *(["meminfo"] if "kmsg" in parts else [])}
    light = {name: folder for name, folder in LIGHT.items() if name not in left_out}
    return found | {"parts": {**traffic, **parts}, "fixture": captured | light}


@pytest.mark.parametrize(
    ("which", "told"), TOLD.items(), ids=lambda one: "/".join(one) if "F-" in one[0] else ""
)
def test_what_a_firing_case_tells(which: tuple[str, str], told: tuple[str, ...]) -> None:
    found = said(case(which[1], which[0]))
    assert found.state == "fired"
    beside = [each for each in found.numbers if not each.compared]
    assert tuple(each.measure for each in beside) == told
    assert found.numbers[: len(found.numbers) - len(told)] == tuple(
        each for each in found.numbers if each.compared
    )
    assert all(each.citations and each.citations[0].artifact for each in beside)
    assert all(each.subject is None or set(each.subject) < set(found.subject) for each in beside)
    assert len(evidence([found])) == min(MAX_EVIDENCE, len(found.numbers))


@pytest.mark.parametrize("step", WITH_TEXT)
def test_what_is_told_beside_has_no_say(step: Json) -> None:
    """Every case fires, stays quiet or is in doubt with it as without, and names and rules out the same."""
    seen, made = case_view(step), RULES[step["rule"]]
    bare = replace(made, beside=())
    with_, without = evaluate([made], seen), evaluate([bare], seen)
    assert [only_compared(each) for each in with_] == without
    rules, bare_rules = dict(RULES), {**RULES, made.id: bare}
    assert shape(rank(with_, rules, CAUSES)) == shape(rank(without, bare_rules, CAUSES))


def only_compared(found: Finding) -> Finding:
    return replace(found, numbers=tuple(each for each in found.numbers if each.compared))


def lane(metric: str, *values: float, **labels: str):
    return lane_of(metric, *values, collector=sources()[metric][0], **labels)


def shape(found) -> object:
    causes = [(each.cause, each.confidence, each.scope, each.explains) for each in found.causes]
    return causes, [each.cause for each in found.ruled_out], found.not_looked_at, found.open


METRICS = (OVERFLOWS, BUSY, "tcp.retrans_pct", "mem.available_pct")
FINITE = st.lists(st.floats(-1e12, 1e12) | st.just(float("nan")), min_size=1, max_size=4)
VALUES = FINITE | st.sampled_from([[float("inf")], [float("-inf")]])


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(METRICS).map(Over), max_size=4),
    st.lists(st.tuples(st.sampled_from(METRICS), VALUES, st.sampled_from(["", "a", "b"])), max_size=6),
)
def test_whatever_is_told_beside_changes_nothing_else(beside, lanes) -> None:
    seen = view(*(lane(metric, *values, **({"dev": dev} if dev else {})) for metric, values, dev in lanes))
    plain = evaluate([rule()], seen)
    told = evaluate([rule(beside=tuple(beside))], seen)
    assert repr([only_compared(each) for each in told]) == repr(plain), "NaN is unlike itself"
    extra = [each for found in told for each in found.numbers if not each.compared]
    assert all(found.state == "fired" for found in told if len(found.numbers) > 1)
    assert all((each.op, each.threshold) == (None, None) and abs(each.value) < float("inf") for each in extra)


def test_it_is_of_the_same_subject_before_that_of_the_host_and_never_of_another() -> None:
    made = rule(measure=Over(OVERFLOWS, "max"), beside=(Over(BUSY), Over("tcp.retrans_pct")))
    seen = view(
        lane(OVERFLOWS, 50, dev="eth0"), lane(BUSY, 1, dev="eth1"), lane(BUSY, 2), lane(BUSY, 3, dev="eth0"),
        lane("tcp.retrans_pct", 4),
    )  # fmt: skip
    found = one(made, seen)
    assert [(each.value, each.subject) for each in found.numbers[1:]] == [(3, None), (4, ())]
    others = one(made, view(lane(OVERFLOWS, 50, dev="eth0"), lane(BUSY, 1, dev="eth1")))
    assert len(others.numbers) == 1


def test_it_is_told_with_what_it_was_before() -> None:
    before = view(lane(BUSY, 7))
    found = one(rule(beside=(Over(BUSY),)), view(lane(OVERFLOWS, 50), lane(BUSY, 9), baseline=before))
    assert (found.numbers[1].value, found.numbers[1].baseline) == (9, 7)


def test_evidence_tells_the_compared_numbers_first_and_five_at_most() -> None:
    def told(name: str, *measures: str, beside: str) -> Finding:
        compared = tuple(Number(each, 2.0, "per_s", ">", 1.0, ()) for each in measures)
        return Finding(name, "fired", "warn", Grade.DIRECT, (("dev", "a"),),
                       (*compared, Number(beside, 3.0, "count", None, None, (), None, 0, ())))  # fmt: skip

    found = evidence(
        [told("A", "a", "b", beside="x"), told("B", "c", beside="x"), told("C", "d", beside="y")]
    )
    assert [each["metric"] for each in found] == ["a", "b", "c", "d", "x"]
    assert [each["op"] for each in found] == [">"] * 4 + [None]
    assert (found[0]["subject"], found[-1]["subject"], found[-1]["threshold"]) == ({"dev": "a"}, {}, None)


def test_a_finding_comes_back_as_it_was_stored_and_so_does_an_older_one() -> None:
    found = one(rule(beside=(Over(BUSY),)), view(lane(OVERFLOWS, 50, dev="eth0"), lane(BUSY, 9)))
    assert found.numbers[1].subject == ()
    kept = finding(found)
    assert read_finding(kept) == found
    for each in kept["numbers"]:
        del each["subject"]
    assert read_finding(kept).numbers[0] == found.numbers[0]


@pytest.mark.parametrize("made", [each for each in RULES.values() if each.beside], ids=lambda each: each.id)
def test_each_has_a_unit_a_title_and_a_light_collector(made) -> None:
    compared = {made.measure.id, *(each.read.id for also in made.also for each in ([also] if hasattr(also, "read") else also.conditions))}  # fmt: skip
    ids = [each.id for each in made.beside]
    assert len(ids) <= 4 and len(set(ids)) == len(ids) and not compared & set(ids)
    for read in made.beside:
        title = title_of(read)
        assert title.en and title.zh and isinstance(unit_of(read), str)
        needs = [sources()[read.metric]] if isinstance(read, Over) else read.needs
        own = {
            name
            for names in (made.measure.needs if not isinstance(made.measure, Over) else ())
            for name in names
        }
        for names in needs:
            assert own & set(names) or any(COLLECTORS[name].tier is Tier.LIGHT for name in names), (
                read.id,
                names,
            )
        assert not isinstance(read, Over) or read.metric in CATALOGUE


#: Causes that were named with fewer than three numbers on real faults.
FEW = (
    "memcg-oom-kill", "memory-leak", "jvm-heap-over-limit", "hardware-error", "clock-unsynchronised",
    "nic-link-degraded", "failing-disk", "dstate-pileup", "firewall-drop", "cpu-hot-function", "duplicate-logging",
    "ephemeral-port-exhaustion", "kernel-thread-busy", "listen-queue-overflow", "mtu-too-small", "qdisc-drop",
)  # fmt: skip


@pytest.mark.parametrize("cause", FEW)
def test_every_rule_that_names_it_can_tell_three_numbers(cause: str) -> None:
    naming = [each for each in RULES.values() if cause in each.causes and each.grade is not Grade.CONTEXT]
    few = [each.id for each in naming if 1 + len(each.also) + len(each.beside) < 3]
    assert naming and few in ([], ["F-IO-DUP-WRITE"]), "strace alone stands behind that one"
