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
from collectors.tests.support import BytesPart, here

pytestmark = pytest.mark.long(100)
SIDE_BY_SIDE = 4
SHELLS = [shell for shell in ("dash", "busybox ash") if shutil.which(shell.split()[0])]
SCRIPTS = [(one, way) for one in COLLECTORS.values() for way in one.ways if isinstance(way, Script)]
#: Read what the host had recorded before; a machine that recorded nothing may say so.
LOOKS_BACK = {"sar_history", "atop_history", "journal"}
#: Look for something that a healthy machine does not have.
MAY_FIND_NOTHING = {"kmsg", "log_repeats"}
ENGINES = ("docker", "podman", "crictl")  # installed does not mean that a daemon runs
NAMES = [f"{one.id}-{way.name}" for one, way in SCRIPTS]
#: This very process, for ways that look at one.
TARGET = {"TARGET_KIND": "process", "TARGET_PID": str(os.getpid()), "TARGET_PIDS": str(os.getpid())}


def parsed(collector: Collector, way: Script, parts: dict[str, bytes]) -> Parsed:
    return collector.parse({n: BytesPart(d) for n, d in parts.items()}, Context(here(), way.name, 2.0))


def excuse(way: Script, shell: str | None) -> str:
    """Why a way is not run here; '' where it is. Without a shell: as nobody."""
    missing = [tool for tool in way.needs.tools if not shutil.which(tool)]
    if shell is None and (way.needs.root or way.needs.target):
        return "the runner does not start it without root, or without a target"
    if missing or (way.needs.perf and os.geteuid()):
        return f"needs {missing or 'root'}"
    return ""


def run(collector: Collector, way: Script, shell: str | None = None) -> Left:
    """Under a shell for two seconds; without one as nobody, for one."""
    if shell is None:
        return run_script(collector, way, 1, "dash", {"RUN_AS": "nobody"})
    return run_script(collector, way, 2, shell, TARGET if way.needs.target else None)


@pytest.fixture(scope="module")
def beside(request: pytest.FixtureRequest) -> Iterator[Mapping[str, Future[Left]]]:
    """What runs side by side, by the name of the test that looks at it."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        begun = {}
        for item in request.session.items:
            if (
                isinstance(item, pytest.Function)
                and item.path == request.path
                and "left" in item.fixturenames
            ):
                asked = item.callspec.params
                if not asked["collector"].exclusive and not excuse(asked["way"], asked.get("shell")):
                    begun[item.name] = pool.submit(run, **asked)
        yield begun
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def left(request: pytest.FixtureRequest, beside: Mapping[str, Future[Left]]) -> Left:
    """What the script of this test has left."""
    asked = request.node.callspec.params
    if why := excuse(asked["way"], asked.get("shell")):
        pytest.skip(why)
    begun = beside.get(request.node.name)
    return begun.result() if begun else run(**asked)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("collector", "way"), SCRIPTS, ids=NAMES)
def test_a_script_leaves_what_its_parser_reads(
    collector: Collector, way: Script, shell: str, left: Left
) -> None:
    """Real tools, real kernel: no excuse but a tool that this machine lacks or may not use."""
    may_be_absent = collector.on_demand or collector.id in LOOKS_BACK or way.name in ENGINES
    if left.exit_code == 69 and (collector.options or may_be_absent):
        pytest.skip(f"asks for more than there is here: {left.stderr[-200:]}")
    assert left.exit_code == 0, left.stderr
    found = parsed(collector, way, left.parts)
    assert found.readable, found.warnings
    yields = found.series or found.events or found.profiles or found.tables or found.facts
    assert yields or collector.id in MAY_FIND_NOTHING or collector.on_demand


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("collector", "way"), SCRIPTS, ids=NAMES)
def test_a_script_parses_under_every_shell(collector: Collector, way: Script, shell: str) -> None:
    """`-n` reads without running."""
    done = subprocess.run([*shell.split(), "-n"], input=way.sh.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
@pytest.mark.parametrize(("collector", "way"), SCRIPTS, ids=NAMES)
def test_a_script_without_rights_falls_back_or_works(collector: Collector, way: Script, left: Left) -> None:
    """As nobody, a way either yields or says by 69 that it cannot, so that the next one is tried."""
    if left.exit_code == 0:
        assert parsed(collector, way, left.parts).readable
    else:
        assert left.exit_code == 69
        assert not {"perf.data", "sched.data"} & left.parts.keys()
        assert left.stderr.strip()
