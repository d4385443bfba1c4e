# The roles of the program: `setup` takes the lease and a directory and starts `main` in its place; `main` starts the
# guard and the collectors and sends what they leave.

setup() {
  if [ -n "$STANDALONE" ]; then
    PROGF=$0
    exec 3<&- 4>&1 </dev/null >/dev/null
    unset q
  else
    PROGF=
    exec 3<&0 4>&1 </dev/null >/dev/null
  fi
  tools
  tick_rate
  proc $$
  MYSTART=$START
  host_key
  identity
  fork_cost
  lease
  sweep
  if ! place && [ "$PIPE_OK" = 0 ]; then
    frame refused - - "reason reason.no_space free=$((FREE * 1024)) need=$((NEED_KB * 1024))${NL}inodes $INODES"
    release
    exit 73
  fi
  up
  BEGUN=$CS
  END=$((CS + DEADLINE * 100))
  T0=$MYSTART
  RUNG=nice CAGE= SCOPE=
  [ -z "$DIR" ] || settle
  CULPRIT_ROLE=main
  CULPRIT_RUN=$RUN
  export CULPRIT_ROLE CULPRIT_RUN CULPRIT_SH BEGUN END T0 DIR FREE INODES SWEPT LOCK WAY_LOCK RUNG CAGE \
    PROGF FORK_MS MACHINE BOOT MNT TCK SRC
  if [ -n "$PROGF" ]; then
    exec $SCOPE $SH "$PROGF"
  fi
  # Without a file it has to be an argument again, and the kernel takes none of 128 KiB.
  if [ ${#q} -ge 131000 ]; then
    frame refused - - "reason reason.no_space free=$((FREE * 1024)) need=$((NEED_KB * 1024))"
    release
    exit 73
  fi
  exec $SH -c "$q" "$q"
}

# Writes into the directory what the guard and the next sweep need, and the program itself.
settle() {
  ladder
  { printf '%s\n' "run $RUN" "boot $BOOT" "end $END" "main $$ $MYSTART" "cage $CAGE" >"$DIR/manifest" &&
    $T_mkdir "$DIR/c" "$DIR/t" "$DIR/l" "$DIR/w" "$DIR/o" "$DIR/r" "$DIR/s" && : >"$DIR/go" && {
    [ -n "$PROGF" ] || { printf '%s\n' "$q" >"$DIR/run" && PROGF=$DIR/run; }
  }; } 2>/dev/null || full
}

# The directory filled up or vanished between the check and now: go on without one.
full() {
  $T_rm -rf "$DIR"
  uncage "$CAGE"
  DIR= SCOPE= CAGE= RUNG=nice
  [ -n "$STANDALONE" ] || PROGF=
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
  MEMPACK=cat MEMENC=identity
  [ -n "$DIR" ] && return
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

# Runs role $1 of this program in a session of its own, with fd 3 as the heartbeats.
role() {
  CULPRIT_ROLE=$1
  export CULPRIT_ROLE
  if [ -n "$PROGF" ]; then $SID $SH "$PROGF"; else $SID $SH -c "$0" "$0"; fi
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
  probe
  turns
  export MAIN MYUID SRC NAPF TURNS TCK FRAC MYPGRP
  EV= GUARD=
  trap 'hangup' HUP TERM INT
  trap 'emergency' USR1
  (
    trap '' INT
    role guard
    kill -s USR1 $$
    echo 0 >&5
  ) &
  WRAP=$!
  exec 3<&-
  until read -r GUARD <&5; do :; done
  case $GUARD in '' | 0 | *[!0-9]*) emergency ;; esac
  echo t >&5
  give
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
  depart
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
  [ -z "$DIR" ] || $T_rm -rf "$DIR"
  release
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

depart() {
  trap '' USR1
  kill -s USR2 "$GUARD" 2>/dev/null
  attend_guard
  [ -z "$STOP" ] || exit 3
  exit 0
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
