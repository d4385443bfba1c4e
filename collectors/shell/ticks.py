"""Pauses of an awk program without two processes for each of them.

A pause by `system("sleep 1")` starts a shell and a sleep. awk waits for a named pipe instead. One process opens it
at an interval: bash has a pause of its own, another shell starts a sleep. awk cannot read the lines of one long-lived
program: mawk waits until its buffer is full.
"""

#: Defines `tick_every SECONDS COMMAND` and `end_ticks`. TICK is the pipe, from which awk reads what COMMAND prints, or
#: empty where none can be created: then awk sleeps. COMMAND runs when awk opens the pipe.
TICKS = r"""
tick_every() {
  TICK= TICKER=
  mkfifo .t .z 2>/dev/null || return 0
  TICK=.t
  if command -v bash >/dev/null 2>&1; then
    bash -c 'trap "" TERM
      exec 3<>.z
      pause() { read -rt "$0" x <&3; }
      [ "${BASH_VERSINFO[0]}" -ge 4 ] || pause() { sleep 1; }
      while :; do pause; { '"$2; } >.t; done" "$1" 2>/dev/null &
  else
    sh -c 'trap "" TERM; while sleep "$0" || sleep 1; do { '"$2; } >.t; done" "$1" 2>/dev/null &
  fi
  TICKER=$!
}
end_ticks() {
  [ -z "$TICKER" ] || { kill -9 $TICKER; wait $TICKER; } 2>/dev/null
  rm -f .t .z "$@"
}
"""
