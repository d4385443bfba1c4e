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

#: The name of the share of `links` and `cni_facts`, for `Script.share`.
LINKS_SHARE = "links"

#: Both collectors get the readings of `ip`, and `links` the rest. The card's own counters are of interest where their
#: name mentions loss; `|| :` because many have none.
LINKS_SH = (
    PRELUDE
    + r"""
T= F=
for x in links cni_facts; do
    eval "f=\${OUT_$x-unset}"
    case $f in
        unset) continue ;;
        '') f=/dev/stdout ;;
        *) f=$f/samples ;;
    esac
    [ "$x" != links ] || T=$f
    F="$F $f"
    { at 0 namespace; echo "$netns"; } > "$f"
done
links() {
    $ns ip -s -s -d -j -p link show > .now 2> .err
    grep -q '"ifname"' .now || { cat .err >&2; echo "no JSON of ip" >&2; rm -f samples; exit 69; }
    for f in $F; do
        at "$1" links >> "$f"
        head -c 3000000 .now >> "$f"
    done
}
counters() {
    [ -z "$ns" ] || return 0
    for d in /sys/class/net/*/device; do
        d=${d%/device} d=${d##*/}
        [ -e "/sys/class/net/$d/device" ] && [ $((n += 1)) -le 32 ] || continue
        ethtool -S "$d" > .now 2> .err && [ "$(wc -l < .now)" -lt 5000 ] || continue
        at "$1" "ethtool $d"
        grep -i -E 'drop|err|miss|discard|crc|fifo|no_?buf|timeout' .now | head -n 200
    done
}
links 0
[ -z "$T" ] || if [ -n "$ns" ]; then
    at 0 host_links && ip -d -j -p link show | head -c 3000000
else
    at 0 hardware
    for d in /sys/class/net/*/device; do
        d=${d%/device} speed= duplex=
        [ -e "$d/device" ] || continue
        read -r speed < "$d/speed" 2> .err
        read -r duplex < "$d/duplex" 2> .err
        driver=$(readlink "$d/device/driver") || driver=
        echo "${d##*/} ${speed:--} ${duplex:--} ${driver##*/}"
    done
fi >> "$T"
[ -z "$T" ] || { n=0 && counters 0 >> "$T"; }
nap "$SECS"
links 1
[ -z "$T" ] || { n=0 && counters 1 >> "$T"; }
exit 0
"""
)
