# The scope of the capture: SCOPE_KIND and SCOPE_VALUE are the request, TARGET_* is what they match on this host. It is
# resolved once, before any collector starts. LOST is the reason if nothing matches, as a code of the protocol.
TARGETS_MAX=512

find_target() {
  TARGET_KIND=cgroup TARGET_PID= TARGET_PIDS= TARGET_CGROUP= COUNT=0 LOST= NETPID=
  case $SCOPE_KIND in
    process) find_process ;;
    cgroup) find_cgroup_processes "$SCOPE_VALUE" ;;
    unit) find_unit ;;
    container) find_container ;;
    port) find_port ;;
    *) TARGET_KIND=host ;;
  esac
  # /proc/PID/net shows the network namespace of the process.
  [ -z "$TARGET_PID" ] || [ ! -r "/proc/$TARGET_PID/net/dev" ] || NETPID=$TARGET_PID
  export TARGET_KIND TARGET_PID TARGET_PIDS TARGET_CGROUP
}

find_process() {
  TARGET_KIND=process
  if read_stat "$SCOPE_VALUE"; then
    TARGET_PID=$SCOPE_VALUE TARGET_PIDS=$SCOPE_VALUE COUNT=1
    find_cgroup "$SCOPE_VALUE"
  else
    LOST=no_process
  fi
}

# Find the control group of process $1. Sets TARGET_CGROUP to the longest path that limits CPU, memory or tasks: a
# hybrid host has one path per controller, and most of them are the root.
find_cgroup() {
  while IFS=: read -r x_ y_ p_; do
    case ,$y_, in ,, | *,cpu,* | *,memory,* | *,pids,*) ;; *) continue ;; esac
    [ ${#p_} -le ${#TARGET_CGROUP} ] || TARGET_CGROUP=$p_
  done <"/proc/$1/cgroup"
  [ "$TARGET_CGROUP" != / ] || TARGET_CGROUP=
} 2>/dev/null

# Find the processes of the control group at path $1: in every cgroup or cgroup2 mount that has it, eight levels deep.
find_cgroup_processes() {
  x_=${1%/}
  set --
  while read -r r_ m_ k_ R_; do
    case $k_ in cgroup | cgroup2) ;; *) continue ;; esac
    d_=$m_$x_
    [ -d "$d_" ] || continue
    p_=
    while [ ${#p_} -lt 16 ]; do
      for f_ in "$d_"$p_/cgroup.procs; do
        [ $# -lt 4000 ] && [ -f "$f_" ] || continue
        set -- "$@" "$f_"
      done
      p_="$p_/*"
    done
  done </proc/self/mounts
  if [ $# = 0 ]; then
    LOST=no_cgroup
    return
  fi
  TARGET_CGROUP=${x_:-/}
  x_=$($T_cat "$@" 2>/dev/null)
  choose_processes $x_
  [ "$COUNT" -gt 0 ] || LOST=empty_cgroup
}

# Choose from the processes in $@: sets their count, up to 512 of them, and the one that used most CPU.
choose_processes() {
  [ -n "$T_awk" ] || { LOST=no_awk; return; }
  x_=$(printf '%s\n' "$@" | $T_awk -v max=$TARGETS_MAX '
    !/^[0-9]+$/ || seen[$1]++ { next }
    {
      f = "/proc/" $1 "/stat"
      k = (getline l < f)
      close(f)
      if (k <= 0) next
      sub(/^.*\) /, "", l)
      split(l, w, " ")
      if (++n == 1 || w[12] + w[13] > most) { most = w[12] + w[13]; top = $1 }
      if (n <= max) all = all " " $1
    }
    END { print n + 0, top all }')
  set -- $x_
  COUNT=${1:-0}
  TARGET_PID=${2-}
  [ $# -lt 2 ] || shift
  shift
  TARGET_PIDS="$*"
  # The process that used most CPU is always one of them.
  case " $TARGET_PIDS " in *" $TARGET_PID "*) ;; *) TARGET_PIDS="$TARGET_PID ${TARGET_PIDS% *}" ;; esac
}

# Run a command that queries a daemon, for at most two seconds.
query_daemon() {
  command -v "$1" >/dev/null 2>&1 || return 1
  if [ -n "$T_timeout" ]; then
    $T_timeout 2 "$@" 2>/dev/null </dev/null
  else
    "$@" 2>/dev/null </dev/null
  fi
}

find_unit() {
  u_=$SCOPE_VALUE
  case $u_ in *.*) ;; *) u_=$u_.service ;; esac
  c_=$(query_daemon systemctl show -p ControlGroup -- "$u_")
  c_=${c_#ControlGroup=}
  find_cgroup_processes "${c_:-/system.slice/$u_}"
  [ "$LOST" != no_cgroup ] || LOST=no_unit
}

find_container() {
  c_= i_=$SCOPE_VALUE
  for x_ in docker podman; do
    c_=$(query_daemon "$x_" inspect -f '{{.State.Pid}} {{.Id}}' "$i_") && break
  done
  if [ -z "$c_" ] && x_=$(query_daemon crictl ps -q --name "^$i_\$"); then
    c_=$(query_daemon crictl inspect -o go-template --template '{{.info.pid}} {{.status.id}}' "${x_:-$i_}")
  fi
  pid_=${c_%% *}
  case $pid_ in
    '' | 0 | *[!0-9]*) find_container_by_name ;;
    *)
      i_=${c_##* }
      find_cgroup "$pid_" ;;
  esac
  c_=$TARGET_CGROUP
  TARGET_CGROUP=
  # A container can have groups below the one with its name. A container without such a group may share a group with
  # others: then the target is its first process.
  case $c_ in
    *"$i_"*)
      x_=${c_#*"$i_"}
      find_cgroup_processes "${c_%%"$i_"*}$i_${x_%%/*}" ;;
  esac
  [ -n "$TARGET_PID" ] && return
  case $pid_ in
    '' | 0 | *[!0-9]*) LOST=no_container ;;
    *) LOST= SCOPE_VALUE=$pid_; find_process ;;
  esac
}

# No engine knows the container: find a control group with its name or the beginning of its id in the path.
find_container_by_name() {
  x_=$($T_grep -hF -- "$i_" /proc/[0-9]*/cgroup 2>/dev/null | $T_head -n 1)
  case $x_ in */*"$i_"*) TARGET_CGROUP=/${x_#*/} ;; esac
}

# Find the processes that listen on the port, in the network namespace of the runner.
find_port() {
  TARGET_KIND=process
  x_=$(query_daemon ss -ltunp "sport = :$SCOPE_VALUE")
  set --
  while :; do
    case $x_ in *pid=*) x_=${x_#*pid=}; set -- "$@" "${x_%%,*}" ;; *) break ;; esac
  done
  [ $# -gt 0 ] || set -- $(list_port_holders)
  choose_processes "$@"
  if [ -n "$TARGET_PID" ]; then find_cgroup "$TARGET_PID"; else LOST=no_listener; fi
}

# List the processes that hold a listening socket of that port, by the inode of the socket.
list_port_holders() {
  find_tool ls T_ls
  x_=$(printf %04X "$SCOPE_VALUE")
  x_=$($T_cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | $T_awk -v p=":$x_\$" '$2 ~ p && $4 == "0A" { print $10 }')
  [ -n "$x_" ] || return
  $T_ls -l /proc/[0-9]*/fd 2>/dev/null | $T_awk -v want="$x_" '
    BEGIN { n = split(want, w, /[ \n]/); for (i = 1; i <= n; i++) is["socket:[" w[i] "]"] = 1 }
    /^\/proc\// { split($0, d, "/"); pid = d[3] }
    ($NF in is) { print pid }'
}
