# Print facts about a host, one per line as `key value`. Read-only: one process and a few short-lived children.
# POSIX sh; also dash and busybox ash. Every tool and file can be missing.
LC_ALL=C
export LC_ALL
umask 077
PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin
print_fact() { printf '%s\n' "$*"; }
print_first_line() { # print_first_line KEY FILE
  [ -r "$2" ] || return 0
  line=
  IFS= read -r line 2>/dev/null <"$2" || [ -n "$line" ] || return 0
  print_fact "$1 $line"
}
# print_number KEY FILE: uses cat, because a shell that reads /proc/sys byte by byte gets only the first digit.
print_number() {
  [ ! -r "$2" ] || print_fact "$1 $(cat "$2" 2>/dev/null)"
}
has() { command -v "$1" >/dev/null 2>&1; }
limit=
if has timeout && timeout 1 true 2>/dev/null; then limit='timeout 3'; fi
first_output_line() { # first_output_line COMMAND...: of stdout and stderr
  $limit "$@" 2>&1 </dev/null | { IFS= read -r line && printf '%s\n' "$line"; }
}
read_uptime() {
  u=0.00 rest=
  { read -r u rest </proc/uptime; } 2>/dev/null
  u=${u%.*}${u#*.}
}

print_fact preflight 1
# Read the clock first, before this script causes load; the bounds are those of the runner's records.
read_uptime
low=$u
real=$(date +%s%N 2>/dev/null)
case $real in
  *[!0-9]* | '' | ?????????????) real=$(date +%s)000000000 res=1000000000 ;;
  *) res=1 ;;
esac
read_uptime
print_fact "clock bt0=${low}0000000 bt1=$((u + 1))0000000 m0=- m1=- real=$real res=$res"

print_first_line kernel /proc/sys/kernel/osrelease
print_fact "arch $(uname -m)"
print_first_line hostname /proc/sys/kernel/hostname
print_first_line boot_id /proc/sys/kernel/random/boot_id
if [ -r /etc/machine-id ]; then print_first_line machine_id /etc/machine-id; else print_first_line machine_id /var/lib/dbus/machine-id; fi
print_fact "mount_ns $(readlink /proc/self/ns/mnt 2>/dev/null)"
print_fact "pid_ns $(readlink /proc/self/ns/pid 2>/dev/null)"
print_first_line init /proc/1/comm
if [ -r /etc/os-release ]; then
  while IFS='=' read -r key value; do
    case $key in
      ID | ID_LIKE | VERSION_ID | PRETTY_NAME)
        value=${value#[\"\']}
        print_fact "os_$key ${value%[\"\']}"
        ;;
    esac
  done </etc/os-release
fi
# The addresses of the host.
if has ip; then
  $limit ip -o addr show 2>/dev/null | {
    n=0
    while read -r index dev family address rest && [ $n -lt 300 ]; do
      n=$((n + 1))
      print_fact "address $address"
    done
  }
fi
for manager in apt-get dnf yum zypper apk pacman; do
  if has $manager; then
    print_fact "packages $manager"
    break
  fi
done

print_first_line cpus_online /sys/devices/system/cpu/online
print_first_line cpus_possible /sys/devices/system/cpu/possible
print_first_line nodes_online /sys/devices/system/node/online
n=0
while read -r key value rest && [ $n -lt 60 ]; do
  n=$((n + 1))
  case $key in MemTotal: | MemAvailable: | SwapTotal:) print_fact "mem_${key%:} $value" ;; esac
done </proc/meminfo 2>/dev/null
print_fact "page_size $(getconf PAGESIZE 2>/dev/null)"
print_fact "clk_tck $(getconf CLK_TCK 2>/dev/null)"

# cgroups: the mounted hierarchies and their paths.
n=0
while read -r dev where kind rest && [ $n -lt 4000 ]; do
  n=$((n + 1))
  case $kind in
    cgroup) print_fact "cgroup_mount v1 $where" ;;
    cgroup2) print_fact "cgroup_mount v2 $where" ;;
    tracefs | debugfs) print_fact "fs_mount $kind $where" ;;
  esac
done </proc/self/mounts 2>/dev/null

# The user and its permissions.
print_fact "uid $(id -u)"
print_fact "user $(id -un 2>/dev/null)"
print_fact "groups $(id -Gn 2>/dev/null)"
while read -r key value rest; do
  case $key in CapEff: | CapBnd: | TracerPid: | Seccomp: | NoNewPrivs:) print_fact "self_${key%:} $value" ;; esac
done </proc/self/status 2>/dev/null
for setting in perf_event_paranoid kptr_restrict dmesg_restrict perf_event_max_sample_rate perf_event_mlock_kb \
  perf_cpu_time_max_percent; do
  print_number "kernel_$setting" /proc/sys/kernel/$setting
done
print_number kernel_ptrace_scope /proc/sys/kernel/yama/ptrace_scope
print_first_line lockdown /sys/kernel/security/lockdown
if [ "$(id -u)" != 0 ] && has sudo; then
  if $limit sudo -n true >/dev/null 2>&1 </dev/null; then print_fact 'sudo nopasswd'; else print_fact 'sudo password'; fi
fi

# The machine: virtualization, container, PMU.
if has systemd-detect-virt; then
  print_fact "virt $(systemd-detect-virt 2>/dev/null)"
else
  print_first_line product /sys/class/dmi/id/product_name
  n=0
  while read -r key rest && [ $n -lt 40 ]; do
    n=$((n + 1))
    case $key,$rest, in flags,*' hypervisor '*) print_fact 'virt vm-other' ;; esac
  done </proc/cpuinfo 2>/dev/null
fi
[ ! -e /.dockerenv ] || print_fact 'container docker'
[ ! -e /run/.containerenv ] || print_fact 'container podman'
for pmu in /sys/bus/event_source/devices/cpu /sys/bus/event_source/devices/cpu_core \
  /sys/bus/event_source/devices/armv8*; do
  [ ! -d "$pmu" ] || print_fact "pmu ${pmu##*/}"
done

# Free space for the files of a capture.
for directory in /var/tmp /tmp /dev/shm; do
  [ -d $directory ] || continue
  writable=0
  [ ! -w $directory ] || writable=1
  free=- inodes=-
  set -- $($limit df -Pk $directory 2>/dev/null | { read -r line && read -r line && printf '%s' "$line"; })
  [ $# -lt 4 ] || free=$4
  kind=$1
  set -- $($limit df -Pi $directory 2>/dev/null | { read -r line && read -r line && printf '%s' "$line"; })
  [ $# -lt 4 ] || inodes=$4
  print_fact "space $directory $writable $free $inodes ${kind:--}"
done

# Tools, with a version if their output is parsed.
for tool in awk gawk mawk busybox nice ionice timeout setsid flock zstd gzip sha256sum base64 od tail head \
  systemd-run dmesg journalctl ip ss df sed cut ls bpftrace tc nft iptables-save ethtool nsenter tcpdump curl \
  python3 strace psql redis-cli sadf atop mkfifo find stat grep sort xargs docker podman crictl; do
  ! has $tool || print_fact "tool $tool"
done
for tool in vmstat iostat numastat; do
  ! has $tool || print_fact "tool $tool $(first_output_line $tool -V)"
done
if has perf; then
  if version=$($limit perf version 2>/dev/null </dev/null) && [ -n "$version" ]; then
    print_fact "tool perf $version"
  else
    print_fact 'broken perf'
    for perf in /usr/lib/linux-tools/*/perf /usr/lib/linux-tools-*/perf; do
      [ ! -x "$perf" ] || print_fact "other_perf $perf"
    done
  fi
fi

# Files that collectors read.
for file in /proc/stat /proc/vmstat /proc/meminfo /proc/diskstats /proc/softirqs /proc/interrupts /proc/loadavg \
  /proc/version /proc/net/dev /proc/net/snmp /proc/net/netstat /proc/pressure/cpu /proc/self/stat \
  /proc/self/schedstat /proc/self/io /proc/self/status /proc/self/mountinfo /proc/self/fdinfo /proc/self/wchan \
  /proc/self/syscall /proc/self/stack /sys/block /proc/self/numa_maps /proc/sys/fs/file-nr /proc/timer_list \
  /sys/devices/system/node/node0/numastat /proc/net/softnet_stat /proc/net/tcp /proc/self/net/udp /etc/resolv.conf \
  /proc/sys/net/netfilter/nf_conntrack_count /sys/class/net/lo/mtu; do
  [ ! -r $file ] || print_fact "file $file"
done
# PSI can be switched off while its files remain, so the file is read.
if [ -e /proc/pressure/cpu ]; then
  { read -r line </proc/pressure/cpu; } 2>/dev/null || print_fact 'unreadable /proc/pressure/cpu'
fi

# The size of the host and its speed, for the forecast of what a capture costs: CPU time per start of a program, for at
# most half a second, and per small file.
set -- /proc/[0-9]*
print_fact "processes $#"
line=
read -r key key key line rest 2>/dev/null </proc/loadavg
[ -z "$line" ] || print_fact "threads ${line#*/}"
n=0
while read -r key rest; do
  case $key in TCP: | TCP6:) set -- $rest; n=$((n + $2 + ${6:-0})) ;; esac
done 2>/dev/null <<X
$(cat /proc/net/sockstat /proc/net/sockstat6 2>/dev/null)
X
print_fact "sockets $n"
set -- $(cat /proc/sys/fs/file-nr 2>/dev/null)
print_fact "open_files ${1-}"
n=0
while read -r key line value rest; do
  case $value in *[!0-9]* | '') ;; *) [ "$value" -le "$n" ] || n=$value ;; esac
done 2>/dev/null </proc/cgroups
print_fact "cgroups $n"
read_children() { # CPU ticks of the children of this shell
  ticks=0
  { read -r line </proc/self/stat; } 2>/dev/null || return 0
  set -- ${line##*) }
  [ $# -lt 15 ] || ticks=$((${14} + ${15}))
}
read_uptime
start=$u n=0
read_children
before=$ticks
while [ "$n" -lt 200 ] && [ $((u - start)) -lt 50 ]; do
  { sh -c : && sleep 0 && awk 'BEGIN { exit }' && grep . /dev/null; [ $? = 1 ] || break; } >/dev/null 2>&1
  n=$((n + 4))
  read_uptime
done
read_children
line=$(getconf CLK_TCK 2>/dev/null)
[ "$ticks" -le "$before" ] || [ "$n" = 0 ] || print_fact "start_us $(((ticks - before) * 1000000 / ${line:-100} / n))"
awk 'function run(  l, w) { getline l < "/proc/self/schedstat"; close("/proc/self/schedstat"); split(l, w, " "); return w[1] }
  BEGIN {
    a = run()
    while (n < 3000 && ARGC > 1) for (i = 1; i < ARGC && i <= 200; i++) { getline l < ARGV[i]; close(ARGV[i]); split(l, w, " "); n++ }
    if (a && n) printf "read_us %.1f\n", (run() - a) / n / 1000
  }' /proc/[0-9]*/stat 2>/dev/null
read_uptime
print_fact "took_ms $(((u - low) * 10))"
print_fact 'end 1'
