"""Pauses of an awk program without two processes for each of them.

A pause by `system("sleep 1")` starts a shell and a sleep. gawk reads a pipe with a time limit, so it waits for a pipe
of the run that stays empty. Elsewhere, where there is bash, which has a pause of its own, one process opens a named
pipe at an interval, and awk waits for it. awk cannot read the lines of one long-lived program: mawk waits until its
buffer is full.
"""

#: Defines the awk function `pause(SECONDS)`. It returns 0 at once where this awk cannot wait without a program. The
#: runner sets CULPRIT_PAUSE, the path of the pipe, if it can.
PAUSE = r"""
function pause(s,  f, l) {
  f = ENVIRON["CULPRIT_PAUSE"]
  if (f == "" || s <= 0) return f != ""
  PROCINFO[f, "READ_TIMEOUT"] = int(s * 1000) + 1
  getline l < f
  l = ERRNO
  close(f)
  return l ~ /timed out/
}
"""

#: Defines `tick_every SECONDS COMMAND` and `end_ticks`. TICK is the pipe, from which awk reads what COMMAND prints, or
#: empty where there is none: then awk sleeps. COMMAND runs when awk opens the pipe. bash before 4 knows no fractions.
TICKS = r"""
tick_every() {
  TICK= TICKER=
  command -v bash >/dev/null && mkfifo .t .z 2>/dev/null || return 0
  TICK=.t
  bash -c 'trap "" TERM; exec 3<>.z; while read -rt "$0" x <&3; [ $? -gt 128 ] || sleep 1; do { '"$2; } >.t; done" "$1" 2>/dev/null &
  TICKER=$!
}
end_ticks() {
  [ -z "$TICKER" ] || { kill -9 $TICKER; wait $TICKER; } 2>/dev/null
  return 0
}
"""  # noqa: E501 - a statement of the program for the host stays on one line
