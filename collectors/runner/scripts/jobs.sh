# Choose a method for each collector, run it, and send its files.

# The first lines of every script: record the process group, join the control groups, set the file size limit.
PRE='trap "" INT
read -r CU_X </proc/self/stat; CU_X=${CU_X##*) }
set -- $CU_X
CU_G=$3
[ "$CU_G" != "$CU_M" ] || CU_G=0
for CU_X in $CU_L; do echo "$CU_G ${20} $CU_LINE" >"$CU_X"; done
# The guard writes the stop file and then lists jobs. The job registers and then checks for the stop file.
[ -z "$CU_L" ] || [ ! -e "$DIR/stop" ] || exit 143
set --
for CU_X in $CU_CGROUPS; do { echo $$ >"$CU_X/cgroup.procs"; } 2>/dev/null; done
[ -z "${BASH_VERSION-}" ] || set -o posix
[ "$CU_F" = 0 ] || ulimit -f "$CU_F" 2>/dev/null
[ -z "${BASH_VERSION-}" ] || set +o posix
CU_V_=$CU_V
unset CU_X CU_G CU_M CU_L CU_LINE CU_CGROUPS CU_F CU_V'

# Check whether method $2 of job $1 can run. Sets WHY to the reason if it cannot.
check_method() {
  WHY=
  eval "k_=\$J$1_$2_kind t_=\$J$1_$2_tools f_=\$J$1_$2_files r_=\$J$1_$2_root p_=\$J$1_$2_perf g_=\$J$1_$2_target"
  for x_ in $t_; do
    command -v "$x_" >/dev/null 2>&1 || { WHY="reason.tool_missing tool=$x_"; return 1; }
  done
  [ "$k_" != sampled ] || [ -n "$T_awk" ] || { WHY="reason.tool_missing tool=awk"; return 1; }
  [ "$r_" = 0 ] || [ "$MYUID" = 0 ] || { WHY=reason.needs_root; return 1; }
  [ "$g_" = 0 ] || [ -n "${TARGET_PID-}" ] || { WHY=reason.needs_target; return 1; }
  for x_ in $f_; do
    set -- $x_
    [ -r "$1" ] || { WHY="reason.file_missing file=$x_"; return 1; }
  done
  [ "$p_" = 0 ] || is_perf_allowed || { WHY="reason.perf_not_allowed paranoid=$PARANOID"; return 1; }
}

# Check system-wide perf events: CAP_SYS_ADMIN (bit 21) or CAP_PERFMON (38), or a permissive kernel setting.
is_perf_allowed() {
  [ -z "${PERF_OK-}" ] || return "$PERF_OK"
  PARANOID=-
  { read -r PARANOID </proc/sys/kernel/perf_event_paranoid; } 2>/dev/null
  PERF_OK=1
  case $PARANOID in -*) PERF_OK=0 ;; esac
  x_=0
  while read -r k_ v_; do [ "$k_" != CapEff: ] || { x_=$v_; break; }; done </proc/self/status
  [ "$PARANOID" = - ] || [ $(((0x$x_ >> 21 | 0x$x_ >> 38) & 1)) = 0 ] || PERF_OK=0
  return $PERF_OK
}

# Find why job $1 was stopped. Sets WHY; sets STOP if the whole run is stopping.
find_stop_reason() {
  WHY=
  # The guard removes this file before it stops a job. Taking turns costs about thirty system calls.
  if [ -z "$DIR" ] || [ ! -e "$DIR/go" ]; then
    acquire_output
    release_output
  fi
  [ -z "$DIR" ] || [ -n "$STOP" ] || [ ! -e "$DIR/stop" ] || read -r STOP <"$DIR/stop"
  [ -z "$DIR" ] || [ ! -e "$DIR/w/$1" ] || read -r WHY <"$DIR/w/$1"
  [ -n "$WHY" ] || [ -z "$STOP" ] || WHY=stop
}

# Record the outcome of job $1: state $2, meta lines $3, header fields from O_ variables, files in O_LIST. With a
# directory it is stored for `send_finished`, and sent immediately only if the directory is full.
record_outcome() {
  eval "id_=\$J$1_id"
  read_uptime
  [ -z "$DIR" ] || ! store_outcome "$1" "$2" "$3" || return 0
  for f_ in ${O_LIST-}; do send_part "$id_" "$DIR/$f_"; done
  build_outcome_fields "$2"
  send_frame outcome "$id_" - "$3" "$FIELDS"
  log "progress $id_ $2 $(((CS - BEGUN) * 10))"
}

store_outcome() {
  {
    printf %s "$3" >"$DIR/o/$1" &&
      printf '%s\n' "$2 ${O_METHOD:--} ${O_EXIT:--} ${O_SIG:--} ${O_T0:-$CS} ${O_T1:-$CS} ${O_CPU:-0} ${COMPLETE:-1} ${#3}" \
        "${O_LIST-}" . >"$DIR/r/$1"
  } 2>/dev/null
}

build_outcome_fields() {
  FIELDS="state=$1 method=${O_METHOD:--} exit=${O_EXIT:--} signal=${O_SIG:--} start=${O_T0:-$CS}0000000 end=${O_T1:-$CS}0000000 cpu_ms=${O_CPU:-0} bytes=${O_BYTES:-0} parts=${O_PARTS:-0} limiter=$LIMITER"
}

log_running() {
  read_uptime
  log "progress $1 running $(((CS - BEGUN) * 10))"
}

# Send file $2 as a part of collector $1.
send_part() {
  raw_=$($T_wc -c <"$2")
  O_BYTES=$((O_BYTES + raw_))
  O_PARTS=$((O_PARTS + 1))
  compute_sum '' "$2"
  acquire_output
  build_part_header "$1" "$2" "$((raw_))" "$SUM" identity "$((raw_))" "${COMPLETE:-1}"
  printf '%s\n' "$HEAD" >&4
  $T_cat "$2" >&4
  echo >&4
  release_output
}

# Build the header of the part of collector $1 from file $2 into HEAD: length, sum, encoding, raw length, complete.
build_part_header() {
  y_=${2##*/}
  [ "$2" != "$DIR/s/$y_" ] || y_=samples
  HEAD="CULPRIT1 kind=part id=$1 part=$y_ len=$3 $4 enc=$5 raw=$6 complete=$7"
}

# Run job $1 with the first of its methods that works, in a process of its own. Method $2 has already failed, with the
# standard error $3.
run_job() {
  trap '' INT
  failed_=${2-} O_TEXT=${3-}
  eval "id=\$J$1_id secs=\$J$1_secs cap=\$J$1_cap grace=\$J$1_grace"
  eval "set -- $1 \$J$1_methods"
  n=$1
  shift
  TRIED= first_= O_LIST=
  for w; do
    O_METHOD= O_EXIT= O_SIG= O_T0= O_T1= O_CPU=0 O_BYTES=0 O_PARTS=0
    eval "name_=\$J${n}_${w}_name kind_=\$J${n}_${w}_kind"
    if [ "$w" = "$failed_" ]; then
      WHY="reason.unavailable exit=69 method=$name_"
    elif check_method "$n" "$w"; then
      find_stop_reason "$n"
      if [ -n "$STOP" ]; then
        eval "set -- $n \${WITH_$n-}"
        for x; do record_outcome "${x%:*}" canceled "reason reason.stopped why=$STOP$NL"; done
        return
      fi
      O_METHOD=$name_
      if [ "$kind_" = sampled ]; then
        run_samplers "$n:$w"
        return
      fi
      log_running "$id"
      if [ -n "$DIR" ]; then run_script "$n" "$w" && return; else run_in_memory "$n" "$w" && return; fi
      WHY="reason.unavailable exit=69 method=$name_"
    fi
    TRIED="${TRIED}tried $name_ $WHY$NL"
    [ -n "$first_" ] || first_=$WHY
  done
  record_outcome "$n" skipped "reason $first_$NL$TRIED$O_TEXT"
}

# Run method $2 of job $1 in a directory of its own. False if the method reports that it cannot work here. The jobs in
# WITH_<job>, as `n:w ...`, share the script: it writes their files, too.
run_script() {
  D=$DIR/c/$1
  F=$DIR/t/$1
  [ -d "$D" ] || $T_mkdir -p "$D"
  eval "opt_=\$J$1_options sh_=\$J$1_$2_sh ver_=\$J$1_$2_version show_=\$J$1_$2_command stop_=\$J$1_$2_stop fuse_=\$J$1_$2_fuse with_=\${WITH_$1-}"
  unset "WITH_$1"
  [ -z "$ver_" ] || ver_="{ $ver_$NL} >\"\$CU_V_\" 2>&1 </dev/null"
  if ! printf '%s\n' "$PRE" "$ver_" 'unset CU_V_' "$opt_" "$sh_" >"$F.sh"; then
    WHY="reason.no_space free=$((FREE * 1024)) need=$((NEED_KB * 1024))"
    for x in $1 $with_; do record_outcome "${x%:*}" skipped "reason $WHY$NL"; done
    return 0
  fi
  for x in $with_; do
    eval "log_running \"\$J${x%:*}_id\""
  done
  read_uptime
  O_T0=$CS
  (
    cd "$D" || exit 1
    CU_L=$DIR/l/$1.$2
    export "OUT_$id=."
    for x in $with_; do
      eval "export OUT_\$J${x%:*}_id=\$DIR/c/${x%:*}"
      CU_L="$CU_L $DIR/l/${x%:*}.${x#*:}"
    done
    SECS=$secs BYTES=$cap ARGV=$F.argv CULPRIT_JOB=$RUN/$id/ CU_M=$MYPGRP CU_CGROUPS=$CGROUPS
    CU_F=$((fuse_ / 512 + 1)) CU_V=$F.version CU_LINE="$((CS + (secs + grace) * 100)) $cap $stop_ $id"
    export SECS BYTES ARGV CULPRIT_JOB CU_L CU_M CU_CGROUPS CU_F CU_V CU_LINE
    exec $SID $NI $SH "$F.sh" </dev/null >"$D/stdout" 2>"$F.err" 3<&- 4>&- 5>&- 6>&- 9<&-
  )
  O_EXIT=$?
  read_uptime
  O_T1=$CS
  # This process was forked for the job, so all of its time is that of the job.
  read_stat self
  set -- "$1:$2" $with_
  O_CPU=$((CPU * 1000 / TCK / $#))
  # The leader ended, so processes that remain in its group are killed.
  ! read -r g_ R_ 2>/dev/null <"$DIR/l/${1%:*}.${1#*:}" || [ "$g_" = 0 ] || kill -KILL "-$g_" 2>/dev/null
  e_=
  ! [ -s "$F.err" ] || e_=$($T_tail -c 4096 "$F.err" | $T_tr -d '\000')
  argv_= v_=
  ! [ -s "$F.argv" ] || read -r argv_ <"$F.argv"
  ! [ -s "$F.version" ] || read -r v_ <"$F.version"
  for x; do { :; } 2>/dev/null >"$DIR/l/${x%:*}.${x#*:}"; done
  if [ "$O_EXIT" = 69 ]; then
    O_TEXT="stderr$NL$e_$NL"
    x_=
    for x; do x_="$x_ $DIR/c/${x%:*}"; done
    $T_rm -rf $x_
    shift
    for x; do { run_job "${x%:*}" "${x#*:}" "$O_TEXT"; kill -s USR2 "$ME_"; } & done
    return 1
  fi
  for x; do record_script "${x%:*}"; done
  return 0
}

# Record the outcome of the script that wrote the files of job $1.
record_script() {
  find_stop_reason "$1"
  O_SIG= O_LIST=
  set_job_state
  for f_ in "$DIR/c/$1"/*; do
    [ -f "$f_" ] && [ ! -L "$f_" ] || continue
    case ${f_##*/} in
      *[!A-Za-z0-9._-]*) continue ;;
      stdout) [ -s "$f_" ] || continue ;;
    esac
    O_LIST="$O_LIST ${f_#"$DIR/"}"
  done
  # Without a fork where nothing is cut.
  argv_=${argv_:-$show_}
  [ ${#argv_} -le 1024 ] || argv_=$(printf %.1024s "$argv_")
  [ ${#v_} -le 200 ] || v_=$(printf %.200s "$v_")
  record_outcome "$1" "$STATE" "argv $argv_${NL}version $v_$NL${REASON:+reason $REASON$NL}${TRIED}stderr$NL$e_"
}

# Set STATE, REASON and COMPLETE from the exit status (O_EXIT) and the stop reason (WHY).
set_job_state() {
  STATE=done
  REASON=
  COMPLETE=1
  # perf and git exit with 129 on wrong usage; the runner sends no SIGHUP to jobs.
  if [ "$O_EXIT" -gt 129 ]; then
    O_SIG=$(kill -l "$((O_EXIT - 128))" 2>/dev/null)
    STATE=failed
    REASON="reason.killed_by signal=${O_SIG:-$((O_EXIT - 128))}"
    [ "$O_EXIT" != 153 ] || WHY=bytes
  elif [ "$O_EXIT" != 0 ]; then
    STATE=failed
    REASON="reason.exit code=$O_EXIT"
  fi
  case $WHY in
    deadline) STATE=timed_out REASON="reason.deadline seconds=$((secs + grace))" ;;
    bytes) REASON="reason.byte_cap cap=$cap" ;;
    stop) STATE=canceled REASON="reason.stopped why=$STOP" ;;
  esac
  [ -z "$REASON" ] || COMPLETE=0
}
