# A watcher runs one awk instead of collectors, for as long as its lease is valid.

# Run the watcher in place of the collectors. WATCHER_EXIT is its exit status.
run_watcher() {
  WATCHER_EXIT=
  if [ -z "$T_awk" ] || ! $T_mkdir "$DIR/lookback" || ! printf '%s\n' "$WATCHER_AWK" >"$DIR/t/watcher.awk"; then
    WATCHER_EXIT=unable
    return
  fi 2>/dev/null
  resolve_conditions
  [ "$STACKS" = 0 ] || record_stacks
  n_=0
  while :; do
    list_watcher_input >"$DIR/t/watcher"
    run_watcher_process &
    wait_for_child $!
    r_=
    { read -r r_ <"$DIR/t/ended"; } 2>/dev/null
    # A file opened but could not be read, and mawk exits then. Files that cannot be read now are left out from here on.
    n_=$((n_ + 1))
    [ "$r_" = 2 ] && [ $n_ -lt 20 ] && [ -e "$DIR/go" ] || break
  done
  WATCHER_EXIT=${r_:-lost}
}

# Run the watcher process once. Its lines are sent on stderr.
run_watcher_process() {
  (
    cd "$DIR/lookback" || exit 1
    CULPRIT_JOB=$RUN/watcher/ CU_L=$DIR/l/s1 CU_M=$MYPGRP CU_CGROUPS=$CGROUPS CU_F=0 CU_V=
    CU_LINE="$END 9000000000000 TERM watcher"
    export CULPRIT_JOB CU_L CU_M CU_CGROUPS CU_F CU_V CU_LINE CU_GLOBS CU_NAMES
    exec $SID $NI $SH -c "$PRE${NL}exec $T_awk -v go='$DIR/go' -v main=$MAIN -v guard=$GUARD -v tck=$TCK -v nap='$T_sleep' -v rm='$T_rm -f' -v globs=\"\$CU_GLOBS\" -v names=\"\$CU_NAMES\" -f '$DIR/t/watcher.awk'" \
      <"$DIR/t/watcher" >&2 2>"$DIR/t/watcher.err" 3<&- 4>&- 5>&- 6>&- 9<&-
  )
  echo $? >"$DIR/t/ended"
}

# Record stacks of all CPUs into kernel memory that is overwritten; a signal writes them to a file. The process is killed
# at the end, because its content is not needed then. At most 16 MiB in all, 2 MiB per CPU.
record_stacks() {
  if ! command -v perf >/dev/null 2>&1 || ! is_perf_allowed; then
    log "note no stacks: perf is missing or not allowed"
    return
  fi
  k_=0
  while read -r x_ R_; do case $x_ in cpu[0-9]*) k_=$((k_ + 1)) ;; esac; done </proc/stat
  g_=512
  while [ $((g_ * k_)) -gt 4096 ] && [ $g_ -gt 16 ]; do g_=$((g_ / 2)); done
  STAT='read -r x </proc/self/stat; set -- ${x##*) }'
  (
    cd "$DIR/lookback" || exit 1
    CULPRIT_JOB=$RUN/stacks/ CU_L=$DIR/l/s2 CU_M=$MYPGRP CU_CGROUPS=$CGROUPS CU_F=0 CU_V=
    CU_LINE="$END 9000000000000 KILL stacks"
    export CULPRIT_JOB CU_L CU_M CU_CGROUPS CU_F CU_V CU_LINE
    PERF_CONFIG=/dev/null DEBUGINFOD_URLS= exec $SID $NI $SH -c "$PRE${NL}$STAT${NL}echo \$\$ \${20} >perf.pid${NL}set --${NL}exec perf record --overwrite --switch-output=signal -N --no-bpf-event -k CLOCK_MONOTONIC -F $STACKS -a -g -m $g_ -o perf.data" \
      </dev/null >"$DIR/t/perf.err" 2>&1 3<&- 4>&- 5>&- 6>&- 9<&-
  ) &
}

# List the input of the awk. Files that cannot be read here are left out.
list_watcher_input() {
  [ "$LOOKBACK_SECS" = 0 ] || echo "R $LOOKBACK_SECS $LOOKBACK_BYTES"
  set -f
  for y_ in $LOOKBACK_FILES; do
    set +f
    for p_ in $y_; do
      x_=
      { read -r x_ <"$p_"; } 2>/dev/null || [ -n "$x_" ] || continue
      echo "F $p_"
    done
  done
  set +f
  for p_ in "$DIR"/lookback/r.*; do
    [ ! -e "$p_" ] || echo "O ${p_##*/}"
  done
  [ -z "$CONDITION_LINES" ] || printf '%s' "$CONDITION_LINES"
}

# Resolve the conditions into CONDITION_LINES, with control groups in place of unit names.
resolve_conditions() {
  CONDITION_LINES=
  while read -r k_ o_ l_ h_ m_ y_; do
    [ -n "$k_" ] || continue
    [ "$k_" != unit_start ] || find_unit_cgroup "$y_"
    CONDITION_LINES="${CONDITION_LINES}C $k_ $o_ $l_ $h_ $m_ $y_$NL"
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
  find_tool timeout T_timeout
  t_=
  [ -z "$T_timeout" ] || t_="$T_timeout 2"
  CU_NAMES="n() { for e in docker podman; do command -v \$e >/dev/null && $t_ \$e inspect -f {{.Name}} \$1 2>/dev/null && return; done; }; n"
}

# Find the control group of a unit. A unit that is not running has none yet; its slice shows where it will be.
find_unit_cgroup() {
  u_=$1
  case $u_ in *.*) ;; *) u_=$u_.service ;; esac
  s_=$(query_daemon systemctl show -p Slice -- "$u_")
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
