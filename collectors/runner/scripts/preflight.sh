# What a host is and may: read-only, one process and a few short-lived ones, one fact to a line as `key value`.
# POSIX sh; also dash, busybox ash. Everything that may be missing is.
LC_ALL=C
export LC_ALL
umask 077
PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin
say() { printf '%s\n' "$*"; }
first() { # first KEY FILE: the first line of a file
  [ -r "$2" ] || return 0
  line=
  IFS= read -r line 2>/dev/null <"$2" || [ -n "$line" ] || return 0
  say "$1 $line"
}
number() { # number KEY FILE: of /proc/sys, which gives a shell that reads byte by byte the first digit only
  [ ! -r "$2" ] || say "$1 $(cat "$2" 2>/dev/null)"
}
has() { command -v "$1" >/dev/null 2>&1; }
limit=
if has timeout && timeout 1 true 2>/dev/null; then limit='timeout 3'; fi
oneline() { # the first line of what a command says, wherever it says it
  $limit "$@" 2>&1 </dev/null | { IFS= read -r line && printf '%s\n' "$line"; }
}
up() {
  u=0.00 rest=
  { read -r u rest </proc/uptime; } 2>/dev/null
  u=${u%.*}${u#*.}
}

say preflight 1
# The clock first, while nothing of ours disturbs it; bounds as in the runner's records.
up
low=$u
real=$(date +%s%N 2>/dev/null)
case $real in
  *[!0-9]* | '' | ?????????????) real=$(date +%s)000000000 res=1000000000 ;;
  *) res=1 ;;
esac
up
say "clock bt0=${low}0000000 bt1=$((u + 1))0000000 m0=- m1=- real=$real res=$res"

first kernel /proc/sys/kernel/osrelease
say "arch $(uname -m)"
first hostname /proc/sys/kernel/hostname
first boot_id /proc/sys/kernel/random/boot_id
if [ -r /etc/machine-id ]; then first machine_id /etc/machine-id; else first machine_id /var/lib/dbus/machine-id; fi
say "mount_ns $(readlink /proc/self/ns/mnt 2>/dev/null)"
say "pid_ns $(readlink /proc/self/ns/pid 2>/dev/null)"
first init /proc/1/comm
if [ -r /etc/os-release ]; then
  while IFS='=' read -r key value; do
    case $key in
      ID | ID_LIKE | VERSION_ID | PRETTY_NAME)
        value=${value#[\"\']}
        say "os_$key ${value%[\"\']}"
        ;;
    esac
  done </etc/os-release
fi
# Where it can be reached: what others call it by.
if has ip; then
  $limit ip -o addr show 2>/dev/null | {
    n=0
    while read -r index dev family address rest && [ $n -lt 300 ]; do
      n=$((n + 1))
      say "address $address"
    done
  }
fi
for one in apt-get dnf yum zypper apk pacman; do
  if has $one; then
    say "packages $one"
    break
  fi
done

first cpus_online /sys/devices/system/cpu/online
first cpus_possible /sys/devices/system/cpu/possible
first nodes_online /sys/devices/system/node/online
n=0
while read -r key value rest && [ $n -lt 60 ]; do
  n=$((n + 1))
  case $key in MemTotal: | MemAvailable: | SwapTotal:) say "mem_${key%:} $value" ;; esac
done </proc/meminfo 2>/dev/null
say "page_size $(getconf PAGESIZE 2>/dev/null)"
say "clk_tck $(getconf CLK_TCK 2>/dev/null)"

# cgroups: which hierarchies are mounted where.
n=0
while read -r dev where kind rest && [ $n -lt 4000 ]; do
  n=$((n + 1))
  case $kind in
    cgroup) say "cgroup_mount v1 $where" ;;
    cgroup2) say "cgroup_mount v2 $where" ;;
    tracefs | debugfs) say "fs_mount $kind $where" ;;
  esac
done </proc/self/mounts 2>/dev/null

# Who we are here, and what that allows.
say "uid $(id -u)"
say "user $(id -un 2>/dev/null)"
say "groups $(id -Gn 2>/dev/null)"
while read -r key value rest; do
  case $key in CapEff: | CapBnd: | TracerPid: | Seccomp: | NoNewPrivs:) say "self_${key%:} $value" ;; esac
done </proc/self/status 2>/dev/null
for one in perf_event_paranoid kptr_restrict dmesg_restrict perf_event_max_sample_rate perf_event_mlock_kb \
  perf_cpu_time_max_percent; do
  number "kernel_$one" /proc/sys/kernel/$one
done
number kernel_ptrace_scope /proc/sys/kernel/yama/ptrace_scope
first lockdown /sys/kernel/security/lockdown
if [ "$(id -u)" != 0 ] && has sudo; then
  if $limit sudo -n true >/dev/null 2>&1 </dev/null; then say 'sudo nopasswd'; else say 'sudo password'; fi
fi

# What it runs on.
if has systemd-detect-virt; then
  say "virt $(systemd-detect-virt 2>/dev/null)"
else
  first product /sys/class/dmi/id/product_name
  n=0
  while read -r key rest && [ $n -lt 40 ]; do
    n=$((n + 1))
    case $key,$rest, in flags,*' hypervisor '*) say 'virt vm-other' ;; esac
  done </proc/cpuinfo 2>/dev/null
fi
[ ! -e /.dockerenv ] || say 'container docker'
[ ! -e /run/.containerenv ] || say 'container podman'
for one in /sys/bus/event_source/devices/cpu /sys/bus/event_source/devices/cpu_core \
  /sys/bus/event_source/devices/armv8*; do
  [ ! -d "$one" ] || say "pmu ${one##*/}"
done

# Room for what is written meanwhile.
for one in /var/tmp /tmp /dev/shm; do
  [ -d $one ] || continue
  writable=0
  [ ! -w $one ] || writable=1
  free=- inodes=-
  set -- $($limit df -Pk $one 2>/dev/null | { read -r line && read -r line && printf '%s' "$line"; })
  [ $# -lt 4 ] || free=$4
  kind=$1
  set -- $($limit df -Pi $one 2>/dev/null | { read -r line && read -r line && printf '%s' "$line"; })
  [ $# -lt 4 ] || inodes=$4
  say "space $one $writable $free $inodes ${kind:--}"
done

# Tools, with the version of those whose output is read.
for one in awk gawk mawk busybox nice ionice timeout setsid flock zstd gzip sha256sum base64 od tail head \
  systemd-run dmesg journalctl ip ss df sed cut ls bpftrace tc nft iptables-save ethtool nsenter tcpdump curl \
  python3 strace psql redis-cli sadf atop mkfifo find stat grep sort xargs docker podman crictl; do
  ! has $one || say "tool $one"
done
for one in vmstat iostat numastat; do
  ! has $one || say "tool $one $(oneline $one -V)"
done
if has perf; then
  if version=$($limit perf version 2>/dev/null </dev/null) && [ -n "$version" ]; then
    say "tool perf $version"
  else
    say 'broken perf'
    for one in /usr/lib/linux-tools/*/perf /usr/lib/linux-tools-*/perf; do
      [ ! -x "$one" ] || say "other_perf $one"
    done
  fi
fi

# Files that collectors read.
for one in /proc/stat /proc/vmstat /proc/meminfo /proc/diskstats /proc/softirqs /proc/interrupts /proc/loadavg \
  /proc/version /proc/net/dev /proc/net/snmp /proc/net/netstat /proc/pressure/cpu /proc/self/stat \
  /proc/self/schedstat /proc/self/io /proc/self/status /proc/self/mountinfo /proc/self/fdinfo /proc/self/wchan \
  /proc/self/syscall /proc/self/stack /sys/block /proc/self/numa_maps /proc/sys/fs/file-nr /proc/timer_list \
  /sys/devices/system/node/node0/numastat /proc/net/softnet_stat /proc/net/tcp \
  /proc/sys/net/netfilter/nf_conntrack_count /sys/class/net/lo/mtu; do
  [ ! -r $one ] || say "file $one"
done
# Existing is not enough: PSI can be switched off while its files stay.
if [ -e /proc/pressure/cpu ]; then
  { read -r line </proc/pressure/cpu; } 2>/dev/null || say 'unreadable /proc/pressure/cpu'
fi
up
say "took_ms $(((u - low) * 10))"
say 'end 1'
