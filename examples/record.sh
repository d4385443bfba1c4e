#!/bin/sh
# Record busy-host.culprit again: `sh examples/record.sh BUNDLE.sh OUT`, as root, on an otherwise idle machine.
#
# BUNDLE.sh is the output of `culprit capture script`. Separate namespaces for mounts, host name and network keep the name and
# addresses of the machine out of the recording; `examples/anonymize.py` replaces the remaining paths. There is no PID
# namespace, because perf does not name processes outside of it.
set -eu
bundle=$(readlink -f "$1") out=$(readlink -f "$2") here=$(dirname "$(readlink -f "$0")")
if [ "${IN_NAMESPACE-}" = "" ]; then
  IN_NAMESPACE=1 exec unshare -m -u -n sh "$0" "$bundle" "$out"
fi
mount -t tmpfs none /var/tmp
mkdir -p /run/lock && mount -t tmpfs none /run/lock
hostname busy-host
ip link set lo up 2>/dev/null || :
mkdir -p /opt && mount -t tmpfs none /opt && mkdir -p /opt/shop
echo 6f1d2c3b4a5968778695a4b3c2d1e0f0 >/opt/machine-id
mount --bind /opt/machine-id /etc/machine-id
cc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread -o /opt/shop/shopd "$here/shopd.c"
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
cd /
/opt/shop/shopd /var/tmp/journal 200 >/dev/null 2>&1 &
shop=$!
(while :; do head -c 2000000 /dev/urandom | gzip -6 >/var/tmp/backup.gz; sleep 1; done) >/dev/null 2>&1 &
backup=$!
trap 'kill -9 $shop $backup' EXIT
# More CPU time than other processes, where the kernel divides time by cgroup.
group=/sys/fs/cgroup/cpu/example
if mkdir "$group" 2>/dev/null; then
  echo 131072 >"$group/cpu.shares"
  echo "$shop" >"$group/cgroup.procs"
  trap 'kill -9 $shop $backup; sleep 2; rmdir "$group" || :' EXIT
fi
sleep 3
sh "$bundle" -o "$out"
