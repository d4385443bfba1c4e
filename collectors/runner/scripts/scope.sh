# What the capture looks at: WANT_KIND and WANT_VALUE were asked for, TARGET_* is what they mean on this host. It is
# looked for once, before any collector starts; LOST says why there is nothing, as a word that the server knows.
TARGETS_MAX=512

target() {
  TARGET_KIND=cgroup TARGET_PID= TARGET_PIDS= TARGET_CGROUP= COUNT=0 LOST= NETPID=
  case $WANT_KIND in
    process) target_process ;;
    cgroup) target_cgroup "$WANT_VALUE" ;;
    unit) target_unit ;;
    container) target_container ;;
    port) target_port ;;
    *) TARGET_KIND=host ;;
  esac
  # /proc/PID/net shows the network that the process sees.
  [ -z "$TARGET_PID" ] || [ ! -r "/proc/$TARGET_PID/net/dev" ] || NETPID=$TARGET_PID
  export TARGET_KIND TARGET_PID TARGET_PIDS TARGET_CGROUP
}

target_process() {
  TARGET_KIND=process
  if proc "$WANT_VALUE"; then
    TARGET_PID=$WANT_VALUE TARGET_PIDS=$WANT_VALUE COUNT=1
    cgroup_of "$WANT_VALUE"
  else
    LOST=no_process
  fi
}

# The control group of process $1 into TARGET_CGROUP: the longest path that limits CPU, memory or tasks, because a
# hybrid host has one path per controller and leaves most of them at the root.
cgroup_of() {
  while IFS=: read -r x_ y_ p_; do
    case ,$y_, in ,, | *,cpu,* | *,memory,* | *,pids,*) ;; *) continue ;; esac
    [ ${#p_} -le ${#TARGET_CGROUP} ] || TARGET_CGROUP=$p_
  done <"/proc/$1/cgroup"
  [ "$TARGET_CGROUP" != / ] || TARGET_CGROUP=
} 2>/dev/null

# The control group at path $1: under every mount of cgroup or cgroup2 that has it, eight levels deep.
target_cgroup() {
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
  busiest $x_
  [ "$COUNT" -gt 0 ] || LOST=empty_cgroup
}

# Of the processes given: how many there are, which 512 are looked at, and which of all has used most CPU.
busiest() {
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
  # The busiest is always one of those that are looked at.
  case " $TARGET_PIDS " in *" $TARGET_PID "*) ;; *) TARGET_PIDS="$TARGET_PID ${TARGET_PIDS% *}" ;; esac
}

# Runs a command that asks a daemon, for two seconds at most.
ask() {
  command -v "$1" >/dev/null 2>&1 || return 1
  if [ -n "$T_timeout" ]; then
    $T_timeout 2 "$@" 2>/dev/null </dev/null
  else
    "$@" 2>/dev/null </dev/null
  fi
}

target_unit() {
  u_=$WANT_VALUE
  case $u_ in *.*) ;; *) u_=$u_.service ;; esac
  c_=$(ask systemctl show -p ControlGroup -- "$u_")
  c_=${c_#ControlGroup=}
  target_cgroup "${c_:-/system.slice/$u_}"
  [ "$LOST" != no_cgroup ] || LOST=no_unit
}

target_container() {
  c_= i_=$WANT_VALUE
  for x_ in docker podman; do
    c_=$(ask "$x_" inspect -f '{{.State.Pid}} {{.Id}}' "$i_") && break
  done
  if [ -z "$c_" ] && x_=$(ask crictl ps -q --name "^$i_\$"); then
    c_=$(ask crictl inspect -o go-template --template '{{.info.pid}} {{.status.id}}' "${x_:-$i_}")
  fi
  pid_=${c_%% *}
  case $pid_ in
    '' | 0 | *[!0-9]*) container_by_name ;;
    *)
      i_=${c_##* }
      cgroup_of "$pid_" ;;
  esac
  c_=$TARGET_CGROUP
  TARGET_CGROUP=
  # A container may have groups of its own below the one that is named after it. One without such a group may share
  # that of others: then it is its first process.
  case $c_ in
    *"$i_"*)
      x_=${c_#*"$i_"}
      target_cgroup "${c_%%"$i_"*}$i_${x_%%/*}" ;;
  esac
  [ -n "$TARGET_PID" ] && return
  case $pid_ in
    '' | 0 | *[!0-9]*) LOST=no_container ;;
    *) LOST= WANT_VALUE=$pid_; target_process ;;
  esac
}

# No engine knows it: a control group whose path bears its name or the beginning of its id.
container_by_name() {
  x_=$($T_grep -hF -- "$i_" /proc/[0-9]*/cgroup 2>/dev/null | $T_head -n 1)
  case $x_ in */*"$i_"*) TARGET_CGROUP=/${x_#*/} ;; esac
}

# Who listens on the port, in the network of the runner.
target_port() {
  TARGET_KIND=process
  x_=$(ask ss -ltunp "sport = :$WANT_VALUE")
  set --
  while :; do
    case $x_ in *pid=*) x_=${x_#*pid=}; set -- "$@" "${x_%%,*}" ;; *) break ;; esac
  done
  [ $# -gt 0 ] || set -- $(holders)
  busiest "$@"
  if [ -n "$TARGET_PID" ]; then cgroup_of "$TARGET_PID"; else LOST=no_listener; fi
}

# The processes that hold a listening socket of that port, by the socket's inode.
holders() {
  tool ls T_ls
  x_=$(printf %04X "$WANT_VALUE")
  x_=$($T_cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | $T_awk -v p=":$x_\$" '$2 ~ p && $4 == "0A" { print $10 }')
  [ -n "$x_" ] || return
  $T_ls -l /proc/[0-9]*/fd 2>/dev/null | $T_awk -v want="$x_" '
    BEGIN { n = split(want, w, /[ \n]/); for (i = 1; i <= n; i++) is["socket:[" w[i] "]"] = 1 }
    /^\/proc\// { split($0, d, "/"); pid = d[3] }
    ($NF in is) { print pid }'
}
