"""What probes by curl share: each runs `ask` in a process of its own, at an even pace.

Every probe becomes one line `probe BOOTTIME_S OUTCOME MILLISECONDS`; see `parse.network.probe_lines`. At most
`per_s` are started in a second, and each is given up after three and a half or more: a lost SYN is sent again
after one second and after three.
"""

from __future__ import annotations

CURL = r"""
count=${OPT_COUNT:-200}
[ "$count" -le $((SECS * per_s)) ] || count=$((SECS * per_s))
gap=$(awk -v n="$count" -v s="$SECS" -v r="$per_s" 'BEGIN {
    g = (s > 7 ? s - 3.5 : s / 2) / n
    printf "%.3f", g * r < 1 ? 1 / r : g
}')
sleep 0.01 2> .err || gap=1
one() {
    read -r up rest < /proc/uptime
    output=$(ask 2> .err)
    case $? in
        0) outcome=ok ;;
        7) outcome=refused ;;
        28) outcome=timeout ;;
        *) outcome=failed ;;
    esac
    echo "probe $up $outcome $output"
}
i=0
while [ "$i" -lt "$count" ] && [ -z "$over" ]; do
    i=$((i + 1))
    one &
    sleep "$gap"
done
wait
"""
