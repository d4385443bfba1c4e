"""The shell that reads threads: one program that reads, one that adds up, and a clock that wakes the first."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

from importlib.resources import files

from collectors.shell.dedent import strip_indent
from collectors.shell.ticks import PAUSE

#: The first program pauses ten times a second with jitter: in itself, or else for `.t`, a pipe that a bash opens, because
#: a sleep is a process and costs more than the reading. Where neither is possible, it sleeps. mawk exits where a
#: task ends while it is read; then the program starts again, until the same end.
#: The runner lowers the priority to 19, with which a host that is out of CPU gives a program some milliseconds in ten
#: seconds: the first walk took 90 s with 28 busy threads on two CPUs. So root raises it again to 0: the program keeps to
#: a budget of CPU time itself. `renice` without `-n`, because some add that number to the niceness.
_SH = r"""
LC_ALL=C
export LC_ALL
trap ': >.over' TERM
renice 0 -p $$ >/dev/null 2>&1
f= T=
if [ -z "${CULPRIT_PAUSE-}" ] && command -v bash >/dev/null && mkfifo .t .z 2>/dev/null; then
  f=1
  bash -c 'trap "" TERM; exec 3<>.z; while :; do for z in .09 .11 .08 .12 .1; do read -rt $z x <&3; : >.t; done; done' &
  T=$!
fi
m=$(uname -m) s=$(command -v ss)
read -r u x </proc/uptime
e=$(((${u%.*} + SECS) * 1000))
(
  trap '' TERM
  n=0 l=
  while [ $n -lt 30 ] && ! awk -v only="${TARGET_PIDS-}" -v secs="$SECS" -v until="$l" -v again=$n -v fifo="$f" -v machine="$m" -v ss="$s" '@READ@' 2>.err; do
    n=$((n + 1)) l=$e
  done | awk -v only="${TARGET_PIDS-}" -v machine="$m" -v order_threads="sort -t '	' -k8,8nr -k6,6nr | head -n 400" -v order_wchans="sort -t '	' -k4,4nr | head -n 50" '@SUM@'
) &
wait $!
wait $!
[ -z "$T" ] || { kill -9 $T; wait $T; } 2>/dev/null
[ -s .err ] && head -n 3 .err >&2
exit 0
"""


def build_thread_script() -> str:
    """Return the script, with both programs and without their comments."""
    text = strip_indent(_SH)
    for mark, name in (("@READ@", "threads_read.awk"), ("@SUM@", "threads_sum.awk")):
        program = PAUSE + (files("collectors") / "shell" / name).read_text(encoding="ascii")
        lines = (line.strip() for line in program.splitlines())
        program = "\n".join(line for line in lines if line and not line.startswith("#"))
        text = text.replace(mark, program.replace("'", "'\\''"))
    return text
