"""What collectors touch of a process is declared, and nothing of a process is executed or opened by its path."""

from __future__ import annotations

import re

import pytest

from collectors.contract import Collector, Script, TargetAccess
from collectors.registry import COLLECTORS

EVERY = pytest.mark.parametrize("collector", COLLECTORS.values(), ids=COLLECTORS.keys())
#: Paths that lead into what a process other than the shell controls. They may be read as links, and in no other method.
INSIDE = re.compile(r"/proc/(?!\$\$/)[^\s;|&<>()]*/(?:root|cwd|exe|map_files)\b")
AS_LINK = re.compile(r'readlink "?/proc/[^\s;|&<>()]*/(?:root|cwd|exe)\b')
#: What opens bytes of a file that a process controls: the helper, a held descriptor, perf and bpftrace for names.
OPENS_FILES = re.compile(r"enter_target |read_end |perf probe|ustack|\bip,sym\b")


def scripts(collector: Collector) -> list[str]:
    return [method.sh for method in collector.methods if isinstance(method, Script)]


@EVERY
def test_every_collector_declares_what_it_touches(collector: Collector) -> None:
    assert all(isinstance(touch, TargetAccess) for touch in collector.touches)
    text = "\n".join(
        method.sh if isinstance(method, Script) else "\n".join(method.files) for method in collector.methods
    )
    checks_at_processes = re.search(r"\bTARGET_PIDS?\b|nsenter|/proc/(?:\$|\[0-9\]|\*)", text)
    assert not checks_at_processes or collector.touches
    assert bool(OPENS_FILES.search(text)) is (TargetAccess.FILES in collector.touches)


@EVERY
def test_no_path_of_a_process_is_executed_or_opened(collector: Collector) -> None:
    for sh in scripts(collector):
        assert len(INSIDE.findall(sh)) == len(AS_LINK.findall(sh)), INSIDE.findall(sh)
        assert "jcmd PID" not in sh and not re.search(r"\bchroot [\"$/]", sh)


@EVERY
def test_only_the_network_of_a_process_is_entered(collector: Collector) -> None:
    """Its mounts hold its programs; those found there would run with the rights of root."""
    for sh in scripts(collector):
        for options in re.findall(r"\bnsenter +(-[^;\n]*)", sh):
            assert re.match(r'-t "?\$TARGET_PID"? -n(?=[ "])(?! -)', options), options


def test_what_opens_files_reads_no_settings_and_asks_no_server() -> None:
    for collector in COLLECTORS.values():
        for sh in scripts(collector):
            if re.search(r'(?:perf"?|bpftrace) (?:record|script|probe|trace|stat)|bpftrace \.program', sh):
                assert "DEBUGINFOD_URLS= " in sh or "DEBUGINFOD_URLS=\n" in sh, collector.id
