"""Writers take turns: none waits indefinitely, none writes into another's frame, and all learn of a stop."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from collectors.tests.host.harness import SHELLS

HOST = Path(__file__).parents[2] / "runner" / "scripts"
WRITERS = 5
ROUNDS = 3000
PROGRAM = f"""
. {HOST}/base.sh
open_output_lock
echo t >&5
release_output
for w in {" ".join(map(str, range(WRITERS)))}; do
  (
    n=0 STOP=
    # Each goes on until it has had all its turns and knows.
    while [ $n -lt {ROUNDS} ] || [ -z "$STOP" ]; do
      acquire_output
      printf '<'
      printf '>\\n'
      release_output
      n=$((n + 1))
      [ $w != 0 ] || [ $n != {ROUNDS // 2} ] || {{ wait_for_output; read -r L_ <&5; echo scancel >&5; release_output; }}
    done
    acquire_output
    echo "end $STOP"
    release_output
  ) &
done
wait
"""


@pytest.mark.parametrize("shell", SHELLS)
def test_many_writers(shell: str) -> None:
    message = subprocess.run(
        [*shlex.split(SHELLS[shell]), "-c", PROGRAM], capture_output=True, text=True, timeout=60
    )
    lines = message.stdout.splitlines()
    assert lines.count("end cancel") == WRITERS
    assert set(lines) == {"<>", "end cancel"}
    assert lines.count("<>") >= WRITERS * ROUNDS
