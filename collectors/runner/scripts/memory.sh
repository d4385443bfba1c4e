# Where nothing can be written: what collectors print is kept in memory, packed, up to a small cap.

# Way $2 of job $1 where nothing can be written: standard output is kept in memory, packed, up to a small cap.
# The script runs in /proc, where not even root can create a file.
piped() {
  eval "opt_=\$J$1_options sh_=\$J$1_$2_sh show_=\$J$1_$2_shows"
  proc self
  cpu_=$CPU
  up
  O_T0=$CS
  capture "$secs" "$PRE${NL}unset CU_V_$NL$opt_$NL$sh_"
  up
  O_T1=$CS
  proc self
  O_CPU=$(((CPU - cpu_) * 1000 / TCK))
  [ "$O_EXIT" != 69 ] || return 1
  why "$1"
  # SIGPIPE: it had more to say than is kept.
  [ "$O_EXIT" != 141 ] || [ -n "$WHY" ] || WHY=bytes
  verdict
  if [ "$STATE" = failed ] && [ "$WHY" != bytes ]; then
    outcome "$1" skipped "argv $show_${NL}reason reason.no_space free=$((FREE * 1024)) need=$((NEED_KB * 1024))$NL"
    return 0
  fi
  [ -z "$V" ] || memory_part "$id" stdout
  outcome "$1" "$STATE" "argv $show_$NL${REASON:+reason $REASON$NL}"
  return 0
}

# Runs the script $2 for about $1 s; its packed output into V, its exit status into O_EXIT.
capture() {
  cap_=$cap
  [ "$cap_" -le "$PIPE_BYTES" ] || cap_=$PIPE_BYTES
  # Two ways out of one pipeline: 7 carries what was packed, 8 how the script ended.
  V=$({ { {
    printf %s "${IN-}" | (
      cd /proc || exit 1
      SECS=$secs BYTES=$cap_ ARGV=/dev/null CULPRIT_JOB=$RUN/$id/ CU_L= CU_M=$MYPGRP CU_CAGE=$CAGE CU_F=0 CU_V= CU_LINE=
      export SECS BYTES ARGV CULPRIT_JOB CU_L CU_M CU_CAGE CU_F CU_V CU_LINE
      t_=
      [ -z "$T_timeout" ] || t_="$T_timeout -s INT -k 4 $(($1 + grace))"
      exec $SID $t_ $NI $SH -c "$2" 2>/dev/null 3<&- 4>&- 5>&- 6>&- 7>&- 8>&- 9<&-
    )
    echo "$?" >&8
  } | $T_head -c "$cap_" | $MEMPACK >&7; } 8>&1 | { read -r x_; exit "$x_"; }; } 7>&1)
  O_EXIT=$?
}

memory_part() {
  sum "$V"
  take
  printf 'CULPRIT1 kind=part id=%s part=%s len=%s %s enc=%s raw=- complete=%s\n%s\n' \
    "$1" "$2" ${#V} "$SUM" "$MEMENC" "$COMPLETE" "$V" >&4
  give
  O_BYTES=${#V}
  O_PARTS=1
}

# The end of a sampler that wrote to memory: job $1, way $2.
sampled_end() {
  up
  O_T1=$CS
  proc self
  O_CPU=$(((CPU - cpu_) * 1000 / TCK))
  eval "O_WAY=\$J$1_$2_name show_=\$J$1_$2_shows"
  O_BYTES=0 O_PARTS=0
  why "$1"
  verdict
  if [ -n "$V" ]; then
    memory_part "$id" samples
  elif [ "$STATE" = done ]; then
    STATE=failed REASON=reason.no_data
  fi
  outcome "$1" "$STATE" "argv $show_$NL${REASON:+reason $REASON$NL}"
}
