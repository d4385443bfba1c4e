"""The shell that reads sockets with ss, once for all collectors that need them."""

from __future__ import annotations

from importlib.resources import files

from collectors.shell.network import ENTER_NAMESPACE
from collectors.shell.ticks import PAUSE

#: The name of the share, for `Script.share`, and the cap of each of its collectors.
SHARE = "sockets"
MAX_BYTES = 16 << 20

_AWK = "\n".join(
    line.strip()
    for line in (
        PAUSE + (files("collectors") / "shell" / "sockets.awk").read_text(encoding="ascii")
    ).splitlines()
    if line.strip() and not line.lstrip().startswith("#")
)
#: awk ignores SIGTERM, which ends the pauses, and finds the file `.over` at the next look.
SH = (
    ENTER_NAMESPACE
    + r"""
$ns ss -Hltn > /dev/null 2> .err || { cat .err >&2; exit 69; }
fraction=1
sleep 0.01 2> /dev/null || fraction=
trap ': > .over' TERM
(trap '' TERM; exec awk -v ns="$ns" -v netns="$netns" -v secs="$SECS" -v only=" ${TARGET_PIDS-} " \
  -v fraction="$fraction" -v dir_ss="${OUT_ss--}" -v dir_ss_listen="${OUT_ss_listen--}" -v dir_calls="${OUT_calls--}" \
  -v dir_tcp_waits="${OUT_tcp_waits--}" '"""
    + _AWK
    + r"""') &
wait $!
wait $!
"""
)
