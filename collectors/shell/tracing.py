"""The shell of everything that sets probes: it takes away what it set, and what a killed forerunner left.

All that belongs to a run is named `culprit_<pid>_<start time of that pid>`: the instance of tracefs with its own
buffers, and the group of its probes. A name whose process is gone, or is another one by now, is a leftover. A
script that is killed with KILL cannot clean up, so the next run of any of these collectors does.
"""

from __future__ import annotations

#: Finds tracefs (`$t`), sweeps, and makes the instance `$mine`; `leave` undoes everything, and runs at any end.
#: An instance whose name ends with `_g` marks that this run set the host's one tracer of call graphs.
PRELUDE = r"""
LC_ALL=C
export LC_ALL
umask 077
report() { echo "$*" >> status.txt; }
t=
for one in /sys/kernel/tracing /sys/kernel/debug/tracing; do
    [ -n "$t" ] || [ ! -w "$one/trace" ] || t=$one
done
[ -n "$t" ] && [ -d "$t/instances" ] || { echo "tracefs is not mounted, or may not be written to" >&2; exit 69; }
born() { { read -r stat < "/proc/$1/stat"; } 2> /dev/null || return 0; set -- ${stat##*) }; echo "${20}"; }
gone() {
    rest=${1#culprit_} rest=${rest%_g}
    case $rest in *[!0-9_]* | '' | _* | *_) return 1 ;; esac
    [ "$(born "${rest%%_*}")" != "${rest#*_}" ]
}
put() { { echo "$1" > "$2"; } 2> .why; }
add() { { echo "$1" >> "$2"; } 2> .why; }
remove() {
    case $1 in
        *_g)
            put nop "$t/current_tracer"
            put 0 "$t/max_graph_depth"
            put 0 "$t/options/funcgraph-proc"
            : > "$t/set_graph_function"
            : > "$t/set_ftrace_pid"
            put 1 "$t/tracing_on"
            ;;
    esac
    if [ -d "$t/instances/$1" ]; then
        put 0 "$t/instances/$1/events/$1/enable"
        put nop "$t/instances/$1/current_tracer"
        rmdir "$t/instances/$1"
    fi
    # what is enabled in an instance cannot be removed, so these come after it
    for list in "$t/uprobe_events" "$t/kprobe_events"; do
        [ -e "$list" ] || continue
        sed -n "s/^[pr][0-9]*:\($1\/[A-Za-z0-9_]*\).*/\1/p" "$list" | while read -r event; do
            add "-:$event" "$list"
        done
    done
}
sweep() {
    {
        ls "$t/instances"
        cat "$t/uprobe_events" "$t/kprobe_events" 2> /dev/null | sed -n 's/^[pr][0-9]*:\([^/]*\)\/.*/\1/p'
    } | sort -u | while read -r one; do
        case $one in culprit_*) ! gone "$one" || { remove "$one"; report "swept $one"; } ;; esac
    done
}
leave() {
    trap '' INT TERM HUP
    [ -z "${napping-}" ] || kill "$napping" 2> /dev/null
    remove "$name"
    [ -z "${global-}" ] || remove "${name}_g"
} 2> /dev/null
nap() { [ -n "${stopped-}" ] || { sleep "$1" & napping=$!; wait "$napping"; napping=; }; }
sweep
name=culprit_$$_$(born $$)
mine=$t/instances/$name
trap leave EXIT
trap 'stopped=1; [ -z "${napping-}" ] || kill "$napping" 2> /dev/null' INT TERM HUP
mkdir "$mine" 2> .why || { cat .why >&2; exit 69; }
put mono "$mine/trace_clock"
put 0 "$mine/options/overwrite"
put 1024 "$mine/buffer_size_kb"
tids=$(for pid in ${TARGET_PIDS-}; do ls "/proc/$pid/task"; done 2> /dev/null | head -n 2000)
"""

#: Sets a probe at `$where` in the file `$list`, waits, and prints who called and for how long. Only the counts leave
#: the host: `H name hits`, `L events that found the buffer full`, `P pid calls returns us max_us comm`, `B us count`.
PROBE = r"""
add "p:$name/enter $where" "$list" || { cat .why >&2; tail -n 4 "$t/error_log" >&2; exit 69; }
add "r:$name/leave $where" "$list" || report "no_return 1"
[ -z "$tids" ] || put "$(echo $tids)" "$mine/set_event_pid"
put 1 "$mine/events/$name/enable" || { cat .why >&2; exit 69; }
echo "echo 'p:$name/enter $where' >> $list; echo 1 > $mine/events/$name/enable; sleep $SECS" > "${ARGV:-/dev/null}"
report "function $OPT_FUNCTION"
nap "$SECS"
put 0 "$mine/tracing_on"
put 0 "$mine/events/$name/enable"
awk '{ for (i = 1; i < NF; i++) if ($i == "enter" || $i == "leave") print "H", $i, $(i + 1) + 0 }' \
    "${list%_events}_profile" 2> .none
cat "$mine"/per_cpu/cpu*/stats | awk '/^dropped events:/ { n += $3 } END { print "L", n + 0 }'
awk '!/^#/ && match($0, / \[[0-9]+\] /) {
    who = substr($0, 1, RSTART - 1); gsub(/^ +| +$/, "", who)
    n = split(substr($0, RSTART + RLENGTH), w, " ")
    for (i = 1; i < n && w[i] !~ /^[0-9]+\.[0-9]+:$/; i++);
    at = w[i] + 0
    if (w[i + 1] == "enter:") { calls[who]++; since[who, ++deep[who]] = at }
    else if (w[i + 1] == "leave:" && deep[who] > 0) {
        us = (at - since[who, deep[who]--]) * 1000000
        returns[who]++; sum[who] += us; if (us > max[who]) max[who] = us
        for (b = 1; b < us && b < 1e9; b *= 2); le[b]++
    }
}
END {
    busiest = "sort -k3,3nr | head -n 500"
    for (who in calls) {
        pid = who; sub(/.*-/, "", pid); comm = who; sub(/-[0-9]+$/, "", comm)
        printf "P %d %d %d %.0f %.0f %s\n", pid, calls[who], returns[who], sum[who], max[who], comm | busiest
    }
    close(busiest)
    for (b = 1; b <= 1e9; b *= 2) if (le[b]) printf "B %.0f %d\n", b, le[b]
}' "$mine/trace"
"""
