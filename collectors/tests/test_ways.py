"""Every script of every collector, really run for two seconds under dash and busybox ash."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from collectors.contract import Collector, Context, Parsed, Script
from collectors.registry import COLLECTORS
from collectors.tests.record_fixtures import run_script
from collectors.tests.support import BytesPart, here

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


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("collector", "way"), SCRIPTS, ids=NAMES)
def test_a_script_leaves_what_its_parser_reads(collector: Collector, way: Script, shell: str) -> None:
    """Real tools, real kernel: no excuse but a tool that this machine lacks or may not use."""
    missing = [tool for tool in way.needs.tools if not shutil.which(tool)]
    if missing or (way.needs.perf and os.geteuid()):
        pytest.skip(f"needs {missing or 'root'}")
    left = run_script(collector, way, 2, shell, TARGET if way.needs.target else None)
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
def test_a_script_without_rights_falls_back_or_works(collector: Collector, way: Script) -> None:
    """As nobody, a way either yields or says by 69 that it cannot, so that the next one is tried."""
    if [tool for tool in way.needs.tools if not shutil.which(tool)]:
        pytest.skip("tool missing")
    if way.needs.root or way.needs.target:
        pytest.skip("the runner does not start it without root, or without a target")
    left = run_script(collector, way, 1, "dash", {"RUN_AS": "nobody"})
    if left.exit_code == 0:
        assert parsed(collector, way, left.parts).readable
    else:
        assert left.exit_code == 69
        assert not {"perf.data", "sched.data"} & left.parts.keys()
        assert left.stderr.strip()
