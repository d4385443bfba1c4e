# The working directory, the remains of earlier runs, and the mechanism that limits resources.

# List pids of processes with the text $1 in their environment that started at tick $2 or later. Process $3 and
# processes that it started after tick $4 are left out. Members of the groups and sessions in $5 are always listed.
list_run_processes() {
  C_=$(printf '%s\n' /proc/[0-9]*/stat | $T_awk -v a="$2" -v x="$3" -v b="$4" -v g=" $5 " "$SCAN")
  G_=
  E_=
  for p_ in $C_; do
    case $p_ in
      g*) G_="$G_ ${p_#g}" ;;
      *) E_="$E_ /proc/$p_/environ" ;;
    esac
  done
  [ -z "$E_" ] || for p_ in $($T_grep -l "$1" $E_ /dev/null 2>/dev/null); do
    p_=${p_%/environ}
    G_="$G_ ${p_##*/}"
  done
  echo $G_
}

# Kill all processes of run $1 (started at tick $2; groups $3), except this process and those in $4.
kill_run() {
  read_uptime
  TX=$((CS * TCK / 100))
  for r_ in 1 2 3 4 5 6 7 8; do
    V_=
    for p_ in $(list_run_processes "CULPRIT_RUN=$1" "$2" $$ "$TX" "$3"); do
      case " $4 " in *" $p_ "*) ;; *) V_="$V_ $p_" ;; esac
    done
    [ -n "$V_" ] || return 0
    kill -KILL $V_ 2>/dev/null
    $T_sleep "$NAPF"
  done
  return 1
}

# Remove the control groups of a run, by their paths in $1.
remove_cgroups() {
  # A process that was just killed blocks the removal until its parent reads its status.
  for r_ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    G_=
    for c_ in $1; do
      case $c_ in /sys/fs/cgroup/*/culprit-* | /sys/fs/cgroup/culprit-*) ;; *) continue ;; esac
      [ -d "$c_" ] || continue
      G_="$G_ $c_"
      { echo 1 >"$c_/cgroup.kill"; } 2>/dev/null || while read -r p_; do
        [ "$p_" = "$$" ] || kill -KILL "$p_" 2>/dev/null
      done <"$c_/cgroup.procs"
    done
    [ -n "$G_" ] || return 0
    ! $T_rmdir $G_ 2>/dev/null || return 0
    $T_sleep "$NAPF"
  done
}

# Remove directories of finished runs. Only directories of this user, with parents where no other user can replace them:
# any user can create such a name in /tmp, and the processes named in the manifest are killed with our permissions.
remove_stale_runs() {
  STALE_REMOVED=0
  for b_ in $DIRS; do
    set -- "$b_"/culprit-????????-*
    { [ -e "$1" ] || [ -L "$1" ]; } && is_secure_parent "$b_" || continue
    b_=${P_%/}
    for d_ in "$b_"/culprit-????????-*; do
      [ -d "$d_" ] && [ ! -L "$d_" ] && [ -O "$d_" ] && enter_own_directory "$d_" || continue
      if [ -f manifest ] && [ ! -L manifest ] && [ -O manifest ]; then
        remove_stale_run "$d_"
      elif [ ! -e manifest ] && [ ! -L manifest ]; then
        [ -z "$T_find" ] || [ -z "$($T_find . -prune -mmin +10 2>/dev/null)" ] || remove_own_directory "$d_"
      fi
      cd /
    done
  done
}

# Remove the stale run in directory $1, which is the current directory.
remove_stale_run() {
  m_run= m_boot= m_end=0 m_main= m_guard= m_cgroups= m_groups=
  while read -r k_ v_; do
    case $k_ in
      run) m_run=$v_ ;;
      boot) m_boot=$v_ ;;
      end) m_end=$v_ ;;
      main) m_main=$v_ ;;
      guard) m_guard=$v_ ;;
      cgroups) m_cgroups=$v_ ;;
    esac
  done <manifest
  case $m_run in *[!0-9a-f-]*) return ;; ????????-????-????-????-????????????) ;; *) return ;; esac
  case $m_end in '' | *[!0-9]*) m_end=0 ;; esac
  if [ "$m_boot" = "$BOOT" ]; then
    read_uptime
    if is_alive $m_main || is_alive ${m_guard:-0 0}; then
      [ "$CS" -gt "$((m_end + 3000))" ] || return 0
    fi
    for l_ in l/*; do
      [ -f "$l_" ] && [ ! -L "$l_" ] || continue
      read -r g_ s_ R_ <"$l_"
      case $g_ in '' | 0 | 1 | *[!0-9]*) continue ;; esac
      ! is_alive "$g_" "$s_" || m_groups="$m_groups $g_"
    done
    set -- "$1" $m_main
    kill_run "$m_run" "${3:-0}" "$m_groups" 0
    remove_cgroups "$m_cgroups"
  fi
  remove_own_directory "$1"
  STALE_REMOVED=$((STALE_REMOVED + 1))
}

# Choose a working directory with enough space. Sets DIR, empty if there is none. FREE and INODES are the best values.
choose_workdir() {
  DIR=
  FREE=0
  INODES=-
  MEMFREE=0
  while read -r k_ v_ R_; do [ "$k_" != MemAvailable: ] || { MEMFREE=$v_; break; }; done </proc/meminfo
  for b_ in $DIRS; do
    [ -d "$b_" ] && [ -w "$b_" ] || continue
    is_secure_parent "$b_" || { skip_directory "$b_" insecure; continue; }
    d_=${P_%/}
    # /dev/shm uses memory, so it is accepted only if much memory is available.
    case $b_ in /dev/shm) [ "$MEMFREE" -gt $((NEED_KB * 4 + 4194304)) ] || continue ;; esac
    measure_space "$b_"
    [ "$f_" -le "$FREE" ] || FREE=$f_ INODES=$i_
    [ "$f_" -ge "$NEED_KB" ] || continue
    case $i_ in *[!0-9]* | '' | 0) ;; *) [ "$i_" -ge 256 ] || continue ;; esac
    if create_directory "$d_"; then
      FREE=$f_ INODES=$i_
      return 0
    fi
  done
  return 1
}

# Measure free KiB and inodes of directory $1 into f_ and i_. A file system without an inode count reports 0 or "-".
measure_space() {
  f_=0
  i_=-
  [ -n "$T_df" ] || { f_=999999999; return; }
  L_=$($T_df -Pk "$1" 2>/dev/null)
  set -- "$1" ${L_##*"$NL"}
  shift
  [ $# -lt 6 ] || f_=$4
  case $f_ in *[!0-9]* | '') f_=0 ;; esac
  L_=$($T_df -Pi "${6-$b_}" 2>/dev/null)
  set -- ${L_##*"$NL"}
  [ $# -lt 6 ] || { i_=$4; [ "$2" != 0 ] || i_=-; }
}

# Choose the strongest limit that works here. A systemd scope (SCOPE, a command prefix) comes first, because the main
# shell must start in it. Sets LIMITER.
choose_scope() {
  LIMITER=nice
  CGROUPS=
  SCOPE=
  [ "$MYUID" = 0 ] && [ -d /run/systemd/system ] || return 0
  find_tool systemd-run T_sdrun
  find_tool timeout T_timeout
  [ -n "$T_sdrun" ] && [ -n "$T_timeout" ] || return 0
  for x_ in "-p RuntimeMaxSec=$((DEADLINE + 60))" ""; do
    S_="$T_sdrun --scope -q -p CPUQuota=$CPU_PCT% -p MemoryMax=$MEM_BYTES -p TasksMax=$TASKS -p IOWeight=1 $x_"
    S_="$S_ --description Culprit"
    if $T_timeout 3 $S_ --unit "culprit-probe-$RUN" true </dev/null >/dev/null 2>&1; then
      SCOPE="$S_ --unit culprit-$RUN"
      LIMITER=systemd_scope
      return 0
    fi
  done
}

# Otherwise create control groups (CGROUPS), which jobs join. The guard is notified first: if the main shell is killed in
# between, the guard removes them.
create_cgroups() {
  [ "$MYUID" = 0 ] && [ ! -d /run/systemd/system ] || return 0
  set --
  for b_ in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ ! -f "$b_/cgroup.controllers" ] || set -- "$@" "$b_/culprit-$RUN"
  done
  v2_=$#
  for b_ in cpu memory pids; do
    b_=/sys/fs/cgroup/$b_
    [ ! -f "$b_/cgroup.procs" ] && [ ! -f "$b_/tasks" ] || set -- "$@" "$b_/culprit-$RUN"
  done
  [ $# -gt 0 ] || return 0
  notify_guard cgroups "$*"
  $T_mkdir "$@" 2>/dev/null
  n_=0
  for c_; do
    n_=$((n_ + 1))
    [ -d "$c_" ] || continue
    CGROUPS="$CGROUPS $c_"
    if [ $n_ -le $v2_ ]; then
      write_limit "$c_/cpu.max" "$((CPU_PCT * 1000)) 100000"
      write_limit "$c_/memory.max" "$MEM_BYTES"
      LIMITER=cgroup2
      [ -f "$c_/cpu.max" ] || LIMITER=cgroup2_tracking
    else
      write_limit "$c_/cpu.cfs_quota_us" "$((CPU_PCT * 1000))"
      write_limit "$c_/memory.limit_in_bytes" "$MEM_BYTES"
      LIMITER=cgroup1
    fi
    write_limit "$c_/pids.max" "$TASKS"
  done
  notify_guard cgroups "$CGROUPS"
}

# Move this process into the control groups, so that its children start there. A move stops all forks of the host for a
# moment, and much longer if the process that moves has a low priority and no CPU is free. So all light jobs are moved at
# once, and before their priority is lowered.
join_cgroups() {
  for c_ in $CGROUPS; do { echo 0 >"$c_/cgroup.procs"; } 2>/dev/null; done
  CGROUPS=
}

write_limit() {
  [ ! -f "$1" ] || { echo "$2" >"$1"; } 2>/dev/null
}
