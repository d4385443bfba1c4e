# The guard: a process in a session of its own that outlives the runner's main shell and ends everything when the
# server falls silent, hangs up, cancels, when time is up, or when the main shell dies. It never writes to stdout.

guard() {
  trap 'HB=1' USR1
  trap 'EV=finish' USR2
  trap 'EV=eof' TERM
  trap 'EV=cancel' HUP
  trap '' INT PIPE
  EV= HB= READER=
  up
  BEAT=$CS
  LAST=$CS
  CLOCK_AT=$((CS + 1000))
  SEQ=1
  if [ "$SILENCE" -gt 0 ]; then
    hear <&3 3<&- 4>&- 5<&- 6<&- 9<&- &
    READER=$!
  fi
  exec 3<&-
  DIR= TRY= LOCK= HELD= CAGE= GO=
  cd /
  echo "$$" >&5
  # What waits for hours is looked after with fewer forks: no job of it has a deadline or a cap of its own.
  PACE=${STANDBY:+2}
  PACE=${PACE:-1}
  while :; do
    [ -n "$EV" ] || nap "$PACE"
    [ -n "$GO" ] || learn
    up
    # Asleep for long, as under SIGSTOP or a stalled hypervisor: what came meanwhile was not yet heard.
    [ $((CS - LAST)) -lt 500 ] || BEAT=$CS
    LAST=$CS
    [ -z "$HB" ] || { HB=; BEAT=$CS; }
    kill -0 "$MAIN" 2>/dev/null || EV=lost
    [ -n "$EV" ] || [ "$SILENCE" -eq 0 ] || [ $((CS - BEAT)) -lt $((SILENCE * 100)) ] || EV=silence
    [ -n "$EV" ] || [ "$CS" -lt "$END" ] || EV=deadline
    [ -z "$EV" ] || break
    [ -z "$DIR" ] || [ -n "$STANDBY" ] || watch
    if [ -z "$STANDBY" ] && [ -n "$GO" ] && [ "$CS" -ge "$CLOCK_AT" ]; then
      CLOCK_AT=$((CS + 1000))
      # In a process of its own: the stream may be stalled, and the guard may not be.
      if [ -z "${TICK-}" ] || ! kill -0 "$TICK" 2>/dev/null; then
        clock tick $SEQ &
        TICK=$!
        SEQ=$((SEQ + 1))
      fi
    fi
  done
  why=$EV
  if [ "$why" != finish ]; then
    mark "$why" &
    TICK=$!
    halt "$why"
    case $why in
      cancel) linger "$FLUSH" ;;
      deadline) linger $((FLUSH * 2)) ;;
    esac
  elif [ -n "${TICK-}" ]; then
    nap "$NAPF"
  fi
  clean "$why"
  exit 0
}

# Read what the main shell has told so far. Our own line ends it, so that this never waits.
learn() {
  echo . >&7
  while read -r k_ v_ <&7; do
    case $k_ in
      .) break ;;
      try) TRY=$v_ ;;
      dir) DIR=$v_ ;;
      cage) CAGE=$v_ ;;
      lease) WAY_LOCK=${v_%% *} LOCK=${v_#* } ;;
      go) GO=1 ;;
    esac
  done
}

# Whoever takes the turn from now on knows that the run is stopping, and why.
mark() {
  turn
  until read -r L_ <&5; do :; done
  echo "s$1" >&5
  give
}

# Reads what the server says.
hear() {
  trap - USR1 USR2 TERM HUP
  while IFS= read -r l_; do
    case $l_ in
      "hb "*)
        l_=${l_#hb }
        case $l_ in
          *[!0-9]* | '' | ?????????????*) ;;
          *) kill -s USR1 $$; say "alive $l_" ;;
        esac ;;
      cancel) kill -s HUP $$ ;;
    esac
  done
  kill -s TERM $$
}

# Signal $2 to the group of the job in file $1.
strike() {
  { read -r g_ R_ <"$1"; } 2>/dev/null || return 0
  if [ "$g_" != 0 ]; then
    kill "-$2" "-$g_" 2>/dev/null
  else
    read -r g_ s_ d_ c_ sg_ id_ <"$1"
    up
    V_=$(ours "CULPRIT_JOB=$RUN/$id_/" "$T0" $$ $((CS * TCK / 100)) '')
    [ -z "$V_" ] || kill -s "$2" $V_ 2>/dev/null
  fi
}

# Deadlines and byte caps of the running jobs: stop signal, TERM 3 s later, KILL 1 s after that.
watch() {
  PACE=1
  set -- "$DIR"/l/*
  [ -e "$1" ] || return 0
  SIZES=$NL$($T_du -sk "$DIR"/c/* 2>/dev/null)$NL
  for l_; do
    { read -r g_ s_ d_ c_ sg_ id_ <"$l_"; } 2>/dev/null || continue
    n_=${l_##*/}
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
      [ "$((k_ * 2048))" -le "$c_" ] || PACE=$NAPF
      if [ -n "$why" ]; then
        echo "$why" >"$DIR/w/$n_"
        strike "$l_" "$sg_"
        ph_=1 pt_=$CS
      fi
    elif [ "$ph_" = 1 ] && [ "$((CS - pt_))" -ge 300 ]; then
      strike "$l_" TERM
      ph_=2 pt_=$CS
    elif [ "$ph_" = 2 ] && [ "$((CS - pt_))" -ge 100 ]; then
      strike "$l_" KILL
      pt_=$CS
    fi
    eval "PH_${n_}_$s_=$ph_ PT_${n_}_$s_=$pt_"
  done
}

# Whether any job still runs.
busy_jobs() {
  if [ -z "$DIR" ]; then
    up
    V_=$(ours "CULPRIT_JOB=$RUN/" "$T0" $$ $((CS * TCK / 100)) '')
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

strike_all() {
  if [ -z "$DIR" ]; then
    [ -z "$V_" ] || kill -s "$1" $V_ 2>/dev/null
    return 0
  fi
  for l_ in "$DIR"/l/*; do
    [ -f "$l_" ] || continue
    s_=$1
    [ "$s_" != first ] || read -r g_ x_ d_ c_ s_ R_ <"$l_"
    strike "$l_" "$s_"
  done
}

# Stops all jobs: each one's own signal, TERM after 3 s, KILL half a second later.
halt() {
  if [ -n "$DIR" ]; then
    echo "$1" >"$DIR/stop"
    $T_rm -f "$DIR/go"
  fi
  busy_jobs && if [ -n "$DIR" ]; then strike_all first; else strike_all INT; fi
  up
  from=$CS
  while busy_jobs && [ "$((CS - from))" -lt 300 ]; do pause; done
  busy_jobs && strike_all TERM
  from=$CS
  while busy_jobs && [ "$((CS - from))" -lt 50 ]; do pause; done
  busy_jobs && strike_all KILL
}

pause() {
  $T_sleep "$NAPF" </dev/null >/dev/null 2>&1 3<&- 4>&- 5<&- 6<&- 9<&-
  up
}

# Lets the main shell send what there is, for at most $1 seconds.
linger() {
  up
  from=$CS
  while [ "$EV" != finish ] && kill -0 "$MAIN" 2>/dev/null && [ "$((CS - from))" -lt $(($1 * 100)) ]; do
    # One that was just being started when the others were ended.
    [ -n "$GO" ] || learn
    busy_jobs && strike_all KILL
    pause
  done
  [ "$EV" != finish ] || why=finish
}

# The last act: nothing of the run remains. The main shell is spared when it is about to leave by itself.
clean() {
  [ -n "$GO" ] || learn
  exec 7>&2 2>/dev/null
  [ -z "${TICK-}" ] || kill -KILL "$TICK"
  # Its parent only waits for it, and then tells the main shell.
  keep_=$PPID
  [ "$1" != finish ] && [ "$why" != finish ] || keep_="$keep_ $MAIN"
  g_=
  if [ -n "$DIR" ]; then
    for l_ in "$DIR"/l/*; do
      { read -r x_ R_ <"$l_"; } 2>/dev/null && [ "$x_" != 0 ] && g_="$g_ $x_"
    done
  fi
  purge "$RUN" "$T0" "$g_" "$keep_" || say "note processes of this run could not be ended" 2>&7
  uncage "$CAGE"
  remove_own_directory "${DIR:-$TRY}"
  # A main shell that is about to leave still holds the lease, and gives it back itself.
  [ "$1" = finish ] || [ "$why" = finish ] || release_lease
}
