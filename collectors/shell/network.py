"""What the network scripts begin with: how they enter the target's network namespace and stamp what they print.

They write the part `samples` in the sampler's own format (`collectors.contract.Sampled`), so that one reader
serves both: `at TICK NAME` prints the header, and what follows is the text. `$ns` precedes every command
that must see the target's interfaces, rules and sockets; it is empty where the target shares ours. A namespace
that may not be entered leaves the name `namespace` with the text `closed`, because what follows is then ours.
"""

from __future__ import annotations

#: Sets `$ns` and `$netns`.
ENTER_NAMESPACE = r"""
LC_ALL=C
export LC_ALL
ns= netns=own
its=
[ -z "${TARGET_PID-}" ] || its=$(readlink "/proc/$TARGET_PID/ns/net") || netns=closed
if [ -n "$its" ] && [ "$its" != "$(readlink /proc/self/ns/net)" ]; then
    if nsenter -t "$TARGET_PID" -n true 2> .err; then
        ns="nsenter -t $TARGET_PID -n" netns=target
    else
        netns=closed
    fi
fi
"""

PRELUDE = (
    r"""
over=
at() {
    read -r up rest < /proc/uptime
    echo "@ $1 ${up%.*}${up#*.}0000000 $2"
}
nap() {
    [ -z "$over" ] || return 0
    sleep "$1" &
    wait $!
}
trap 'over=1' TERM
"""
    + ENTER_NAMESPACE
    + """
{ at 0 namespace; echo "$netns"; } > samples
"""
)
