# Collectors without a process of their own: one awk reads the files of all of them.

# List the files that the sampler reads for method $2 of job $1, with output file $4 and at most $3 bytes. A file in
# /sys may exist and be unreadable, and mawk exits then, so each file is tried. The network files of a target are read
# through it. Processes end all the time, so their files are read by grep, which continues then.
list_sampler_input() {
  eval "e_=\$J$1_$2_every o_=\$J$1_$2_once f_=\$J$1_$2_paths"
  printf 'J %s %s %s %s %s %s\n' "$1" "$e_" "$o_" "$secs" "$3" "$4"
  set -f
  for y_ in $f_; do
    set +f
    case $y_ in
      /sys/*)
        for p_ in $y_; do
          x_=
          { read -r x_ <"$p_"; } 2>/dev/null || [ -n "$x_" ] || continue
          printf 'F %s %s\n' "$1" "$p_"
        done ;;
      /proc/net/*)
        for p_ in $y_; do
          if [ -n "$NETPID" ]; then echo "N $1 /proc/$NETPID${p_#/proc} $p_"; else echo "F $1 $p_"; fi
        done ;;
      '/proc/[0-9]*/'*)
        if [ -n "$T_grep" ] && [ -n "$T_xargs" ]; then echo "G $1 $y_"; else printf "F $1 %s\n" $y_; fi ;;
      *) printf "F $1 %s\n" $y_ ;;
    esac
  done
  set +f
}

# Run the sampler for the jobs `n:w ...`. Without a directory, for one job, its output is kept in memory.
run_samplers() {
  trap '' INT
  max=0
  AWKV="-v main=/proc/$MAIN/stat -v frac=$FRAC -v many='$T_xargs@$T_grep' -v share=0.02"
  for x in "$@"; do
    n=${x%:*}
    w=${x#*:}
    load_job "$n"
    log_running "$n"
    [ "$secs" -le "$max" ] || max=$secs
    if [ -n "$DIR" ]; then
      list_sampler_input "$n" "$w" "$cap" "$DIR/s/$n" >>"$DIR/t/spec.$1"
      continue
    fi
    [ "$cap" -le "$PIPE_BYTES" ] || cap=$PIPE_BYTES
    IN=$(list_sampler_input "$n" "$w" "$cap" /dev/stdout)
  done
  begin_timing
  grace=15
  if [ -z "$DIR" ]; then
    CU_AWK=$SAMPLER
    export CU_AWK
    capture_output "$max" "$PRE${NL}exec $T_awk $AWKV -v nap='$T_sleep' \"\$CU_AWK\""
    finish_memory_sampler "$n" "$w"
    return
  fi
  printf '%s\n' "$SAMPLER" >"$DIR/t/sampler.awk"
  n_=0
  again=
  sn=$n
  while :; do
    run_sampler_process "$1" "$again"
    [ "$O_EXIT" = 2 ] && [ "$n_" -lt 20 ] && [ -e "$DIR/go" ] || break
    # A file opened but could not be read. Files that cannot be read now are left out from here on.
    n_=$((n_ + 1))
    again="-v begun=$O_T0"
    while read -r k_ v_ f_; do
      x_=
      y_=$f_
      [ "$k_" != N ] || y_=${f_%% *}
      case $k_ in J | G) ;; *) false ;; esac || { read -r x_ <"$y_"; } 2>/dev/null || [ -n "$x_" ] || [ ! -e "$y_" ] || continue
      echo "$k_ $v_ $f_"
    done <"$DIR/t/spec.$1" >"$DIR/t/spec.new.$1"
    $T_mv -f "$DIR/t/spec.new.$1" "$DIR/t/spec.$1"
  done
  end_timing
  all_cpu=$O_CPU
  all_exit=$O_EXIT
  total_=0
  for x in "$@"; do eval "bytes_${x%:*}=0 over_${x%:*}=0 gone_${x%:*}=0"; done
  while read -r j_ b_ x_ v_ g_; do
    eval "bytes_$j_=$b_ over_$j_=$v_ gone_$j_=$g_"
    total_=$((total_ + b_))
  done <"$DIR/t/stats.$1"
  e_=
  ! [ -s "$DIR/t/s.err.$1" ] || e_=$($T_tail -c 1024 "$DIR/t/s.err.$1" | $T_tr -d '\000')
  for x in "$@"; do record_sampled_job "${x%:*}" "${x#*:}"; done
  # The light jobs send it with theirs.
  if [ -z "$LIGHT" ]; then send_finished $POOLED; else kill -s USR2 "${ME_-$LIGHT_PID}" 2>/dev/null; fi
}

# Run the sampler process once with the file list $1; $2 are extra options of awk. It keeps the priority of an ordinary
# program, because counters are needed most where no CPU is free; it limits its CPU time itself.
run_sampler_process() {
  (
    cd "$DIR/s" || exit 1
    read_uptime
    CULPRIT_JOB=$RUN/sampler/ CU_L=$DIR/l/s$sn CU_M=$MYPGRP CU_CGROUPS=$CGROUPS CU_F=0
    CU_LINE="$((O_T0 + max * 100 + 1500)) 9000000000000 INT sampler"
    export CULPRIT_JOB CU_L CU_M CU_CGROUPS CU_F CU_LINE
    exec $SID $SH -c "$PRE${NL}exec $T_awk $AWKV $2 -v stats=1 -v go='$DIR/go' -v nap='$T_sleep' -f '$DIR/t/sampler.awk'" \
      <"$DIR/t/spec.$1" >"$DIR/t/stats.$1" 2>"$DIR/t/s.err.$1" 3<&- 4>&- 5>&- 6>&- 9<&-
  )
  O_EXIT=$?
  $T_rm -f "$DIR/l/s$sn"
}

# Record the outcome of sampled job $1, method $2.
record_sampled_job() {
  load_job "$1" "$2"
  eval "b_=\$bytes_$1 v_=\$over_$1 g_=\$gone_$1"
  O_EXIT=$all_exit O_LIST= O_SIG=
  find_stop_reason "s$sn"
  [ "$v_" = 0 ] || WHY=bytes
  set_job_state
  [ "$g_" = 0 ] || [ -n "$REASON" ] || REASON="reason.target_gone pid=$NETPID"
  if [ -s "$DIR/s/$1" ]; then O_LIST=$DIR/s/$1; elif [ "$STATE" = done ]; then STATE=failed REASON=reason.no_data; fi
  O_CPU=0 O_BYTES=0 O_PARTS=0
  [ "$total_" = 0 ] || O_CPU=$((all_cpu * b_ / total_))
  record_outcome "$1" "$STATE" "argv $show_${NL}version $T_awk$NL${REASON:+reason $REASON$NL}stderr$NL$e_"
}
