"""The shell that perf collectors share: which perf, which of its options, and what came of it.

Options came over the years (`--clockid` 4.1, `--no-inline` 4.12, `--no-bpf-event` 5.1, `--max-size` 5.4), so
each is asked for before it is used. The exit status of perf is never believed: what counts is that the file
reads back. What was done is written to the part `status.txt`, as `key value` lines.
"""

from __future__ import annotations

#: Collectors whose recordings the server reads itself, where it can: they have the options of `build_reading_options`.
READ_BY_SERVER = frozenset(
    {
        "perf_record",
        "pagefault_stacks",
        "perf_sched",
        "offcpu",
        "look_back",
        "wall_time",
        "block_io_stacks",
        "futex_waits",
    }
)
#: Those whose functions the server names: it may fetch symbols from the host.
NAMED_BY_SERVER = READ_BY_SERVER - {"perf_sched"}

#: Finds a perf that runs on this kernel (Debian and Ubuntu ship a wrapper that may find none), sets `$nice`,
#: `$clock`, `$extra` and the functions `has`, `report` and `usable`. No perf settings of the user are used.
PRELUDE = r"""
LC_ALL=C DEBUGINFOD_URLS= PERF_CONFIG=/dev/null PAGER=cat
export LC_ALL DEBUGINFOD_URLS PERF_CONFIG PAGER
umask 077
perf=perf
if ! perf version > .version 2>&1; then
    perf=
    for one in /usr/lib/linux-tools/*/perf /usr/lib/linux-tools-*/perf; do
        [ -x "$one" ] && "$one" version > .version 2>&1 && perf=$one
    done
fi
[ -n "$perf" ] || { echo "no perf that runs on this kernel" >&2; exit 69; }
report() { echo "$*" >> status.txt; }
report "perf $(cat .version)"
"$perf" record -h > .record 2>&1
has() { grep -q -e "$2" ".$1"; }
nice=
command -v nice > .which 2>&1 && nice='nice -n 19'
clock= extra=
has record --clockid && clock='-k CLOCK_MONOTONIC'
has record --no-buildid-cache && extra=-N
# Without build ids perf does not open every file of every container again when it stops recording.
has record '--no-buildid ' && extra="$extra -B"
has record --no-bpf-event && extra="$extra --no-bpf-event"
usable() { "$perf" report --header-only -i "$1" > header.txt 2> .header && [ -s header.txt ]; }
"""

#: Writes the text of `$1` to script.txt, at most `$2` bytes, with the fields of `$3`, filtered by `$4`. To name
#: functions perf opens the binaries and /tmp/perf-PID.map of each process inside its mount namespace, as root; a FIFO
#: there would block it indefinitely, so it is ended shortly before the runner would end the whole collector.
#: `printing_options` sets `$lost` and `$inline`. Each start of perf costs some 8 ms of a CPU: only what prints runs it.
POSTLUDE = r"""
limit=
timeout -s KILL 1 true > .which 2>&1 && limit="timeout -s KILL $((SECS / 2 + 13))"
printing_options() {
    "$perf" script -h > .script 2>&1
    lost= inline=
    has script --show-lost-events && lost=--show-lost-events
    has script --inline && inline=--no-inline
}
text() {
    printing_options
    { $limit $nice "$perf" script -i "$1" $inline --ns $lost -F "$3" 2> .scripterr; echo $? > .scriptcode; } \
        | $nice $4 | head -c "$2" > script.txt
    report "script_exit $(cat .scriptcode)"
    [ "$(cat .scriptcode)" != 137 ] || report "script_cut 1"
    [ "$(wc -c < script.txt)" -lt "$2" ] || report "script_cut 1"
    [ -s script.txt ] || { cat .scripterr >&2; rm -f script.txt; }
}
# Whether the server reads perf.data, so that perf prints no text here.
read_by_server() { [ -n "${OPT_SERVER_READS-}" ]; }
# Whether the server names functions: it needs the files that processes map. Root can open even deleted ones.
named_by_server() {
    read_by_server || return 1
    set -- /proc/$$/map_files/*
    [ -r "$1" ]
}
# The symbols of the kernel, unless the server has them.
kernel_symbols() {
    read -r kernel < /proc/sys/kernel/random/boot_id
    kernel="$kernel $(cut -d ' ' -f 1 /proc/modules 2> .modules | sort | cksum)"
    report "kernel $kernel"
    [ "$kernel" = "${OPT_KERNEL-}" ] || cat /proc/kallsyms > kallsyms 2> .kallsyms
}
stats() { $limit $nice "$perf" report --stats -i "$1" > stats.txt 2> .stats || rm -f stats.txt; }
"""


def build_reading_options(kernel: str) -> dict[str, str]:
    """Return the options with which the server reads perf.data. `kernel`: the key of the symbols that it has, or ""."""
    return {"server_reads": "1", "kernel": kernel}
