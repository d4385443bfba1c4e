"""Related numbers: which ones a match shows, with what title, and that they never affect a result."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Finding, Number, Strength
from culprit.domain.rules.json_form import MAX_EVIDENCE, evidence_to_json, finding_from_json, finding_to_json
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.readings import collectors_by_metric, get_title, get_unit
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.rule import MetricReading
from culprit.json_types import Json
from culprit.tests.domain.rules.test_engine import BUSY, OVERFLOWS, evaluate_rule, rule, view
from culprit.tests.domain.rules.test_engine import build_series as build_series_of
from culprit.tests.domain.rules.test_seeds import HERE, WITH_TEXT, evaluate_case
from culprit.tests.domain.rules.test_seeds import view as case_view
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract import Tier
from collectors.metrics.registry import METRICS as CATALOG
from collectors.registry import COLLECTORS

#: Collectors of every light plan, as captured on a host without a match.
LIGHT = dict.fromkeys(("meminfo", "cpu_stat", "loadavg"), "debian-12-kernel6.18") | {
    "vmstat": "debian-12-procps4.0.2"
}
#: TCP counters of a host under load.
TRAFFIC = ("network", "F-NET-SYN-RETRANS", "lossy-path")
#: (rule, its case) → its related numbers, in order. Of a cause with several rules, those that name it first.
RELATED_MEASURES = {
    ("F-MEM-OOM-CGROUP", "memory/kill-in-group"): (
        "cgroup.memory_limit_mb", "cgroup.killed_anon_mb", "cgroup.memory_most_mb",
    ),
    ("F-MEM-OOM-HOST", "memory/host-out-of-memory"): ("host.killed_anon_mb",),
    ("F-MEM-GROWTH", "memory/real-leak"): ("proc.anon_mb", "proc.anon_growth_mb_per_s", "proc.growing_steps"),
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
    ("F-KTHREAD-STARVES", "cpu/ksmd-and-a-waiting-service"): (
        "sched.delay_ms_per_turn", "cpu.total_busy_pct.mean", "sched.runq_per_cpu.held",
    ),
    ("F-NET-LISTEN-OVERFLOW", "network/overflowing"): ("tcp.passive_opens_per_s.mean", "tcp.listen_drops_per_s.mean"),
    ("F-NET-BACKLOG-SMALL", "network/nearly-full"): (
        "listener.queue_max", "listener.backlog", "tcp.passive_opens_per_s.mean",
    ),
    ("F-NET-MTU-SMALL", "network/a-thousand"): ("links.too_long_pct", "tcp.retrans_pct.mean"),
    ("F-NET-MTU-MISMATCH", "network/eth1"): (
        "links.mtu_bytes", "links.peer_mtu_bytes", "links.too_long_pct", "tcp.retrans_pct.mean",
    ),
    ("F-NET-QDISC-DROP", "network/tbf"): ("qdisc.sent_per_s", "tcp.retrans_pct.mean", "qdisc.waiting_packets"),
}  # fmt: skip


def step_of(file: str, rule_id: str, step: str) -> Json:
    steps = yaml.safe_load((HERE / "cases" / f"{file}.yaml").read_text())
    return next(each for each in steps if (each["step"], each.get("rule")) == (step, rule_id))


def case(name: str, rule_id: str) -> Json:
    """Return the step of a case, with the light collectors of any host."""
    file, _, step = name.partition("/")
    result = step_of(file, rule_id, step)
    parts, captured = result.get("parts", {}), result.get("fixture", {})
    traffic = step_of(*TRAFFIC)["parts"]
    # A kill counts for some minutes by the clock of meminfo: that of another day would make it an old one.
    left_out = {*parts, *captured, *(["meminfo"] if "kmsg" in parts else [])}
    light = {name: folder for name, folder in LIGHT.items() if name not in left_out}
    return result | {"parts": {**traffic, **parts}, "fixture": captured | light}


@pytest.mark.parametrize(
    ("which", "measures"),
    RELATED_MEASURES.items(),
    ids=lambda item: "/".join(item) if "F-" in item[0] else "",
)
def test_matching_case_shows_related_numbers(which: tuple[str, str], measures: tuple[str, ...]) -> None:
    result = evaluate_case(case(which[1], which[0]))
    assert result.state == "matched"
    numbers = [each for each in result.numbers if not each.is_compared]
    assert tuple(each.measure for each in numbers) == measures
    assert result.numbers[: len(result.numbers) - len(measures)] == tuple(
        each for each in result.numbers if each.is_compared
    )
    assert all(each.citations and each.citations[0].artifact for each in numbers)
    assert all(each.subject is None or set(each.subject) < set(result.subject) for each in numbers)
    assert len(evidence_to_json([result])) == min(MAX_EVIDENCE, len(result.numbers))


@pytest.mark.parametrize("step", WITH_TEXT)
def test_related_numbers_do_not_change_state_or_ranking(step: Json) -> None:
    """Every case fires, does not match or is in doubt with it as without, and names and rules out the same."""
    seen, result = case_view(step), RULES[step["rule"]]
    bare = replace(result, related=())
    with_, without = evaluate_rules([result], seen), evaluate_rules([bare], seen)
    assert [only_compared(each) for each in with_] == without
    rules, bare_rules = dict(RULES), {**RULES, result.id: bare}
    assert shape(rank_causes(with_, rules, CAUSES)) == shape(rank_causes(without, bare_rules, CAUSES))


def only_compared(finding: Finding) -> Finding:
    return replace(finding, numbers=tuple(each for each in finding.numbers if each.is_compared))


def build_series(metric: str, *values: float, **labels: str):
    return build_series_of(metric, *values, collector=collectors_by_metric()[metric][0], **labels)


def shape(result) -> object:
    causes = [(each.cause, each.confidence, each.scope, each.explains) for each in result.causes]
    return causes, [each.cause for each in result.ruled_out], result.not_checked, result.open


METRICS = (OVERFLOWS, BUSY, "tcp.retrans_pct", "mem.available_pct")
FINITE = st.lists(st.floats(-1e12, 1e12) | st.just(float("nan")), min_size=1, max_size=4)
VALUES = FINITE | st.sampled_from([[float("inf")], [float("-inf")]])


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(METRICS).map(MetricReading), max_size=4),
    st.lists(st.tuples(st.sampled_from(METRICS), VALUES, st.sampled_from(["", "a", "b"])), max_size=6),
)
def test_related_numbers_do_not_change_findings(related, series_list) -> None:
    seen = view(
        *(
            build_series(metric, *values, **({"dev": dev} if dev else {}))
            for metric, values, dev in series_list
        )
    )
    plain = evaluate_rules([rule()], seen)
    rules = evaluate_rules([rule(related=tuple(related))], seen)
    assert repr([only_compared(each) for each in rules]) == repr(plain), "NaN is unlike itself"
    extra = [each for rule in rules for each in rule.numbers if not each.is_compared]
    assert all(rule.state == "matched" for rule in rules if len(rule.numbers) > 1)
    assert all((each.op, each.threshold) == (None, None) and abs(each.value) < float("inf") for each in extra)


def test_it_is_of_the_same_subject_before_that_of_the_host_and_never_of_another() -> None:
    result = rule(
        measure=MetricReading(OVERFLOWS, "max"),
        related=(MetricReading(BUSY), MetricReading("tcp.retrans_pct")),
    )
    seen = view(
        build_series(OVERFLOWS, 50, dev="eth0"), build_series(BUSY, 1, dev="eth1"), build_series(BUSY, 2), build_series(BUSY, 3, dev="eth0"),
        build_series("tcp.retrans_pct", 4),
    )  # fmt: skip
    outcome = evaluate_rule(result, seen)
    assert [(each.value, each.subject) for each in outcome.numbers[1:]] == [(3, None), (4, ())]
    others = evaluate_rule(
        result, view(build_series(OVERFLOWS, 50, dev="eth0"), build_series(BUSY, 1, dev="eth1"))
    )
    assert len(others.numbers) == 1


def test_related_number_has_baseline() -> None:
    before = view(build_series(BUSY, 7))
    result = evaluate_rule(
        rule(related=(MetricReading(BUSY),)),
        view(build_series(OVERFLOWS, 50), build_series(BUSY, 9), baseline=before),
    )
    assert (result.numbers[1].value, result.numbers[1].baseline) == (9, 7)


def test_evidence_to_json_puts_compared_numbers_first() -> None:
    def make_finding(name: str, *measures: str, related: str) -> Finding:
        compared = tuple(Number(each, 2.0, "per_s", ">", 1.0, ()) for each in measures)
        return Finding(name, "matched", "warn", Strength.DIRECT, (("dev", "a"),),
                       (*compared, Number(related, 3.0, "count", None, None, (), None, 0, ())))  # fmt: skip

    result = evidence_to_json(
        [
            make_finding("A", "a", "b", related="x"),
            make_finding("B", "c", related="x"),
            make_finding("C", "d", related="y"),
        ]
    )
    assert [each["metric"] for each in result] == ["a", "b", "c", "d", "x"]
    assert [each["op"] for each in result] == [">"] * 4 + [None]
    assert (result[0]["subject"], result[-1]["subject"], result[-1]["threshold"]) == ({"dev": "a"}, {}, None)


def test_finding_from_json_restores_current_and_older_findings() -> None:
    result = evaluate_rule(
        rule(related=(MetricReading(BUSY),)),
        view(build_series(OVERFLOWS, 50, dev="eth0"), build_series(BUSY, 9)),
    )
    assert result.numbers[1].subject == ()
    stored = finding_to_json(result)
    assert finding_from_json(stored) == result
    for each in stored["numbers"]:
        del each["subject"]
    assert finding_from_json(stored).numbers[0] == result.numbers[0]


@pytest.mark.parametrize("item", [each for each in RULES.values() if each.related], ids=lambda each: each.id)
def test_each_has_a_unit_a_title_and_a_light_collector(item) -> None:
    compared = {item.measure.id, *(each.read.id for also in item.also for each in ([also] if hasattr(also, "read") else also.conditions))}  # fmt: skip
    ids = [each.id for each in item.related]
    assert len(ids) <= 4 and len(set(ids)) == len(ids) and not compared & set(ids)
    for read in item.related:
        title = get_title(read)
        assert title.en and title.zh and isinstance(get_unit(read), str)
        needs = [collectors_by_metric()[read.metric]] if isinstance(read, MetricReading) else read.needs
        own = {
            name
            for names in (item.measure.needs if not isinstance(item.measure, MetricReading) else ())
            for name in names
        }
        for names in needs:
            assert own & set(names) or any(COLLECTORS[name].tier is Tier.LIGHT for name in names), (
                read.id,
                names,
            )
        assert not isinstance(read, MetricReading) or read.metric in CATALOG


#: Causes that were named with fewer than three numbers on real faults.
FEW = (
    "memcg-oom-kill", "memory-leak", "jvm-heap-over-limit", "hardware-error", "clock-unsynchronised",
    "nic-link-degraded", "failing-disk", "dstate-pileup", "firewall-drop", "cpu-hot-function", "duplicate-logging",
    "ephemeral-port-exhaustion", "kernel-thread-busy", "listen-queue-overflow", "mtu-too-small", "qdisc-drop",
)  # fmt: skip


@pytest.mark.parametrize("cause", FEW)
def test_rules_of_cause_offer_three_numbers(cause: str) -> None:
    naming = [
        each for each in RULES.values() if cause in each.causes and each.strength is not Strength.CONTEXT
    ]
    few = [each.id for each in naming if 1 + len(each.also) + len(each.related) < 3]
    assert naming and few in ([], ["F-IO-DUP-WRITE"]), "only strace proves this cause"
