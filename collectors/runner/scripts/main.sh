# The roles of the program: `setup` starts `main` in its place, in a scope of systemd where there is one; `main` starts
# the guard first, then takes the lease and a directory, runs the collectors and sends what they leave. `setup` touches
# nothing that other users can change, and waits for none of it.

setup() {
  if [ -n "$STANDALONE" ]; then
    case $0 in /*) PROGF=$0 ;; *) PROGF=$PWD/$0 ;; esac
    exec 3<&- 4>&1 </dev/null >/dev/null
  else
    PROGF=
    exec 3<&0 4>&1 </dev/null >/dev/null
  fi
  tools
  tick_rate
  proc $$
  T0=$START
  identity
  fork_cost
  up
  BEGUN=$CS
  END=$((CS + DEADLINE * 100))
  choose_scope
  CULPRIT_RUN=$RUN
  export CULPRIT_RUN CULPRIT_SH BEGUN END T0 RUNG PROGF FORK_MS TCK SRC
  start_role main "exec $SCOPE"
}

# Start role $1 with the command prefix $2. The text of the program goes through a pipe: as an argument it would be too
# long for the kernel and for whoever lists processes, and a file would need a disk.
start_role() {
  CULPRIT_ROLE=$1
  export CULPRIT_ROLE
  if [ -n "$PROGF" ]; then
    $2 $SH "$PROGF"
    return
  fi
  if [ -n "${BASH_VERSION-}" ]; then
    set +o posix
    eval 'exec 8< <(printf "%s\n" "$q")'
    set -o posix
  else
    exec 8<<X
$q
X
  fi
  $2 $SH -c "q=\$($T_cat <&8); exec 8<&-; eval \"\$q\""
}

# Everything that other users can reach comes after the guard: whatever happens there, the run ends in time.
begin() {
  host_key
  acquire_lease
  sweep
  if ! place && [ "$PIPE_OK" = 0 ]; then
    frame refused - - "reason reason.no_space free=$((FREE * 1024)) need=$((NEED_KB * 1024))${NL}inodes $INODES"
    depart 73
  fi
  export DIR
  create_cages
  tell_guard cage "$CAGE"
  if [ -n "$DIR" ]; then
    proc "$GUARD"
    settle
  fi
  [ -n "$DIR" ] || probe_memory
  tell_guard dir "$DIR"
  tell_guard go
  exec 7<&-
}

# Write into the directory what the next sweep needs, and make room for what jobs write.
settle() {
  { printf '%s\n' "run $RUN" "boot $BOOT" "end $END" "main $$ $T0" "cage $CAGE" "guard $GUARD $START" >"$DIR/manifest" &&
    $T_mkdir "$DIR/c" "$DIR/t" "$DIR/l" "$DIR/w" "$DIR/o" "$DIR/r" "$DIR/s" && : >"$DIR/go"; } 2>/dev/null || full
}

# The directory filled up or vanished between the check and now: go on without one.
full() {
  remove_own_directory "$DIR"
  DIR=
}

# Tell the guard `$1 $2`: what there is to enforce, and to remove in the end.
tell_guard() {
  printf '%s\n' "$*" >&7
}

identity() {
  MYUID=0
  while read -r k_ v_ R_; do [ "$k_" != Uid: ] || { set -- $R_; MYUID=${1:-$v_}; }; done </proc/self/status
}

# What one fork and exec costs here: a slow host is data.
fork_cost() {
  FORK_MS=-
  clock_source
  if [ "$SRC" = date ]; then
    a_=$($T_date +%s%N)
    b_=$($T_date +%s%N)
    d_=$(((b_ - a_) / 1000))
    # The clock may be stepped just now.
    [ "$d_" -lt 0 ] || FORK_MS=$((d_ / 1000)).$((d_ / 100 % 10))
    return
  fi
  up
  a_=$CS
  for x_ in 1 2 3 4 5 6 7 8 9 10; do $T_date >/dev/null; done
  up
  FORK_MS=$((CS - a_))
}

# What can be had here for sessions, niceness and naps, by trying.
probe() {
  SID= SIDWAY=none
  tool setsid x_
  tool timeout T_timeout
  tool head T_head
  [ -z "$x_" ] || { SID=$x_; SIDWAY=setsid; }
  if [ -z "$SID" ] && [ -n "$T_timeout" ]; then
    # GNU timeout makes a group of its own; busybox's does not. Nothing is said about sessions, but groups suffice.
    x_=$($T_timeout 99999 $SH -c 'read -r l </proc/self/stat; l=${l##*) }; set -- $l; echo $3' 2>/dev/null)
    case $x_ in '' | "$MYPGRP" | *[!0-9]*) ;; *) SID="$T_timeout 99999"; SIDWAY=timeout ;; esac
  fi
  NI=
  x_=
  [ -z "$T_nice" ] || x_="$T_nice -n 19"
  [ -z "$T_ionice" ] || x_="${x_:+$x_ }$T_ionice -c 3"
  if [ -n "$x_" ] && $x_ $SH -c : 2>/dev/null; then
    NI=$x_
  elif [ -n "$T_nice" ] && $T_nice -n 19 $SH -c : 2>/dev/null; then
    NI="$T_nice -n 19"
  elif [ -n "$T_ionice" ] && $T_ionice -c 3 $SH -c : 2>/dev/null; then
    NI="$T_ionice -c 3"
  fi
  FRAC=1 NAPF=0.2
  $T_sleep 0.01 2>/dev/null || { FRAC=0 NAPF=1; }
  PACK= PACKF= PACKX= ENC=identity
  if [ -n "$T_zstd" ] && [ "$ZSTD_OK" = 1 ]; then
    PACK="$T_zstd -q -3 -c" PACKF="$T_zstd -q -3 -f --rm" PACKX=.zst ENC=zstd
  elif [ -n "$T_gzip" ]; then
    # Some builds of busybox know no levels.
    x_=-1
    : | $T_gzip -1 >/dev/null 2>&1 || x_=
    PACK="$T_gzip $x_ -c" PACKF="$T_gzip $x_ -f" PACKX=.gz ENC=gzip
  fi
}

# How output is kept in memory, where there is no directory.
probe_memory() {
  MEMPACK=cat MEMENC=identity
  tool base64 x_
  [ -n "$x_" ] || { tool openssl x_; [ -z "$x_" ] || x_="$x_ base64"; }
  if [ -n "$x_" ]; then
    MEMPACK=$x_ MEMENC=base64
    [ "$ENC" = identity ] || { MEMPACK=mempack; MEMENC=$ENC+base64; B64=$x_; }
  fi
}

mempack() {
  $PACK | $B64
}

tick_rate() {
  TCK=100
  ! command -v getconf >/dev/null 2>&1 || TCK=$(getconf CLK_TCK 2>/dev/null)
  case $TCK in '' | *[!0-9]* | 0) TCK=100 ;; esac
}

main() {
  tools
  tool adjtimex T_adj
  # A carried program may have been started by another shell than the one that goes on.
  [ "$SRC" != bash ] || clock_source
  identity
  proc $$
  MYPGRP=$PGRP
  MAIN=$$
  MYSTART=$T0
  DIR= LOCK= CAGE= PASSED=
  cd /
  probe
  turns
  export MAIN MYUID SRC NAPF TURNS TCK FRAC MYPGRP DIR
  EV= GUARD=
  trap 'hangup' HUP TERM INT
  trap 'emergency' USR1
  (
    trap '' INT
    start_role guard "$SID"
    kill -s USR1 $$
    echo 0 >&5
  ) &
  WRAP=$!
  exec 3<&-
  until read -r GUARD <&5; do :; done
  case $GUARD in '' | 0 | *[!0-9]*) emergency ;; esac
  echo t >&5
  give
  unset q
  begin
  target
  hello
  clock start 0
  if [ -n "$STANDBY" ]; then
    stand
  else
    choose
    for x_ in $SUPS; do attend "$x_"; done
  fi
  clock end 9999
  farewell
  depart "${STOP:+3}"
}

# Waits for child $1, whatever signals come meanwhile.
attend() {
  while :; do
    wait "$1"
    r_=$?
    [ "$r_" -gt 128 ] && kill -0 "$1" 2>/dev/null || return 0
  done
}

hangup() {
  [ -z "$GUARD" ] || kill -s HUP "$GUARD" 2>/dev/null
}

# The guard is dead: end everything ourselves.
emergency() {
  trap '' USR1 HUP TERM INT
  g_=
  [ -z "$DIR" ] || for l_ in "$DIR"/l/*; do
    { read -r x_ R_ <"$l_"; } 2>/dev/null && [ "$x_" != 0 ] && g_="$g_ $x_"
  done
  purge "$RUN" "$T0" "$g_" 0
  uncage "$CAGE"
  remove_own_directory "$DIR"
  release_lease
  exit 70
}

hello() {
  m_=pipe
  [ -z "$DIR" ] || m_=disk
  frame hello - - "run $RUN
protocol 1
mode $m_
dir $DIR
shell $SH
uid $MYUID
rung $RUNG
lease $WAY_LOCK
session $SIDWAY
nice $NI
pack $ENC
sum ${SHA:-${T_cksum:-none}}
awk $T_awk
clock $SRC
fork_ms $FORK_MS
free_kb $FREE
free_inodes $INODES
need_kb $NEED_KB
swept $SWEPT
passed_over $PASSED
machine_id $MACHINE
boot_id $BOOT
mnt_ns $MNT
clk_tck $TCK
began ${BEGUN}0000000
target_kind $TARGET_KIND
target_pid $TARGET_PID
target_cgroup $TARGET_CGROUP
target_pids_count $COUNT
target_network ${NETPID:+target}${LOST:+${NL}target_lost $LOST}"
}

# A way for each job; light scripts and the sampler at once, exclusive ones in turn.
choose() {
  SUPS= LIGHT= QUEUE= POOL= NOT=
  for n in $JOBS; do
    eval "ways_=\$J${n}_ways ex_=\$J${n}_exclusive"
    kind_=
    for w in $ways_; do
      needs "$n" "$w" || continue
      eval "kind_=\$J${n}_${w}_kind"
      break
    done
    case $kind_ in
      sampled) POOL="$POOL $n:$w" ;;
      script) if [ "$ex_" = 1 ]; then QUEUE="$QUEUE $n"; else LIGHT="$LIGHT $n"; fi ;;
      *)
        (job "$n")
        NOT="$NOT $n" ;;
    esac
  done
  O_WAY= O_EXIT= O_SIG= O_T0= O_T1= O_CPU=0 O_BYTES=0 O_PARTS=0
  if [ -n "$DIR" ]; then
    [ -z "$POOL" ] || { sampled $POOL & SUPS="$SUPS $!"; }
  else
    for x_ in $POOL; do sampled "$x_" & SUPS="$SUPS $!"; done
  fi
  [ -z "$LIGHT" ] || { lights & SUPS="$SUPS $!"; }
  [ -z "$QUEUE" ] || { (for x in $QUEUE; do (job "$x"); [ -z "$DIR" ] || ship "$x"; done) & SUPS="$SUPS $!"; }
  [ -z "$DIR" ] || ship $NOT
}

# All light scripts at once. Each says when it has ended, and what is there then is sent together: most end at the same
# moment, and one that hangs keeps nobody waiting.
lights() {
  trap '' INT
  read -r ME_ R_ </proc/self/stat
  if [ -n "$DIR" ]; then
    set --
    for n in $LIGHT; do set -- "$@" "$DIR/c/$n"; done
    $T_mkdir -p "$@"
  fi
  EV=
  trap 'EV=1' USR2
  (
    humble
    for n in $LIGHT; do
      {
        job "$n"
        kill -s USR2 "$ME_"
      } &
    done
    wait
  ) &
  CREW=$!
  r_=129
  while [ "$r_" -gt 128 ]; do
    [ -n "$EV" ] || wait "$CREW"
    if kill -0 "$CREW" 2>/dev/null; then r_=129; else r_=0; fi
    EV=
    [ "$r_" = 0 ] || nap "$NAPF"
    [ -z "$DIR" ] || ship $LIGHT
  done
}

# This process takes the place that NI gives to others, so that its children need not ask for it each.
humble() {
  read -r x_ R_ </proc/self/stat
  tool renice T_renice
  [ -n "$T_renice" ] && [ -n "$NI" ] && $T_renice -n 19 -p "$x_" >/dev/null 2>&1 || return 0
  case $NI in
    *ionice*) $T_ionice -c 3 -p "$x_" >/dev/null 2>&1 || return 0 ;;
  esac
  NI=
}

farewell() {
  take
  give
  proc "$GUARD"
  c_=$CPU
  proc $$
  up
  s_=done
  [ -z "$STOP" ] || s_="stopped${NL}why $STOP"
  frame end - - "state $s_
cpu_ms $(((c_ + CPU) * 1000 / TCK))
elapsed_ms $(((CS - BEGUN) * 10))
rung $RUNG${STANDBY:+${NL}watcher $WATCHER}"
}

# End the guard, give the lease back and leave with status $1.
depart() {
  trap '' USR1
  kill -s USR2 "$GUARD" 2>/dev/null
  attend_guard
  release_lease
  exit "${1:-0}"
}

attend_guard() {
  while :; do
    wait "$WRAP" 2>/dev/null
    [ $? -gt 128 ] && kill -0 "$WRAP" 2>/dev/null || return 0
  done
}

case ${CULPRIT_ROLE-setup} in
  main) main ;;
  guard) tools; tool adjtimex T_adj; guard ;;
  *) setup ;;
esac
: CULPRIT-END
