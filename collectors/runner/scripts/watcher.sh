# What waits on a host instead of measuring: one awk, for as long as the lease of its own kind allows.

# In the place of collectors. WATCHER is how it ended.
stand() {
  WATCHER=
  if [ -z "$T_awk" ] || ! $T_mkdir "$DIR/ring" || ! printf '%s\n' "$STANDBY_AWK" >"$DIR/t/standby.awk"; then
    WATCHER=unable
    return
  fi 2>/dev/null
  conditions
  [ "$STACKS" = 0 ] || stacks
  n_=0
  while :; do
    spell >"$DIR/t/standby"
    watcher &
    attend $!
    r_=
    { read -r r_ <"$DIR/t/ended"; } 2>/dev/null
    # A file could be opened and not read, which mawk dies of. What cannot be read now is left out from here on.
    n_=$((n_ + 1))
    [ "$r_" = 2 ] && [ $n_ -lt 20 ] && [ -e "$DIR/go" ] || break
  done
  WATCHER=${r_:-lost}
}

# One life of it. What it says goes home on stderr, line by line.
watcher() {
  (
    cd "$DIR/ring" || exit 1
    CULPRIT_JOB=$RUN/standby/ CU_L=$DIR/l/s1 CU_M=$MYPGRP CU_CAGE=$CAGE CU_F=0 CU_V=
    CU_LINE="$END 9000000000000 TERM standby"
    export CULPRIT_JOB CU_L CU_M CU_CAGE CU_F CU_V CU_LINE CU_GLOBS CU_NAMES
    exec $SID $NI $SH -c "$PRE${NL}exec $T_awk -v go='$DIR/go' -v main=$MAIN -v guard=$GUARD -v tck=$TCK -v nap='$T_sleep' -v rm='$T_rm -f' -v globs=\"\$CU_GLOBS\" -v names=\"\$CU_NAMES\" -f '$DIR/t/standby.awk'" \
      <"$DIR/t/standby" >&2 2>"$DIR/t/standby.err" 3<&- 4>&- 5>&- 6>&- 9<&-
  )
  echo $? >"$DIR/t/ended"
}

# Stacks of all CPUs, in memory of the kernel that is overwritten again and again; a signal has them written. Killed at
# the end, for what it holds is of no use by then. At most 16 MiB in all, 2 MiB a CPU.
stacks() {
  if ! command -v perf >/dev/null 2>&1 || ! perf_ok; then
    say "note no stacks: perf is missing or not allowed"
    return
  fi
  k_=0
  while read -r x_ R_; do case $x_ in cpu[0-9]*) k_=$((k_ + 1)) ;; esac; done </proc/stat
  g_=512
  while [ $((g_ * k_)) -gt 4096 ] && [ $g_ -gt 16 ]; do g_=$((g_ / 2)); done
  STAT='read -r x </proc/self/stat; set -- ${x##*) }'
  (
    cd "$DIR/ring" || exit 1
    CULPRIT_JOB=$RUN/stacks/ CU_L=$DIR/l/s2 CU_M=$MYPGRP CU_CAGE=$CAGE CU_F=0 CU_V=
    CU_LINE="$END 9000000000000 KILL stacks"
    export CULPRIT_JOB CU_L CU_M CU_CAGE CU_F CU_V CU_LINE
    PERF_CONFIG=/dev/null DEBUGINFOD_URLS= exec $SID $NI $SH -c "$PRE${NL}$STAT${NL}echo \$\$ \${20} >perf.pid${NL}set --${NL}exec perf record --overwrite --switch-output=signal -N --no-bpf-event -k CLOCK_MONOTONIC -F $STACKS -a -g -m $g_ -o perf.data" \
      </dev/null >"$DIR/t/perf.err" 2>&1 3<&- 4>&- 5>&- 6>&- 9<&-
  ) &
}

# What the awk is told. Files that cannot be read here are left out.
spell() {
  [ "$RING_SECS" = 0 ] || echo "R $RING_SECS $RING_BYTES"
  set -f
  for y_ in $RING_FILES; do
    set +f
    for p_ in $y_; do
      x_=
      { read -r x_ <"$p_"; } 2>/dev/null || [ -n "$x_" ] || continue
      echo "F $p_"
    done
  done
  set +f
  for p_ in "$DIR"/ring/r.*; do
    [ ! -e "$p_" ] || echo "O ${p_##*/}"
  done
  [ -z "$SPELLED" ] || printf '%s' "$SPELLED"
}

# The conditions, with the control group of a unit in the place of its name, into SPELLED.
conditions() {
  SPELLED=
  while read -r k_ o_ l_ h_ m_ y_; do
    [ -n "$k_" ] || continue
    [ "$k_" != unit_start ] || place_of_unit "$y_"
    SPELLED="${SPELLED}C $k_ $o_ $l_ $h_ $m_ $y_$NL"
  done <<X
$CONDITIONS
X
  CU_GLOBS=
  for x_ in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/pids; do
    for p_ in docker system.slice/docker- machine.slice/libpod- 'kubepods*/*' 'kubepods*/*/*'; do
      CU_GLOBS="$CU_GLOBS $x_/$p_"
      case $p_ in *-) CU_GLOBS="$CU_GLOBS*" ;; *) CU_GLOBS="$CU_GLOBS/*" ;; esac
    done
  done
  tool timeout T_timeout
  t_=
  [ -z "$T_timeout" ] || t_="$T_timeout 2"
  CU_NAMES="n() { for e in docker podman; do command -v \$e >/dev/null && $t_ \$e inspect -f {{.Name}} \$1 2>/dev/null && return; done; }; n"
}

# A unit that does not run yet has no control group; its slice says where that will be.
place_of_unit() {
  u_=$1
  case $u_ in *.*) ;; *) u_=$u_.service ;; esac
  s_=$(ask systemctl show -p Slice -- "$u_")
  s_=${s_#Slice=}
  s_=${s_%.slice}
  y_=
  x_=
  while [ -n "${s_:-}" ]; do
    y_=$y_${y_:+-}${s_%%-*}
    x_=$x_/$y_.slice
    case $s_ in *-*) s_=${s_#*-} ;; *) s_= ;; esac
  done
  y_=${x_:-/system.slice}/$u_
}
