# Collectors without a process of their own: one awk reads the files of all of them.

# List the files that the sampler reads for method $2 of job $1, with output file $4 and at most $3 bytes. A file in
# /sys may exist and be unreadable, and mawk exits then, so each file is tried, except for gawk, which continues. The
# network files of a target are read through it. Processes end all the time, so their files are read by grep, which
# continues then.
list_sampler_input() {
  eval "e_=\$J$1_$2_every o_=\$J$1_$2_once f_=\$J$1_$2_paths t_=\$J$1_$2_ends"
  printf 'J %s %s %s %s %s %s\n' "$1" "$e_" "$o_" "$secs" "$3" "$4"
  set -f
  for y_ in $f_; do
    set +f
    # E: only at the start and the end.
    case " $t_ " in *" $y_ "*) k_=E ;; *) k_=F ;; esac
    case $y_ in
      /sys/*)
        for p_ in $y_; do
          x_=
          [ -n "${CULPRIT_PAUSE-}" ] || { read -r x_ <"$p_"; } 2>/dev/null || [ -n "$x_" ] || continue
          echo "$k_ $1 $p_"
        done ;;
      /proc/net/*)
        for p_ in $y_; do
          if [ -n "$NETPID" ]; then echo "N $1 /proc/$NETPID${p_#/proc} $p_"; else echo "F $1 $p_"; fi
        done ;;
      '/proc/[0-9]*/'*)
        if [ -n "$T_grep" ] && [ -n "$T_xargs" ]; then echo "G $1 $y_"; else printf "F $1 %s\n" $y_; fi ;;
      *) printf "$k_ $1 %s\n" $y_ ;;
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
    eval "id=\$J${n}_id secs=\$J${n}_secs cap=\$J${n}_cap"
    log_running "$id"
    [ "$secs" -le "$max" ] || max=$secs
    if [ -n "$DIR" ]; then
      list_sampler_input "$n" "$w" "$cap" "$DIR/s/$n" >>"$DIR/t/spec.$1"
      continue
    fi
    [ "$cap" -le "$PIPE_BYTES" ] || cap=$PIPE_BYTES
    IN=$(list_sampler_input "$n" "$w" "$cap" /dev/stdout)
  done
  read_stat self
  cpu_=$CPU
  read_uptime
  O_T0=$CS
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
  read_uptime
  O_T1=$CS
  read_stat self
  all_cpu=$(((CPU - cpu_) * 1000 / TCK))
  all_exit=$O_EXIT
  total_=0 ALL= DONE=
  for x in "$@"; do
    n=${x%:*}
    eval "bytes_$n=0"
    [ ! -s "$DIR/s/$n" ] || ALL="$ALL $DIR/s/$n" DONE="$DONE $n"
  done
  count_files raw "$T_wc -c" "$ALL"
  i_=0
  for n in $DONE; do
    i_=$((i_ + 1))
    eval "bytes_$n=\${raw_$i_:-0} total_=\$((total_ + \${raw_$i_:-0}))"
  done
  while read -r n x_ x_ v_ x_; do eval "over_$n=\$v_ gone_$n=\$x_"; done <"$DIR/t/stats.$1"
  DONE=
  for x in "$@"; do record_sampled_job "${x%:*}" "${x#*:}"; done
  send_finished $DONE
}

# Run the sampler process once with the file list $1; $2 are extra options of awk. It keeps the priority of an ordinary
# program, because counters are needed most where no CPU is free; it limits its CPU time itself.
run_sampler_process() {
  (
    cd "$DIR/s" || exit 1
    read_uptime
    CULPRIT_JOB=$RUN/sampler/ CU_L=$DIR/l/s$sn.$n_ CU_M=$MYPGRP CU_CGROUPS=$CGROUPS CU_F=0 CU_V=
    CU_LINE="$((O_T0 + max * 100 + 1500)) 9000000000000 INT sampler"
    export CULPRIT_JOB CU_L CU_M CU_CGROUPS CU_F CU_V CU_LINE
    exec $SID $SH -c "$PRE${NL}exec $T_awk $AWKV $2 -v stats=1 -v go='$DIR/go' -v nap='$T_sleep' -f '$DIR/t/sampler.awk'" \
      <"$DIR/t/spec.$1" >"$DIR/t/stats.$1" 2>"$DIR/t/s.err.$1" 3<&- 4>&- 5>&- 6>&- 9<&-
  )
  O_EXIT=$?
  { :; } 2>/dev/null >"$DIR/l/s$sn.$n_"
}

# Record the outcome of sampled job $1, method $2, of the sampler with the file list $3.
record_sampled_job() {
  n=$1
  eval "id=\$J$1_id cap=\$J$1_cap secs=\$J$1_secs O_METHOD=\$J$1_$2_name show_=\$J$1_$2_command O_BYTES=\$bytes_$1"
  O_EXIT=$all_exit O_LIST= O_SIG=
  find_stop_reason "s$sn"
  eval "v_=\${over_$1-0} gone_=\${gone_$1-0}"
  [ "$v_" = 0 ] || WHY=bytes
  set_job_state
  [ "$gone_" = 0 ] || [ -n "$REASON" ] || REASON="reason.target_gone pid=$NETPID"
  if [ "$O_BYTES" -gt 0 ]; then O_LIST=s/$1; elif [ "$STATE" = done ]; then STATE=failed REASON=reason.no_data; fi
  e_=
  ! [ -s "$DIR/t/s.err.$3" ] || e_=$($T_tail -c 1024 "$DIR/t/s.err.$3" | $T_tr -d '\000')
  O_CPU=0
  [ "$total_" = 0 ] || O_CPU=$((all_cpu * O_BYTES / total_))
  O_BYTES=0 O_PARTS=0
  record_outcome "$1" "$STATE" "argv $show_${NL}version $T_awk$NL${REASON:+reason $REASON$NL}stderr$NL$e_"
  DONE="$DONE $1"
}
