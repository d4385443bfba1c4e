"""Formats of control groups and engines that this machine does not have. All of it is synthetic."""

from __future__ import annotations

import pytest

from collectors.contract import Table
from collectors.registry import COLLECTORS
from collectors.tests.support import context, part

V2 = "mount /sys/fs/cgroup cgroup2\n"
TOP = "/sys/fs/cgroup"


def build_samples(*moments: tuple[float, dict[str, str]], mounts: str = V2, rest: str = "") -> str:
    """Files by path at moments, as the script prints them."""
    out = [mounts.rstrip("\n")]
    for tick, (seconds, files) in enumerate(moments):
        out.append(f"@ {tick} {seconds:.2f}")
        out += [f"{path}:{line}" for path, text in files.items() for line in text.split("\n")]
    return "\n".join(out) + "\n" + rest


def tables(collector: str, text: str) -> dict[str, list[dict[str, object]]]:
    """Rows by name of column, by kind; each row also holds its line of the text."""
    parsed = COLLECTORS[collector].parse({"stdout": part(text)}, context())
    assert parsed.readable, parsed.warnings
    lines = text.split("\n")
    return {table.kind: [*_rows(table, lines)] for table in parsed.tables}


def _rows(table: Table, lines: list[str]):
    names = [column.id for column in table.columns]
    for row, number in zip(table.rows, table.lines, strict=True):
        yield {**dict(zip(names, row, strict=True)), "line": lines[number - 1]}


def cpu(periods: int, throttled: int, used_us: int) -> str:
    return f"usage_usec {used_us}\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {throttled * 50_000}"


def test_cpu_of_v2_takes_the_smallest_quota_up_the_tree() -> None:
    before = {
        f"{TOP}/kube/cpu.max": "50000 100000",
        f"{TOP}/kube/cpu.stat": cpu(10, 0, 0),
        f"{TOP}/kube/pod:a b/cpu.max": "max 100000",
        f"{TOP}/kube/pod:a b/cpu.stat": cpu(0, 0, 0),
    }
    after = {**before, f"{TOP}/kube/cpu.stat": cpu(30, 15, 1_000_000), f"{TOP}/kube/cgroup.threads": "4"}
    after[f"{TOP}/kube/pod:a b/cgroup.threads"] = "3"
    top, pod = tables("cgroup_cpu", build_samples((10.0, before), (12.0, after)))["cgroup_cpu"]
    assert (top["quota_cores"], top["own_quota_cores"], top["periods"], top["throttled_periods"]) == (
        0.5,
        0.5,
        20,
        15,
    )
    assert top["throttled_pct"] == 75.0 and top["usage_cores"] == 0.5
    assert top["throttled_s"] == pytest.approx(0.75)
    assert top["threads"] == 7 and top["line"] == f"{TOP}/kube/cpu.stat:nr_throttled 15"
    assert (pod["path"], pod["quota_cores"], pod["own_quota_cores"]) == ("/kube/pod:a b", 0.5, None)


def test_a_cpu_counter_that_fell_is_no_data() -> None:
    before = {f"{TOP}/a/cpu.max": "1000 1000", f"{TOP}/a/cpu.stat": cpu(10, 5, 100)}
    after = {f"{TOP}/a/cpu.max": "1000 1000", f"{TOP}/a/cpu.stat": cpu(3, 1, 50)}
    [row] = tables("cgroup_cpu", build_samples((1.0, before), (2.0, after)))["cgroup_cpu"]
    assert (row["periods"], row["throttled_pct"], row["usage_cores"]) == (None, None, None)


def memory(refaults: int, hits: int, kills: int) -> dict[str, str]:
    return {
        f"{TOP}/app/memory.max": "104857600",
        f"{TOP}/app/memory.current": "94371840",
        f"{TOP}/app/memory.stat": f"anon 52428800\nfile 41943040\npgmajfault {refaults}\nworkingset_refault_file {refaults}",
        f"{TOP}/app/memory.events": f"max {hits}\noom_kill {kills}",
        f"{TOP}/app/memory.pressure": "some avg10=12.50 avg60=1.00 avg300=0.10 total=5\nfull avg10=3.25 avg60=0 avg300=0 total=1",
    }


def test_memory_of_v2() -> None:
    [row] = tables("cgroup_mem", build_samples((1.0, memory(100, 1, 0)), (5.0, memory(900, 4, 1))))[
        "cgroup_mem"
    ]
    assert (row["limit_kb"], row["usage_kb"], row["usage_pct"], row["anon_pct"]) == (
        102_400,
        92_160,
        90.0,
        50.0,
    )
    assert (row["limit_hits"], row["oom_kills"], row["oom_kills_ever"]) == (3, 1, 1)
    assert (row["refault_file_per_s"], row["pgmajfault_per_s"]) == (200.0, 200.0)
    assert (row["psi_some_avg10"], row["psi_full_avg10"]) == (12.5, 3.25)


@pytest.mark.parametrize("unlimited", ["9223372036854771712", "9223372036854710272"])
def test_memory_of_v1_without_a_limit(unlimited: str) -> None:
    top = "/sys/fs/cgroup/memory"
    files = {f"{top}/a/memory.limit_in_bytes": unlimited, f"{top}/a/memory.usage_in_bytes": "4096"}
    text = build_samples((1.0, files), (2.0, files), mounts=f"mount {top} cgroup\n")
    [row] = tables("cgroup_mem", text)["cgroup_mem"]
    assert (row["path"], row["limit_kb"], row["usage_kb"], row["usage_pct"]) == ("/a", None, 4.0, None)


@pytest.mark.parametrize(
    ("cpus", "mems", "mismatch"), [("0-1", "1", "disjoint"), ("0-2", "1", "partial"), ("2-3", "1", "none")]
)
def test_sets_that_do_not_fit(cpus: str, mems: str, mismatch: str) -> None:
    files = {f"{TOP}/a/cpuset.cpus.effective": cpus, f"{TOP}/a/cpuset.mems.effective": mems}
    nodes = "".join(f"/sys/devices/system/node/node{n}/cpulist:{2 * n}-{2 * n + 1}\n" for n in (0, 1))
    status = f"/proc/7/status:Name:\tapp\n/proc/7/status:Cpus_allowed_list:\t{cpus}\n/proc/7/status:Mems_allowed_list:\t{mems}\n"
    result = tables("cgroup_cpuset", build_samples((1.0, files), (2.0, files), rest=nodes + status))
    for row in (*result["cgroup_cpuset"], *result["process_cpuset"]):
        assert (row["cpus"], row["mems"], row["mismatch"]) == (cpus, mems, mismatch)


HEAD = (
    "container\tid\tname\tstate\tpid\texit_code\toom_killed\trestarts\tstarted\tfinished\tnano_cpus\tquota\tperiod\t"
    "memory\tpids_limit\tcpuset\treason\n"
)


def test_containers_of_docker_and_crictl() -> None:
    never = "0001-01-01T00:00:00Z"
    rows = (
        f"c\t{'ab' * 32}\t/web\trunning\t7\t0\tfalse\t3\t2026-01-01T00:00:00Z\t{never}\t1500000000\t0\t0\t0\t<nil>\t0-1\t\n"
        "c\tcafe\tapi\tCONTAINER_EXITED\t0\t137\t\t2\tx\ty\t\t20000\t100000\t67108864\t\t\tOOMKilled\n"
        "c\tcafe\tshort\n"
    )
    web, api = tables("container_state", HEAD + rows)["containers"]
    assert (web["name"], web["state"], web["pid"], web["oom_killed"], web["restarts"]) == (
        "web",
        "running",
        7,
        0,
        3,
    )
    assert (web["finished"], web["limit_cores"], web["memory_limit_kb"], web["pids_limit"]) == (
        None,
        1.5,
        None,
        None,
    )
    assert (api["state"], api["exit_code"], api["oom_killed"], api["limit_cores"]) == ("exited", 137, 1, 0.2)
    assert api["memory_limit_kb"] == 65_536


def test_pages_of_a_process_bound_to_another_node() -> None:
    text = (
        "pages\tpid\tpolicy\tkind\tpage_kb\tnode\tpages\n"
        "n\t7\tbind:1\tanon\t4\t1\t2000\nn\t7\tdefault\tfile\t4\t0\t500\nn\t7\tbind:1\tanon\t2048\t1\t1\n"
    )
    rows = tables("numa_maps", text)["numa_maps"]
    assert [row["memory_kb"] for row in rows] == [8000, 2000, 2048]
    assert rows[1]["node_pct"] == pytest.approx(100 * 2000 / 12_048)


def test_io_of_v2_reads_limits_of_a_device_and_pressure() -> None:
    """Formats of `io.max`, `io.stat` and `io.pressure` as Documentation/admin-guide/cgroup-v2.rst shows them."""
    group = f"{TOP}/kube/pod"
    before = {
        f"{group}/io.max": "8:16 rbps=2097152 wbps=max riops=max wiops=120",
        f"{group}/io.stat": "8:16 rbytes=1000 wbytes=2000 rios=10 wios=100 dbytes=0 dios=0",
        f"{group}/io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=500000",
    }
    after = before | {
        f"{group}/io.stat": "8:0 rbytes=9 wbytes=9 rios=9 wios=9 dbytes=0 dios=0\n"
        "8:16 rbytes=4195304 wbytes=2000 rios=90 wios=340 dbytes=0 dios=0",
        f"{group}/io.pressure": "some avg10=99.00 avg60=0.00 avg300=0.00 total=3000000\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000",
    }
    parsed = tables("cgroup_io", build_samples((10.0, before), (12.0, after), rest="device 8:16 sdb\n"))
    reads, writes = parsed["cgroup_io"]
    assert (reads["path"], reads["dev"], reads["limit"]) == ("/kube/pod", "sdb", "read bytes")
    assert reads["used_pct"] == pytest.approx(100.0) and reads["limit_per_s"] == 2097152
    assert (writes["limit"], writes["used_per_s"], writes["used_pct"]) == ("writes", 120.0, 100.0)
    assert reads["line"] == f"{group}/io.max:8:16 rbps=2097152 wbps=max riops=max wiops=120"
    [pressure] = parsed["cgroup_pressure"]
    assert (pressure["resource"], pressure["some_pct"], pressure["full_pct"]) == ("io", 100.0, 25.0)


def test_io_limit_without_requests_is_unused_and_without_counters_unknown() -> None:
    group = f"{TOP}/a"
    limit = {f"{group}/io.max": "8:16 rbps=2097152 wbps=max riops=max wiops=max"}
    unused = limit | {f"{group}/io.stat": "8:0 rbytes=1 wbytes=0 rios=1 wios=0 dbytes=0 dios=0"}
    [row] = tables("cgroup_io", build_samples((10.0, unused), (12.0, unused)))["cgroup_io"]
    assert (row["dev"], row["used_pct"]) == ("8:16", 0.0)
    [row] = tables("cgroup_io", build_samples((10.0, limit), (12.0, limit)))["cgroup_io"]
    assert row["used_pct"] is None
