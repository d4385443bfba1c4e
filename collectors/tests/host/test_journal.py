"""The journal of a host, written by a real journald in namespaces of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.registry import COLLECTORS
from collectors.tests.support import BytesPart, context, read_rows

JOURNALD = Path("/lib/systemd/systemd-journald")
pytestmark = pytest.mark.skipif(
    not (JOURNALD.exists() and shutil.which("unshare") and shutil.which("systemd-cat")),
    reason="systemd-journald and unshare are needed",
)

_SHELL = r"""
mount -t tmpfs none /run && mkdir -p /run/systemd/journal /run/log/journal || exit 1
@JOURNALD@ > /run/journald.log 2>&1 &
for i in $(seq 100); do [ -S /run/systemd/journal/stdout ] && break; sleep 0.1; done
while :; do
  echo 'accept4() failed (24: Too many open files)' | systemd-cat -t edge
  echo '10.0.0.9 - - [28/Nov/2026:09:00:00 +0000] "GET /a HTTP/1.1" 502 157 "-" "curl"' | systemd-cat -t shop
  sleep 0.2
done &
exec "$PYTHON" -c "
from collectors.registry import COLLECTORS
from collectors.tests.record_fixtures import run_script
collector = COLLECTORS['server_logs']
left = run_script(collector, collector.methods[0], 4)
print(left.parts['stdout'].decode(), end='')
"
"""


def test_lines_of_the_journal_are_divided_by_program() -> None:
    command = ["unshare", "-m", "-p", "-f", "--mount-proc", "--propagation", "private", "sh", "-c"]
    shell = _SHELL.replace("@JOURNALD@", str(JOURNALD)).replace("$PYTHON", sys.executable)
    done = subprocess.run([*command, shell], capture_output=True, timeout=60, check=True)
    parsed = COLLECTORS["server_logs"].parse({"stdout": BytesPart(done.stdout)}, context())
    assert parsed.readable, done.stderr
    logs = {row["comm"]: row for row in read_rows(parsed, "growing_logs") if row["path"] == "journal"}
    assert {"edge", "shop"} <= logs.keys()
    assert logs["edge"]["lines"] == logs["edge"]["same"] >= 2
    assert logs["edge"]["free"] is None, "journald limits the size of its files itself"
    (answers,) = read_rows(parsed, "answers")
    assert (answers["comm"], answers["failed"], answers["worst"]) == ("shop", answers["requests"], 502)
    (message,) = read_rows(parsed, "limit_messages")
    assert (message["comm"], message["kind"]) == ("edge", "files_full")
