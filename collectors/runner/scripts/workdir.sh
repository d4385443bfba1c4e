# The working directory, what earlier runs left, and the rung of the ladder of limits.

# Pids of processes with the text $1 in their environment that started at tick $2 or later. Not process $3, nor what that has started after tick $4.
# Members of the groups and sessions in $5 are among them whatever their environment says.
ours() {
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

# Ends all that is left of run $1 (started at tick $2; groups $3), except this process and those in $4.
purge() {
  up
  TX=$((CS * TCK / 100))
  for r_ in 1 2 3 4 5 6 7 8; do
    V_=
    for p_ in $(ours "CULPRIT_RUN=$1" "$2" $$ "$TX" "$3"); do
      case " $4 " in *" $p_ "*) ;; *) V_="$V_ $p_" ;; esac
    done
    [ -n "$V_" ] || return 0
    kill -KILL $V_ 2>/dev/null
    $T_sleep "$NAPF"
  done
  return 1
}

# The control groups of a run, by their paths in $1.
uncage() {
  for c_ in $1; do
    case $c_ in /sys/fs/cgroup/*/culprit-* | /sys/fs/cgroup/culprit-*) ;; *) continue ;; esac
    # What was just ended may stay in the way until somebody has collected its status.
    for r_ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
      [ -d "$c_" ] || break
      { echo 1 >"$c_/cgroup.kill"; } 2>/dev/null || while read -r p_; do
        [ "$p_" = "$$" ] || kill -KILL "$p_" 2>/dev/null
      done <"$c_/cgroup.procs"
      $T_rmdir "$c_" 2>/dev/null && break
      $T_sleep "$NAPF"
    done
  done
}

# Directories of runs that are over. Only our own, in places where nobody else can replace them: anybody may make a
# directory with such a name in /tmp, and what its manifest says is ended on our authority.
sweep() {
  SWEPT=0
  for b_ in $DIRS; do
    [ -d "$b_" ] && is_secure_parent "$b_" || continue
    b_=${P_%/}
    for d_ in "$b_"/culprit-????????-*; do
      [ -d "$d_" ] && [ ! -L "$d_" ] && [ -O "$d_" ] && enter_own_directory "$d_" || continue
      if [ -f manifest ] && [ ! -L manifest ] && [ -O manifest ]; then
        sweep_one "$d_"
      elif [ ! -e manifest ] && [ ! -L manifest ]; then
        [ -z "$T_find" ] || [ -z "$($T_find . -prune -mmin +10 2>/dev/null)" ] || remove_own_directory "$d_"
      fi
      cd /
    done
  done
}

# The directory $1, which is the current one.
sweep_one() {
  m_run= m_boot= m_end=0 m_main= m_guard= m_cage= m_groups=
  while read -r k_ v_; do
    case $k_ in
      run) m_run=$v_ ;;
      boot) m_boot=$v_ ;;
      end) m_end=$v_ ;;
      main) m_main=$v_ ;;
      guard) m_guard=$v_ ;;
      cage) m_cage=$v_ ;;
    esac
  done <manifest
  case $m_run in *[!0-9a-f-]*) return ;; ????????-????-????-????-????????????) ;; *) return ;; esac
  case $m_end in '' | *[!0-9]*) m_end=0 ;; esac
  if [ "$m_boot" = "$BOOT" ]; then
    up
    if alive $m_main || alive ${m_guard:-0 0}; then
      [ "$CS" -gt "$((m_end + 3000))" ] || return 0
    fi
    for l_ in l/*; do
      [ -f "$l_" ] && [ ! -L "$l_" ] || continue
      read -r g_ s_ R_ <"$l_"
      case $g_ in '' | 0 | 1 | *[!0-9]*) continue ;; esac
      ! alive "$g_" "$s_" || m_groups="$m_groups $g_"
    done
    set -- "$1" $m_main
    purge "$m_run" "${3:-0}" "$m_groups" 0
    uncage "$m_cage"
  fi
  remove_own_directory "$1"
  SWEPT=$((SWEPT + 1))
}

# A working directory with enough room, into DIR; empty where there is none. FREE and INODES are the best seen.
place() {
  DIR=
  FREE=0
  INODES=-
  MEMFREE=0
  while read -r k_ v_ R_; do [ "$k_" != MemAvailable: ] || MEMFREE=$v_; done </proc/meminfo
  for b_ in $DIRS; do
    [ -d "$b_" ] && [ -w "$b_" ] || continue
    is_secure_parent "$b_" || { pass_over "$b_" insecure; continue; }
    d_=${P_%/}
    # Memory is no place to write to unless there is plenty.
    case $b_ in /dev/shm) [ "$MEMFREE" -gt $((NEED_KB * 4 + 4194304)) ] || continue ;; esac
    room "$b_"
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

# Free KiB and inodes of directory $1, into f_ and i_. A file system without a count of inodes says 0 or "-".
room() {
  f_=0
  i_=-
  [ -n "$T_df" ] || { f_=999999999; return; }
  set -- "$1" $($T_df -Pk "$1" 2>/dev/null | $T_tail -n 1)
  shift
  [ $# -lt 6 ] || f_=$4
  case $f_ in *[!0-9]* | '') f_=0 ;; esac
  set -- $($T_df -Pi "${6-$b_}" 2>/dev/null | $T_tail -n 1)
  [ $# -lt 6 ] || { i_=$4; [ "$2" != 0 ] || i_=-; }
}

# The strongest limit that works here: a scope of systemd (SCOPE, a command prefix), which is chosen first, as the main
# shell must start in it. Sets RUNG.
choose_scope() {
  RUNG=nice
  CAGE=
  SCOPE=
  [ "$MYUID" = 0 ] && [ -d /run/systemd/system ] || return 0
  tool systemd-run T_sdrun
  tool timeout T_timeout
  [ -n "$T_sdrun" ] && [ -n "$T_timeout" ] || return 0
  for x_ in "-p RuntimeMaxSec=$((DEADLINE + 60))" ""; do
    S_="$T_sdrun --scope -q -p CPUQuota=$CPU_PCT% -p MemoryMax=$MEM_BYTES -p TasksMax=$TASKS -p IOWeight=1 $x_"
    S_="$S_ --description Culprit"
    if $T_timeout 3 $S_ --unit "culprit-probe-$RUN" true </dev/null >/dev/null 2>&1; then
      SCOPE="$S_ --unit culprit-$RUN"
      RUNG=systemd_scope
      return 0
    fi
  done
}

# Or control groups of our own (CAGE), which jobs join.
create_cages() {
  [ "$MYUID" = 0 ] && [ ! -d /run/systemd/system ] || return 0
  for b_ in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ -f "$b_/cgroup.controllers" ] || continue
    cage "$b_" || continue
    put "$c_/cpu.max" "$((CPU_PCT * 1000)) 100000"
    put "$c_/memory.max" "$MEM_BYTES"
    put "$c_/pids.max" "$TASKS"
    RUNG=cgroup2
    [ -f "$c_/cpu.max" ] || RUNG=cgroup2_tracking
    break
  done
  for b_ in cpu memory pids; do
    b_=/sys/fs/cgroup/$b_
    [ -f "$b_/cgroup.procs" ] || [ -f "$b_/tasks" ] || continue
    cage "$b_" || continue
    put "$c_/cpu.cfs_quota_us" "$((CPU_PCT * 1000))"
    put "$c_/memory.limit_in_bytes" "$MEM_BYTES"
    put "$c_/pids.max" "$TASKS"
    RUNG=cgroup1
  done
}

cage() {
  c_=$1/culprit-$RUN
  $T_mkdir "$c_" 2>/dev/null || return 1
  CAGE="$CAGE $c_"
}

put() {
  [ ! -f "$1" ] || { echo "$2" >"$1"; } 2>/dev/null
}
