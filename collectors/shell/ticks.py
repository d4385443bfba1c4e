"""The shell that wakes an awk at intervals."""

from __future__ import annotations

#: `ticks SECONDS...` starts a bash that opens the pipe `.t` after each of these pauses in turn, and sets `ticker` to
#: its number; an awk that opens the pipe to read waits for it. A pause of awk would be a process each time. `ticker` is
#: empty where that is not possible. mawk cannot read lines as they come, so the pipe stays empty.
TICKS = r"""
ticks() {
ticker=
if command -v bash >/dev/null && mkfifo .t 2>/dev/null; then
bash -c 'trap "" TERM; exec 3<> <(:); while :; do for z; do read -rt $z x <&3; : >.t; done; done' bash "$@" &
ticker=$!
fi
}
stop_ticks() {
[ -z "$ticker" ] || { kill -9 $ticker; wait $ticker; } 2>/dev/null
rm -f .t
}
"""
