"""Every script of every collector, really run for two seconds under dash and busybox ash.

Those that do not want the host for themselves run side by side, as they do in a capture.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from collectors.contract import Collector, Context, Parsed, Script
from collectors.registry import COLLECTORS
from collectors.tests.record_fixtures import run_script
from collectors.tests.recorder import Left
from collectors.tests.support import BytesPart, here, read_rows

pytestmark = pytest.mark.long(150)
SIDE_BY_SIDE = 4
SHELLS = [shell for shell in ("dash", "busybox ash") if shutil.which(shell.split()[0])]
SCRIPTS = [
    (collector, method)
    for collector in COLLECTORS.values()
    for method in collector.methods
    if isinstance(method, Script)
]
#: Read what the host recorded earlier; a host without records may report that.
READS_RECORDS = {"sar_history", "atop_history", "journal"}
#: Search for something that a healthy host does not have.
MAY_FIND_NOTHING = {"kmsg", "log_repeats", "scheduled_jobs"}
ENGINES = ("docker", "podman", "crictl")  # installed does not mean that a daemon runs
NAMES = [f"{item.id}-{method.name}" for item, method in SCRIPTS]
#: This very process, for methods that look at one.
TARGET = {"TARGET_KIND": "process", "TARGET_PID": str(os.getpid()), "TARGET_PIDS": str(os.getpid())}


def parsed(collector: Collector, method: Script, parts: dict[str, bytes]) -> Parsed:
    return collector.parse({n: BytesPart(d) for n, d in parts.items()}, Context(here(), method.name, 2.0))


def excuse(method: Script, shell: str | None) -> str:
    """Why a method is not run here; '' where it is. Without a shell: as `nobody`."""
    missing = [tool for tool in method.needs.tool_names if not shutil.which(tool)]
    if shell is None and (method.needs.root or method.needs.target):
        return "the runner does not start it without root, or without a target"
    if missing or (method.needs.perf and os.geteuid()):
        return f"needs {missing or 'root'}"
    return ""


def run(collector: Collector, method: Script, shell: str | None = None) -> Left:
    """Under a shell for two seconds; without one as `nobody`, for one."""
    if shell is None:
        return run_script(collector, method, 1, "dash", {"RUN_AS": "nobody"})
    return run_script(collector, method, 2, shell, TARGET if method.needs.target else None)


@pytest.fixture(scope="module")
def parallel_results(request: pytest.FixtureRequest) -> Iterator[Mapping[str, Future[Left]]]:
    """Results of the scripts that run in parallel, by the name of the test that checks them."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        begun = {}
        for item in request.session.items:
            if (
                isinstance(item, pytest.Function)
                and item.path == request.path
                and "left" in item.fixturenames
            ):
                params = item.callspec.params
                if not params["collector"].exclusive and not excuse(params["method"], params.get("shell")):
                    begun[item.name] = pool.submit(run, **params)
        yield begun
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def left(request: pytest.FixtureRequest, parallel_results: Mapping[str, Future[Left]]) -> Left:
    """What the script of this test has left."""
    params = request.node.callspec.params
    if why := excuse(params["method"], params.get("shell")):
        pytest.skip(why)
    begun = parallel_results.get(request.node.name)
    return begun.result() if begun else run(**params)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("collector", "method"), SCRIPTS, ids=NAMES)
def test_a_script_leaves_what_its_parser_reads(
    collector: Collector, method: Script, shell: str, left: Left
) -> None:
    """Real tools, real kernel: no excuse but a tool that this machine lacks or may not use."""
    may_be_absent = collector.on_demand or collector.id in READS_RECORDS or method.name in ENGINES
    if left.exit_code == 69 and (collector.options or may_be_absent):
        pytest.skip(f"asks for more than there is here: {left.stderr[-200:]}")
    assert left.exit_code == 0, left.stderr
    result = parsed(collector, method, left.parts)
    assert result.readable, result.warnings
    yields = result.series or result.events or result.profiles or result.tables or result.facts
    assert yields or collector.id in MAY_FIND_NOTHING or collector.on_demand


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("collector", "method"), SCRIPTS, ids=NAMES)
def test_a_script_parses_under_every_shell(collector: Collector, method: Script, shell: str) -> None:
    """`-n` reads without running."""
    done = subprocess.run([*shell.split(), "-n"], input=method.sh.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to change the user")
@pytest.mark.parametrize(("collector", "method"), SCRIPTS, ids=NAMES)
def test_a_script_without_rights_falls_back_or_works(
    collector: Collector, method: Script, left: Left
) -> None:
    """As `nobody`, a method either yields data or exits with 69, so that the next one is tried."""
    if left.exit_code == 0:
        assert parsed(collector, method, left.parts).readable
    else:
        assert left.exit_code == 69
        assert not {"perf.data", "sched.data"} & left.parts.keys()
        assert left.stderr.strip()


@pytest.mark.parametrize(
    ("collector_id", "kind", "column"),
    [
        ("limits", "limits", "where"),
        ("fd_table", "fd_counts", "pid"),
        ("proc_schedstat", "sched_delay", "pid"),
    ],
)
def test_a_target_is_added_to_the_host(collector_id: str, kind: str, column: str) -> None:
    """A cause is often elsewhere on the host: rows of other processes stay, and the target is among them."""
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            collector = COLLECTORS[collector_id]
            method = next(item for item in collector.methods if isinstance(item, Script))
            target = {"TARGET_KIND": "process", "TARGET_PID": str(child.pid), "TARGET_PIDS": str(child.pid)}
            result = parsed(collector, method, run_script(collector, method, 2, "dash", target).parts)
            pids = {str(row[column]) for row in read_rows(result, kind)}
            busy = {pid for pid in pids if pid.isdecimal()} - {str(child.pid)}
            assert (str(child.pid) in pids or collector_id == "proc_schedstat") and busy
        finally:
            child.kill()
