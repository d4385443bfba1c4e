# Clocks, tools and frames, shared by all roles of the program.
# Descriptors: 3 heartbeats in, 4 frames out, 5 whether the run is stopping, 6 the lock of the output,
# 7 messages of the main shell to the guard, 8 the text of the program, then the pipe for pauses, 9 the lease.
umask 077
LC_ALL=C
export LC_ALL PATH
[ -z "${BASH_VERSION-}" ] || set -o posix
[ -z "${ZSH_VERSION-}" ] || emulate sh
SH=${CULPRIT_SH:-/bin/sh}
NL='
'
TAB='	'
NAPF=${NAPF:-1}
TCK=${TCK:-100}
SRC=${SRC:-date_s}

# Read boottime, in hundredths of a second, into CS.
read_uptime() {
  read -r U_ R_ </proc/uptime
  CS=${U_%.*}${U_#*.}
}

# Write how to run tool $1 on this host into variable $2; empty if the tool is missing.
find_tool() {
  if command -v "$1" >/dev/null 2>&1; then
    eval "$2=\$1"
  elif is_applet "$1"; then
    eval "$2=\"busybox \$1\""
  else
    eval "$2="
  fi
}

is_applet() {
  if [ -z "${BBL-}" ]; then
    BBL=-
    ! command -v busybox >/dev/null 2>&1 || BBL=$NL$(busybox --list 2>/dev/null)$NL
  fi
  case $BBL in *"$NL$1$NL"*) return 0 ;; esac
  return 1
}

find_tools() {
  for t_ in awk cat date df du find flock grep gzip ionice ls mkdir mv nice readlink rm rmdir sed sleep tail tr wc xargs zstd; do
    find_tool "$t_" "T_$t_"
  done
  find_tool sha256sum SHA
  if [ -z "$SHA" ]; then
    find_tool openssl SHA
    [ -z "$SHA" ] || SHA="$SHA dgst -sha256 -r"
  fi
  find_tool cksum T_cksum
}

# Write the checksum of the text $1, or of the file $2, into SUM.
compute_sum() {
  S_=
  if [ -n "$SHA" ]; then
    if [ -n "${2-}" ]; then S_=$($SHA <"$2"); else S_=$(printf %s "$1" | $SHA); fi
    SUM="sha256=${S_%% *}"
  elif [ -n "$T_cksum" ]; then
    if [ -n "${2-}" ]; then S_=$($T_cksum <"$2"); else S_=$(printf %s "$1" | $T_cksum); fi
    SUM="sha256=- cksum=${S_%% *}"
  else
    SUM="sha256=-"
  fi
}

# The output lock is one empty line in a pipe that all writers share. It is one byte because a shell reads a pipe byte
# by byte: two readers of a longer line would each get a part of it and wait indefinitely for the rest. The holder of
# the lock checks whether the run is stopping: `t` for no, `s<why>` for yes.
acquire_output() {
  STOP=
  [ -n "${OUTPUT_LOCK-}" ] || return 0
  wait_for_output
  until read -r L_ <&5; do :; done
  echo "$L_" >&5
  STOP=${L_#?}
}

wait_for_output() {
  until read -r L_ <&6; do :; done
}

release_output() {
  [ -z "${OUTPUT_LOCK-}" ] || echo >&6
}

# Open pipes without a file system: reopen a here-document or a process substitution for reading and writing.
open_output_lock() {
  if [ -n "${BASH_VERSION-}" ]; then
    set +o posix
    eval 'exec 5< <(:) 6< <(:) 7< <(:)'
    set -o posix
  else
    exec 5<<X 6<<Y 7<<Z
X
Y
Z
  fi
  exec 5<>/proc/self/fd/5 6<>/proc/self/fd/6 7<>/proc/self/fd/7
  OUTPUT_LOCK=1
}

# Send a frame with a text: send_frame KIND ID PART TEXT [MORE].
send_frame() {
  compute_sum "$4"
  acquire_output
  printf 'CULPRIT1 kind=%s id=%s part=%s len=%s %s enc=identity raw=%s %s\n%s\n' \
    "$1" "$2" "$3" ${#4} "$SUM" ${#4} "${5-}" "$4" >&4
  release_output
}

# Read CLOCK_MONOTONIC in nanoseconds into MONO, if root can read it.
read_monotonic() {
  MONO=-
  [ -r /proc/timer_list ] || return 0
  {
    read -r L_
    read -r L_
    read -r L_
  } </proc/timer_list
  case $L_ in "now at "*) L_=${L_#now at }; MONO=${L_%% *} ;; esac
}

# Read CLOCK_REALTIME in nanoseconds into REAL, its resolution into RES, its source into SRC.
read_realtime() {
  case $SRC in
    bash) REAL=${EPOCHREALTIME%[.,]*}${EPOCHREALTIME#*[.,]}000; RES=1000 ;;
    date) REAL=$($T_date +%s%N); RES=1 ;;
    adjtimex)
      REAL=$($T_adj 2>/dev/null | $T_awk '/tv_sec/{s=$NF}/tv_usec/{u=$NF}END{printf "%s%06d000",s,u}'); RES=1000 ;;
    *) REAL=$($T_date +%s)000000000; RES=1000000000 ;;
  esac
}

choose_clock() {
  case ${EPOCHREALTIME-} in *[0-9][.,]??????) SRC=bash; return ;; esac
  S_=$($T_date +%s%N)
  case $S_ in
    *[!0-9]* | '') ;;
    ??????????????????*) SRC=date; return ;;
  esac
  find_tool adjtimex T_adj
  SRC=date_s
  [ -z "$T_adj" ] || [ -z "$T_awk" ] || SRC=adjtimex
}

# Send one clock reading: send_clock AT SEQ. At start and end it waits for /proc/uptime to tick, at most 10 ms.
send_clock() {
  read_uptime
  edge=0
  if [ "$1" != tick ]; then
    edge=1
    was=$CS
    n_=0
    while [ "$CS" = "$was" ] && [ $n_ -lt 5000 ]; do read_uptime; n_=$((n_ + 1)); done
  fi
  b0=$CS
  read_monotonic
  m0=$MONO
  read_realtime
  read_monotonic
  read_uptime
  acquire_output
  printf 'CULPRIT1 kind=clock id=- part=- len=0 sha256=- enc=identity raw=0 seq=%s at=%s bt0=%s0000000 bt1=%s0000000 m0=%s m1=%s real=%s res=%s src=%s edge=%s\n\n' \
    "$2" "$1" "$b0" "$((CS + 1))" "$m0" "$MONO" "$REAL" "$RES" "$SRC" "$edge" >&4
  release_output
}

# Read state, group and start of process $1 from /proc into PSTATE, PGRP, START; CPU is in ticks with its children.
read_stat() {
  PSTATE=
  START=0
  PGRP=0
  CPU=0
  L_=
  { read -r L_ <"/proc/$1/stat"; } 2>/dev/null || return 1
  P_=$1
  L_=${L_##*) }
  set -- $L_
  [ $# -ge 20 ] || return 1
  PSTATE=$1
  PGRP=$3
  START=${20}
  CPU=$((${12} + ${13} + ${14} + ${15}))
}

# Return whether process $1 is still the one that started at tick $2. A zombie counts as ended: without an init that
# reaps it, it stays a zombie indefinitely.
is_alive() {
  read_stat "$1" && [ "$START" = "$2" ] && case $PSTATE in Z | X | x) false ;; esac
}

# Wait $1 seconds. A signal that sets EV ends the wait early.
wait_s() {
  $T_sleep "$1" </dev/null >/dev/null 2>&1 3<&- 4>&- 5<&- 6<&- 9<&- &
  N_=$!
  wait $N_
  [ -n "${EV-}" ] || wait $N_
}

log() {
  printf '%.200s\n' "$*" >&2
}
