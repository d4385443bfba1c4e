# Without a writable directory: keep the output of collectors in memory, compressed, up to a small cap.

# Run method $2 of job $1 without a directory: standard output is kept in memory, compressed, up to a small cap.
# The script runs in /proc, where not even root can create a file.
run_in_memory() {
  eval "opt_=\$J$1_options sh_=\$J$1_$2_sh show_=\$J$1_$2_command"
  read_stat self
  cpu_=$CPU
  read_uptime
  O_T0=$CS
  capture_output "$secs" "$PRE${NL}unset CU_V_$NL$opt_$NL$sh_"
  read_uptime
  O_T1=$CS
  read_stat self
  O_CPU=$(((CPU - cpu_) * 1000 / TCK))
  [ "$O_EXIT" != 69 ] || return 1
  find_stop_reason "$1"
  # SIGPIPE: the output is larger than the cap.
  [ "$O_EXIT" != 141 ] || [ -n "$WHY" ] || WHY=bytes
  set_job_state
  if [ "$STATE" = failed ] && [ "$WHY" != bytes ]; then
    record_outcome "$1" skipped "argv $show_${NL}reason reason.no_space free=$((FREE * 1024)) need=$((NEED_KB * 1024))$NL"
    return 0
  fi
  [ -z "$V" ] || send_memory_part "$id" stdout
  record_outcome "$1" "$STATE" "argv $show_$NL${REASON:+reason $REASON$NL}"
  return 0
}

# Run script $2 for about $1 s. Write its compressed output into V, its exit status into O_EXIT.
capture_output() {
  cap_=$cap
  [ "$cap_" -le "$PIPE_BYTES" ] || cap_=$PIPE_BYTES
  # The pipeline has two outputs: 7 has the compressed data, 8 the exit status of the script.
  V=$({ { {
    printf %s "${IN-}" | (
      cd /proc || exit 1
      export "OUT_$id="
      SECS=$secs BYTES=$cap_ ARGV=/dev/null CULPRIT_JOB=$RUN/$id/ CU_L= CU_M=$MYPGRP CU_CGROUPS=$CGROUPS CU_F=0 CU_V= CU_LINE=
      export SECS BYTES ARGV CULPRIT_JOB CU_L CU_M CU_CGROUPS CU_F CU_V CU_LINE
      t_=
      [ -z "$T_timeout" ] || t_="$T_timeout -s INT -k 4 $(($1 + grace))"
      exec $SID $t_ $NI $SH -c "$2" 2>/dev/null 3<&- 4>&- 5>&- 6>&- 7>&- 8>&- 9<&-
    )
    echo "$?" >&8
  } | $T_head -c "$cap_" | $MEMPACK >&7; } 8>&1 | { read -r x_; exit "$x_"; }; } 7>&1)
  O_EXIT=$?
}

send_memory_part() {
  compute_sum "$V"
  acquire_output
  printf 'CULPRIT1 kind=part id=%s part=%s len=%s %s enc=%s raw=- complete=%s\n%s\n' \
    "$1" "$2" ${#V} "$SUM" "$MEMENC" "$COMPLETE" "$V" >&4
  release_output
  O_BYTES=${#V}
  O_PARTS=1
}

# Finish a sampler that wrote to memory: job $1, method $2.
finish_memory_sampler() {
  read_uptime
  O_T1=$CS
  read_stat self
  O_CPU=$(((CPU - cpu_) * 1000 / TCK))
  eval "O_METHOD=\$J$1_$2_name show_=\$J$1_$2_command"
  O_BYTES=0 O_PARTS=0
  find_stop_reason "$1"
  set_job_state
  if [ -n "$V" ]; then
    send_memory_part "$id" samples
  elif [ "$STATE" = done ]; then
    STATE=failed REASON=reason.no_data
  fi
  record_outcome "$1" "$STATE" "argv $show_$NL${REASON:+reason $REASON$NL}"
}
