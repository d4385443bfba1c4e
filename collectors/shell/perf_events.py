"""The shell of perf collectors that record a stack at events of the kernel: how often they happen, and the recording.

Walking a stack takes microseconds, so each of these collectors counts its events for a second first, and refuses hosts
on which there are too many. The server computes the profile from perf.data; perf prints no text of it.
"""

from __future__ import annotations

#: Counts context switches for a second of the window: `$rate`.
SWITCH_RATE = r"""
ctxt() { while read -r key value rest; do [ "$key" != ctxt ] || echo "$value"; done < /proc/stat; }
first=$(ctxt)
sleep 1
rate=$(($(ctxt) - first))
[ "$SECS" -le 1 ] || SECS=$((SECS - 1))
"""

#: Counts an event of perf for a second of the window: `$rate`. Its name is `$event`.
EVENT_RATE = r"""
"$perf" stat -x ' ' -e "$event" -a -- sleep 1 > .stat 2>&1
rate=$(grep -e "$event" .stat | head -n 1 | cut -d ' ' -f 1)
case $rate in *[!0-9]* | '') cat .stat >&2; exit 69 ;; esac
[ "$SECS" -le 1 ] || SECS=$((SECS - 1))
"""

#: `record_events OPTION...` records until `$SECS` are over: the options name the events, `$scope` whose events these
#: are, by default those of all. The buffers of all CPUs together are at most 128 MB.
RECORD_EVENTS = r"""
named_by_server || { echo "only a server with a native reader of perf.data, as root on the host" >&2; exit 69; }
cpus=$(getconf _NPROCESSORS_ONLN 2> .getconf || echo 8)
pages=1024 scope=-a
while [ $((pages * cpus)) -gt 32768 ] && [ "$pages" -gt 16 ]; do pages=$((pages / 2)); done
record_events() {
    cap=
    has record --max-size && cap="--max-size=$((BYTES * 4 / 5 / 1024))K"
    "$perf" record "$@" $scope $clock -m "$pages" $extra $cap -o perf.data -- sleep "$SECS" > record.log 2>&1
    report "record_exit $?"
    echo "$perf record $* $scope $clock -m $pages $extra $cap -- sleep $SECS" > "${ARGV:-/dev/null}"
    cat record.log >&2
    usable perf.data || { rm -f perf.data header.txt; exit 69; }
    report "clock ${clock:-none}"
    report "seconds $SECS"
    [ -z "${TARGET_PIDS-}" ] || report pids $TARGET_PIDS
    kernel_symbols
}
"""
