# The lease, the working directory, what earlier runs left, and the rung of the ladder of limits.

# What the lease is keyed by.
host_key() {
  MACHINE=-
  BOOT=-
  { read -r MACHINE </etc/machine-id; } 2>/dev/null
  { read -r BOOT </proc/sys/kernel/random/boot_id; } 2>/dev/null
  MNT=
  [ -z "$T_readlink" ] || MNT=$($T_readlink /proc/self/ns/mnt 2>/dev/null)
  MNT=${MNT##*[}
  MNT=${MNT%]}
  KEY=${MACHINE:-0}-${BOOT%%-*}-${MNT:-0}
}

# Takes the lease or leaves: exit 75 with a frame that names the holder. Root and other users must meet in one place,
# so the first directory that anybody may write to is it.
lease() {
  LOCK=
  up
  HOLDER="run $RUN pid $$ start $MYSTART since $(($($T_date +%s)))"
  for d_ in $LOCKDIRS; do
    [ -k "$d_" ] && [ -w "$d_" ] || continue
    LOCK=$d_/culprit-$KIND-$KEY
    if [ -n "$T_flock" ]; then lease_flock && return 0; else lease_mkdir && return 0; fi
  done
  LOCK=
  WAY_LOCK=none
}

lease_flock() {
  n_=0
  while [ $n_ -lt 20 ]; do
    n_=$((n_ + 1))
    [ -e "$LOCK" ] || (set -C; umask 022; echo "$HOLDER" >"$LOCK") 2>/dev/null
    { exec 9<"$LOCK"; } 2>/dev/null || return 1
    if $T_flock -n 9; then
      # Somebody may have removed the file between our open and our lock.
      if [ "$LOCK" -ef /proc/self/fd/9 ]; then
        { (umask 022; echo "$HOLDER" >"$LOCK"); } 2>/dev/null
        WAY_LOCK=flock
        return 0
      fi
    elif [ "$LOCK" -ef /proc/self/fd/9 ]; then
      { read -r H_ <"$LOCK"; } 2>/dev/null
      busy
    fi
    exec 9<&-
  done
  return 1
}

lease_mkdir() {
  LOCK=$LOCK.d
  n_=0
  while [ $n_ -lt 20 ]; do
    n_=$((n_ + 1))
    if $T_mkdir -m 755 "$LOCK" 2>/dev/null; then
      (umask 022; echo "$HOLDER" >"$LOCK/holder")
      WAY_LOCK=mkdir
      return 0
    fi
    [ -d "$LOCK" ] || return 1
    H_=
    { read -r H_ <"$LOCK/holder"; } 2>/dev/null
    set -- $H_
    # Without a holder: being taken this very moment, or its taker died in between.
    if [ $# -lt 6 ]; then
      [ $n_ -gt 10 ] || { $T_sleep 1; continue; }
    elif alive "$4" "$6"; then
      busy
    fi
    # One breaker at a time, and it looks again, lest it breaks a lease that was just taken.
    if $T_mkdir "$LOCK.break" 2>/dev/null; then
      A_=
      { read -r A_ <"$LOCK/holder"; } 2>/dev/null
      [ "$A_" != "$H_" ] || $T_rm -rf "$LOCK"
      $T_rmdir "$LOCK.break"
    elif [ $n_ -gt 18 ]; then
      $T_rmdir "$LOCK.break" 2>/dev/null
    fi
  done
  busy
}

busy() {
  set -- $H_
  frame busy - - "run ${2--}${NL}pid ${4--}${NL}since ${8--}"
  exit 75
}

release() {
  [ -n "$LOCK" ] || return 0
  $T_rm -rf "$LOCK"
}

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

# Directories of runs that are over. Only our own: anybody may make a directory with such a name in /tmp, and
# what its manifest says would be ended on our authority.
sweep() {
  SWEPT=0
  for b_ in $DIRS; do
    for d_ in "$b_"/culprit-????????-*; do
      [ -d "$d_" ] && [ ! -L "$d_" ] && [ -O "$d_" ] || continue
      if [ ! -f "$d_/manifest" ]; then
        [ -z "$T_find" ] || [ -z "$($T_find "$d_" -prune -mmin +10 2>/dev/null)" ] || $T_rm -rf "$d_"
        continue
      fi
      sweep_one "$d_"
    done
  done
}

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
  done <"$1/manifest"
  case $m_run in '' | *[!0-9a-f-]*) return ;; esac
  if [ "$m_boot" = "$BOOT" ]; then
    up
    if alive $m_main || alive ${m_guard:-0 0}; then
      [ "$CS" -gt "$((m_end + 3000))" ] || return 0
    fi
    for l_ in "$1"/l/*; do
      [ -f "$l_" ] || continue
      read -r g_ s_ R_ <"$l_"
      ! alive "$g_" "$s_" || m_groups="$m_groups $g_"
    done
    set -- "$1" $m_main
    purge "$m_run" "${3:-0}" "$m_groups" 0
    uncage "$m_cage"
  fi
  $T_rm -rf "$1"
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
    # Memory is no place to write to unless there is plenty.
    case $b_ in /dev/shm) [ "$MEMFREE" -gt $((NEED_KB * 4 + 4194304)) ] || continue ;; esac
    room "$b_"
    [ "$f_" -le "$FREE" ] || FREE=$f_ INODES=$i_
    [ "$f_" -ge "$NEED_KB" ] || continue
    case $i_ in *[!0-9]* | '' | 0) ;; *) [ "$i_" -ge 256 ] || continue ;; esac
    if $T_mkdir -m 700 "$b_/culprit-$RUN" 2>/dev/null; then
      DIR=$b_/culprit-$RUN
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

# The strongest limit that works here. Sets RUNG, CAGE (control groups to join) and SCOPE (a command prefix).
ladder() {
  RUNG=nice
  CAGE=
  SCOPE=
  [ "$MYUID" = 0 ] || return 0
  if [ -d /run/systemd/system ]; then
    tool systemd-run T_sdrun
    tool timeout T_timeout
    [ -n "$T_sdrun" ] && [ -n "$T_timeout" ] || return 0
    for x_ in "-p RuntimeMaxSec=$((DEADLINE + 60))" ""; do
      S_="$T_sdrun --scope -q -p CPUQuota=$CPU_PCT% -p MemoryMax=$MEM_BYTES -p TasksMax=$TASKS -p IOWeight=1 $x_"
      if $T_timeout 3 $S_ --unit "culprit-probe-$RUN" true </dev/null >/dev/null 2>&1; then
        SCOPE="$S_ --unit culprit-$RUN"
        RUNG=systemd_scope
        return 0
      fi
    done
    return 0
  fi
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
