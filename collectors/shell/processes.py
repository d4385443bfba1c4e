"""The shell that looks at all processes at the end of a run, once for all collectors that need them."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

#: The name of the share, for `Script.share`, and the cap of each of its collectors: the list of processes counts too.
SHARE = "processes"
MAX_BYTES = 16 << 20

#: Whether the client of docker knows a daemon. Without one it only costs time: it is a large program.
HAS_DOCKER = (
    '{ [ -S /var/run/docker.sock ] || [ -n "${DOCKER_HOST-}" ] || [ -d "${HOME:-/root}/.docker/contexts" ]; }'
)

#: Each collector has a function of its name. They run at the same time, because each of them can wait for a program
#: that does not answer. /proc/PID/stat is read once: to open a file of each process is most of the cost of reading it.
#: `changes` prints names only: paths, packages, units, comms. Processes younger than five seconds are most likely our
#: own.
#: `clock_sync`: `adjtimex -p` in busybox prints `offset: 0 us`; util-linux has none, Debian's prints `offset: 0`. The
#: status bit 0x40 is STA_UNSYNC, and 0x2000 means that the offset is in nanoseconds.
#: `scheduled_jobs` reads the family tree while the job still runs. A line of a crontab is named by file, number and
#: schedule; its command may hold secrets and stays on the host. A unit that a timer starts is in `systemctl list-timers`.
SH = (
    r"""
LC_ALL=C
export LC_ALL
umask 077
trap : TERM
start() {
  eval "d=\${OUT_$1-unset}"
  case $d in
    unset) ;;
    '' | .) (trap : TERM; "$1") & ;;
    *) (trap : TERM; "$1") >"$d/stdout" & ;;
  esac
}
changes() {
now=$(date '+%s %z')
z=${now#* }
now=${now% *}
b=$(awk '/^btime/ { print $2 }' /proc/stat)
printf 'change\tt=%s\tkind=boot\twhat=boot\n' "$b"
tail -q -n 40000 /var/log/dpkg.log.1 /var/log/dpkg.log 2>/dev/null | grep -E '^[^ ]+ [^ ]+ (install|upgrade|remove|purge) ' | awk -v z="$z" -v from=$((now - 259200)) '
  $3 ~ /^(install|upgrade|remove|purge)$/ { y = substr($1, 1, 4); m = substr($1, 6, 2); d = substr($1, 9, 2); if (m < 3) { y--; m += 12 }
  t = (365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * (m - 3) + 2) / 5) + d - 719469) * 86400
  t += substr($2, 1, 2) * 3600 + substr($2, 4, 2) * 60 + substr($2, 7, 2) - (substr(z, 1, 1) "1") * (substr(z, 2, 2) * 3600 + substr(z, 4, 2) * 60)
  if (t > from) printf "change\tt=%d\tkind=package\twhat=%s %s %s\n", t, $3, $4, $6 }' | tail -n 300
command -v rpm >/dev/null && timeout 8 rpm -qa --qf 'change\tt=%{INSTALLTIME}\tkind=package\twhat=installed %{NAME} %{VERSION}-%{RELEASE}\n' 2>/dev/null | sort -t= -k2rn | head -n 300
[ -f /lib/apk/db/installed ] && stat -c 'change	t=%Y	kind=package	what=apk database' /lib/apk/db/installed
timeout 5 find /etc -xdev -maxdepth 5 -type f -mmin -4320 -exec stat -c 'change	t=%Y	kind=file	what=%n' {} + 2>/dev/null | head -n 200
[ -d /run/systemd/system ] && timeout 4 systemctl show '*.service' -p Id,ActiveEnterTimestampMonotonic,NRestarts 2>/dev/null | awk -F= -v b="$b" '
  $1 == "Id" { i = $2 } $1 ~ /^Active/ { a = $2 / 1e6 } $1 == "NRestarts" { n = $2 }
  $0 == "" { p() } END { p() } function p() { if (i != "" && a > 120) printf "change\tt=%d\tkind=service\twhat=%s%s\n", b + a, i, (n > 0 ? " (" n " restarts)" : ""); i = ""; a = n = 0 }' | tail -n 100
"""
    + HAS_DOCKER
    + r""" && timeout 3 docker ps -a --format 'change	kind=container	at={{.CreatedAt}}	what={{.Names}} {{.Image}}' 2>/dev/null | head -n 100
awk -v b="$b" -v h="$h" -v now="$now" '{
  o = index($0, "("); r = $0; c = 0; while ((i = index(r, ")"))) { c += i; r = substr(r, i + 1) }
  n = substr($0, o + 1, c - o - 1); split(substr($0, c + 2), f, " "); t = b + int(f[20] / h)
  if (int(f[7] / 2097152) % 2 || t > now - 5) next
  gsub(/[\t=]/, "_", n); printf "change\tt=%d\tkind=process\twhat=%s (%s)\n", t, n, $1 + 0 }' .stat | sort -t= -k2rn | head -n 50
printf 'end\tnow=%s\thours=72\n' "$now"
}
clock_sync() {
run() { timeout 3 "$@" 2>/dev/null; }
have() { command -v "$1" >/dev/null 2>&1; }
({ have adjtimex && run adjtimex -p; } || run busybox adjtimex) | awk '/offset:/ && !/tick|freq/ { o = $2 } / status:/ { s = $2 } /maxerror:/ { m = $2 }
  END { if (s == "") exit; printf "clock\tsource=kernel\tsynchronised=%s\toffset_ms=%.6f\terror_ms=%.3f\n", int(s / 64) % 2 ? "no" : "yes", int(s / 8192) % 2 ? o / 1e6 : o / 1e3, m / 1e3 }'
have chronyc && run chronyc -n tracking | awk -F' *: *' '/^Leap/ { l = $2 } /^System time/ { split($2, a, " "); o = a[1] * 1000; if (a[3] == "slow") o = -o } /^Root disp/ { split($2, a, " "); d = a[1] * 1000 } /^Stratum/ { s = $2 }
  END { if (l != "") printf "clock\tsource=chrony\tsynchronised=%s\toffset_ms=%.6f\terror_ms=%.3f\tdetail=stratum %s\n", l == "Not synchronised" ? "no" : "yes", o, d, s }'
have ntpq && run ntpq -pn | awk '/^[*o]/ { printf "clock\tsource=ntpd\tsynchronised=yes\toffset_ms=%s\terror_ms=%s\tdetail=stratum %s\n", $9, $10, $3; f = 1 } END { if (NR > 2 && !f) print "clock\tsource=ntpd\tsynchronised=no" }'
have timedatectl && run timedatectl show | awk -F= '{ v[$1] = $2 } END { if ("NTPSynchronized" in v) printf "clock\tsource=timedatectl\tsynchronised=%s\tdetail=NTP %s\n", v["NTPSynchronized"], v["NTP"] }'
read -r c 2>/dev/null < /sys/devices/system/clocksource/clocksource0/current_clocksource && printf 'source\tname=%s\n' "$c"
awk '/^[0-9]+ \((chronyd|ntpd|systemd-timesyn|ptp4l|phc2sys|openntpd)\) / { n = substr($2, 2, length($2) - 2); if (!seen[n]++) printf "daemon\tname=%s\n", n }' .stat
echo "end"
}
scheduled_jobs() {
: >.units
[ -d /run/systemd/system ] && timeout 3 systemctl list-timers --all --no-legend --plain 2>/dev/null | awk '{ print $NF }' >.units
awk -v h="$h" -v u="$u" '{ o = index($0, "("); r = $0; c = 0; while ((i = index(r, ")"))) { c += i; r = substr(r, i + 1) }
  p = $1; n = substr($0, o + 1, c - o - 1); gsub(/[\t=\n]/, "_", n); split(substr($0, c + 2), f, " ")
  up[p] = f[2]; name[p] = n; age[p] = int(u - f[20] / h); if (int(f[7] / 2097152) % 2) kernel[p] = 1 }
  END { for (p in name) if (!(p in kernel)) { d = ""; q = p; top = p
    for (k = 0; k < 64 && q > 1; k++) { if (q != p && name[q] ~ /^(cron|crond|anacron|atd|fcron|dcron|busybox-cron|CRON|CROND)$/) { if (name[q] !~ /^CRON/) { d = name[q]; break } } else if (name[q] !~ /^CRON/) top = q; q = up[q] }
    print p, (d == "" ? "-" : d), top, age[p], name[top], name[p] } }' .stat >.tree
awk '$2 != "-"' .tree | while read -r p d top a n; do
  t=$(cat "/proc/$top/comm" 2>/dev/null)
  l=$(awk -v t="$t" 'index($0, t) && $0 !~ /^[ \t]*(#|$)/ && t != "sh" && t != "bash" { print FILENAME ":" FNR " " ($1 ~ /^@/ ? $1 : $1 " " $2 " " $3 " " $4 " " $5); exit }' /etc/crontab /etc/cron.d/* /var/spool/cron/crontabs/* /var/spool/cron/* 2>/dev/null)
  printf 'job\tpid=%s\tcomm=%s\tscheduler=%s\tjob=%s\tline=%s\tage=%s\n' "$p" "$(tr '\t=\n' '__ ' <"/proc/$p/comm" 2>/dev/null | sed 's/ $//')" "$d" "$t" "$l" "$a"
done | head -n 200
[ ! -s .units ] || grep -sHE '^[0-9]+:(name=systemd)?:/' /proc/[0-9]*/cgroup | awk 'NR == FNR { u[$1] = 1; next }
  { n = split($0, w, "/"); for (i = 4; i <= n; i++) if (w[i] in u) print w[3], w[i] }' .units - | sort -u | while read -r p n; do
  printf 'job\tpid=%s\tcomm=%s\tscheduler=systemd timer\tjob=%s\tage=%s\n' "$p" "$(tr '\t=\n' '__ ' <"/proc/$p/comm" 2>/dev/null | sed 's/ $//')" "$n" "$(awk -v p="$p" '$1 == p { print $4 }' .tree)"
done | head -n 200
echo end
}
sleep "$SECS" & wait $!
h=$(getconf CLK_TCK 2>/dev/null || echo 100)
read -r u x </proc/uptime
cat /proc/[0-9]*/stat >.stat 2>/dev/null
start changes
start clock_sync
start scheduled_jobs
wait
wait
exit 0
"""
)
