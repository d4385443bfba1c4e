# The guard: a process in its own session that outlives the main shell. It ends the run when the server sends no
# heartbeat, closes the session or cancels, at the deadline, or when the main shell dies. It never writes to stdout.

run_guard() {
  unset q
  trap 'HB=1' USR1
  trap 'EV=finish' USR2
  trap 'EV=eof' TERM
  trap 'EV=cancel' HUP
  trap '' INT PIPE
  EV= HB= READER=
  read_uptime
  BEAT=$CS
  LAST=$CS
  CLOCK_AT=$((CS + 1000))
  SEQ=1
  if [ "$SILENCE" -gt 0 ]; then
    read_server <&3 3<&- 4>&- 5<&- 6<&- 9<&- &
    READER=$!
    read_stat "$READER"
    READ_AT=$START
  fi
  exec 3<&-
  DIR= TRY= LOCK= HAS_LOCK= CGROUPS= GO=
  cd /
  echo "$$" >&5
  # A watcher runs for hours, so its guard forks less often: its jobs have no deadlines or caps of their own.
  PACE=${WATCHER:+2}
  PACE=${PACE:-1}
  while :; do
    [ -n "$EV" ] || wait_s "$PACE"
    [ -n "$GO" ] || read_main_messages
    read_uptime
    # After a long pause (SIGSTOP, a stalled hypervisor) heartbeats may be waiting that were not read yet.
    [ $((CS - LAST)) -lt 500 ] || BEAT=$CS
    LAST=$CS
    [ -z "$HB" ] || { HB=; BEAT=$CS; }
    kill -0 "$MAIN" 2>/dev/null || EV=lost
    [ -n "$EV" ] || [ "$SILENCE" -eq 0 ] || [ $((CS - BEAT)) -lt $((SILENCE * 100)) ] || EV=silence
    [ -n "$EV" ] || [ "$CS" -lt "$END" ] || EV=deadline
    [ -z "$EV" ] || break
    [ -z "$DIR" ] || [ -n "$WATCHER" ] || enforce_limits
    if [ -z "$WATCHER" ] && [ -n "$GO" ] && [ "$CS" -ge "$CLOCK_AT" ]; then
      CLOCK_AT=$((CS + 1000))
      # In a child process: the output may block, and the guard must not.
      if [ -z "${TICK-}" ] || ! kill -0 "$TICK" 2>/dev/null; then
        send_clock tick $SEQ &
        TICK=$!
        SEQ=$((SEQ + 1))
      fi
    fi
  done
  why=$EV
  if [ "$why" != finish ]; then
    mark_stopping "$why" &
    TICK=$!
    stop_jobs "$why"
    case $why in
      cancel) wait_for_main "$FLUSH" ;;
      deadline) wait_for_main $((FLUSH * 2)) ;;
    esac
  elif [ -n "${TICK-}" ]; then
    wait_s "$NAPF"
  fi
  clean_up "$why"
  exit 0
}

# Read the messages of the main shell. The guard appends a line of its own, so that it never blocks.
read_main_messages() {
  echo . >&7
  while read -r k_ v_ <&7; do
    case $k_ in
      .) break ;;
      try) TRY=$v_ ;;
      dir) DIR=$v_ ;;
      cgroups) CGROUPS=$v_ ;;
      lease) LOCK_METHOD=${v_%% *} LOCK=${v_#* } ;;
      go) GO=1 ;;
    esac
  done
}

# Store the stop reason in the output lock: every writer that acquires the lock then reads it.
mark_stopping() {
  wait_for_output
  until read -r L_ <&5; do :; done
  echo "s$1" >&5
  release_output
}

# Read heartbeats and commands of the server.
read_server() {
  trap - USR1 USR2 TERM HUP
  while IFS= read -r l_; do
    case $l_ in
      "hb "*)
        l_=${l_#hb }
        case $l_ in
          *[!0-9]* | '' | ?????????????*) ;;
          *) kill -s USR1 $$; log "alive $l_" ;;
        esac ;;
      cancel) kill -s HUP $$ ;;
    esac
  done
  kill -s TERM $$
}

# Send signal $2 to the process group of the job in file $1.
signal_job() {
  { read -r g_ R_ <"$1"; } 2>/dev/null || return 0
  if [ "$g_" != 0 ]; then
    kill "-$2" "-$g_" 2>/dev/null
  else
    read -r g_ s_ d_ c_ sg_ id_ <"$1"
    read_uptime
    V_=$(list_run_processes "CULPRIT_JOB=$RUN/$id_/" "$T0" $$ $((CS * TCK / 100)) '')
    [ -z "$V_" ] || kill -s "$2" $V_ 2>/dev/null
  fi
}

# Enforce deadlines and byte caps of running jobs: the stop signal, TERM 3 s later, KILL 1 s after that.
# The next look is in two seconds while no job is near its deadline or has written an eighth of its cap.
enforce_limits() {
  PACE=2
  set -- "$DIR"/l/*
  [ -e "$1" ] || return 0
  SIZES=$NL$($T_du -sk "$DIR"/c/* 2>/dev/null)$NL
  for l_; do
    # A file is written once and emptied when its job ended. A shell reads byte by byte, so it is read once.
    [ -s "$l_" ] || continue
    n_=${l_##*/}
    f_=${n_%.*}_${n_##*.} n_=${n_%.*}
    eval "x_=\${LINE_$f_-}"
    if [ -z "$x_" ]; then
      { read -r x_ <"$l_"; } 2>/dev/null || continue
      eval "LINE_$f_=\$x_"
    fi
    set -- $x_
    s_=$2 d_=$3 c_=$4 sg_=$5
    eval "ph_=\${PH_${n_}_$s_-0} pt_=\${PT_${n_}_$s_-0}"
    why=
    k_=0
    case $SIZES in
      *"$TAB$DIR/c/$n_$NL"*)
        k_=${SIZES%%"$TAB$DIR/c/$n_$NL"*}
        k_=${k_##*"$NL"} ;;
    esac
    if [ "$ph_" = 0 ]; then
      [ "$CS" -lt "$d_" ] || why=deadline
      [ "$((k_ * 1024))" -le "$((c_ + 65536))" ] || why=bytes
      if [ "$((k_ * 2048))" -gt "$c_" ]; then
        PACE=$NAPF
      elif [ "$((k_ * 8192))" -gt "$c_" ] || [ "$((CS + 300))" -ge "$d_" ]; then
        [ "$PACE" != 2 ] || PACE=1
      fi
      if [ -n "$why" ]; then
        echo "$why" >"$DIR/w/$n_"
        signal_job "$l_" "$sg_"
        ph_=1 pt_=$CS
      fi
    fi
    [ "$ph_" = 0 ] || [ "$PACE" != 2 ] || PACE=1
    if [ "$ph_" = 1 ] && [ "$((CS - pt_))" -ge 300 ]; then
      signal_job "$l_" TERM
      ph_=2 pt_=$CS
    elif [ "$ph_" = 2 ] && [ "$((CS - pt_))" -ge 100 ]; then
      signal_job "$l_" KILL
      pt_=$CS
    fi
    eval "PH_${n_}_$s_=$ph_ PT_${n_}_$s_=$pt_"
  done
}

# Return whether a job is still running.
has_running_jobs() {
  if [ -z "$DIR" ]; then
    read_uptime
    V_=$(list_run_processes "CULPRIT_JOB=$RUN/" "$T0" $$ $((CS * TCK / 100)) '')
    [ -n "$V_" ]
    return
  fi
  for l_ in "$DIR"/l/*; do
    { read -r g_ R_ <"$l_"; } 2>/dev/null || continue
    [ "$g_" = 0 ] || kill -0 "-$g_" 2>/dev/null || continue
    return 0
  done
  return 1
}

signal_all_jobs() {
  if [ -z "$DIR" ]; then
    [ -z "$V_" ] || kill -s "$1" $V_ 2>/dev/null
    return 0
  fi
  for l_ in "$DIR"/l/*; do
    [ -f "$l_" ] || continue
    s_=$1
    [ "$s_" != first ] || read -r g_ x_ d_ c_ s_ R_ <"$l_"
    signal_job "$l_" "$s_"
  done
}

# Stop all jobs: the stop signal of each job, TERM after 3 s, KILL half a second later.
stop_jobs() {
  if [ -n "$DIR" ]; then
    echo "$1" >"$DIR/stop"
    $T_rm -f "$DIR/go"
  fi
  has_running_jobs && if [ -n "$DIR" ]; then signal_all_jobs first; else signal_all_jobs INT; fi
  read_uptime
  from=$CS
  while has_running_jobs && [ "$((CS - from))" -lt 300 ]; do sleep_briefly; done
  has_running_jobs && signal_all_jobs TERM
  from=$CS
  while has_running_jobs && [ "$((CS - from))" -lt 50 ]; do sleep_briefly; done
  has_running_jobs && signal_all_jobs KILL
}

sleep_briefly() {
  $T_sleep "$NAPF" </dev/null >/dev/null 2>&1 3<&- 4>&- 5<&- 6<&- 9<&-
  read_uptime
}

# Let the main shell send the remaining output, for at most $1 seconds.
wait_for_main() {
  read_uptime
  from=$CS
  while [ "$EV" != finish ] && kill -0 "$MAIN" 2>/dev/null && [ "$((CS - from))" -lt $(($1 * 100)) ]; do
    # Kill a job that was starting while the others were stopped.
    [ -n "$GO" ] || read_main_messages
    has_running_jobs && signal_all_jobs KILL
    sleep_briefly
  done
  [ "$EV" != finish ] || why=finish
}

# Remove everything that belongs to the run. The main shell is not killed if it is about to exit.
clean_up() {
  [ -n "$GO" ] || read_main_messages
  exec 8>&2 2>/dev/null
  [ -z "${TICK-}" ] || kill -KILL "$TICK"
  # Ended here, it is not found among the processes of the run, which would then be listed twice.
  [ -z "$READER" ] || ! is_alive $READER $READ_AT || kill -KILL $READER
  # The parent only waits for the guard, and then signals the main shell.
  keep_=$PPID
  [ "$1" != finish ] && [ "$why" != finish ] || keep_="$keep_ $MAIN"
  g_=
  if [ -n "$DIR" ]; then
    for l_ in "$DIR"/l/*; do
      { read -r x_ R_ <"$l_"; } 2>/dev/null && [ "$x_" != 0 ] && g_="$g_ $x_"
    done
  fi
  kill_run "$RUN" "$T0" "$g_" "$keep_" || log "note processes of this run could not be ended" 2>&8
  # Until it was killed, the main shell went on and created directories and groups.
  [ -n "$GO" ] || read_main_messages
  remove_cgroups "$CGROUPS"
  remove_own_directory "${DIR:-$TRY}"
  # A main shell that is about to exit still holds the lease and releases it.
  [ "$1" = finish ] || [ "$why" = finish ] || release_lease
}
