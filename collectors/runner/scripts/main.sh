# The roles of the program. `setup` replaces itself with `main`, in a systemd scope if there is one. `main` starts the
# guard, acquires the lease, creates a directory, runs the collectors and sends their files. `setup` uses no file that
# other users can change.

run_setup() {
  if [ -n "$STANDALONE" ]; then
    case $0 in /*) PROGF=$0 ;; *) PROGF=$PWD/$0 ;; esac
    exec 3<&- 4>&1 </dev/null >/dev/null
  else
    PROGF=
    exec 3<&0 4>&1 </dev/null >/dev/null
  fi
  find_tools
  tick_rate
  read_stat $$
  T0=$START
  read_uid
  measure_fork
  read_uptime
  BEGUN=$CS
  END=$((CS + DEADLINE * 100))
  choose_scope
  CULPRIT_RUN=$RUN
  export CULPRIT_RUN CULPRIT_SH BEGUN END T0 LIMITER PROGF FORK_MS TCK SRC
  start_role main "exec $SCOPE" "$T_cat"
}

# Start role $1 with the command prefix $2 and a command that passes on what it needs of the program. The text goes
# through a pipe: as an argument it would be too long for the kernel and for process lists, and a file would need a disk.
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
  $2 $SH -c "q=\$($3 <&8); exec 8<&-; eval \"\$q\""
}

# Directories that other users can reach are used only after the guard started, so that the run always ends in time.
prepare_run() {
  host_key
  acquire_lease
  remove_stale_runs
  if ! choose_workdir && [ "$PIPE_OK" = 0 ]; then
    send_frame refused - - "reason reason.no_space free=$((FREE * 1024)) need=$((NEED_KB * 1024))${NL}inodes $INODES"
    finish 73
  fi
  export DIR
  create_cgroups
  if [ -n "$DIR" ]; then
    read_stat "$GUARD"
    write_manifest
  fi
  [ -n "$DIR" ] || probe_memory
  notify_guard dir "$DIR"
  notify_guard go
  exec 7<&-
}

# Write the manifest that removes a stale run, and create the folders of the jobs.
write_manifest() {
  { printf '%s\n' "run $RUN" "boot $BOOT" "end $END" "main $$ $T0" "cgroups $CGROUPS" "guard $GUARD $START" >"$DIR/manifest" &&
    $T_mkdir "$DIR/c" "$DIR/t" "$DIR/l" "$DIR/w" "$DIR/o" "$DIR/r" "$DIR/s" && : >"$DIR/go"; } 2>/dev/null || drop_workdir
  [ -z "$DIR" ] || open_pause
}

# Open an empty pipe for programs that can wait for it, so that their pauses need no sleep: gawk from version 4 on.
# Descriptor 8 is inherited by all jobs. Without a writer, opening the pipe would block.
open_pause() {
  unset CULPRIT_PAUSE
  $T_awk 'BEGIN { exit !(PROCINFO["version"] + 0 >= 4) }' </dev/null 2>/dev/null || return 0
  find_tool mkfifo x_
  [ -n "$x_" ] && $x_ "$DIR/p" 2>/dev/null && exec 8<>"$DIR/p" || return 0
  CULPRIT_PAUSE=$DIR/p
  export CULPRIT_PAUSE
}

# The directory was filled or removed after the check: continue without one.
drop_workdir() {
  remove_own_directory "$DIR"
  DIR=
}

# Send `$1 $2` to the guard: what it enforces and what it removes at the end.
notify_guard() {
  printf '%s\n' "$*" >&7
}

read_uid() {
  MYUID=0
  while read -r k_ v_ R_; do [ "$k_" != Uid: ] || { set -- $R_; MYUID=${1:-$v_}; break; }; done </proc/self/status
}

# Measure the time of one fork and exec. It shows whether the host is slow.
measure_fork() {
  FORK_MS=-
  choose_clock
  if [ "$SRC" = date ]; then
    # choose_clock has just started one.
    a_=$S_
    b_=$($T_date +%s%N)
    d_=$(((b_ - a_) / 1000))
    # The clock may be stepped just now.
    [ "$d_" -lt 0 ] || FORK_MS=$((d_ / 1000)).$((d_ / 100 % 10))
    return
  fi
  read_uptime
  a_=$CS
  for x_ in 1 2 3 4 5 6 7 8 9 10; do $T_date >/dev/null; done
  read_uptime
  FORK_MS=$((CS - a_))
}

# Find by trial how to start sessions, lower priorities, sleep and compress on this host.
probe_tools() {
  SID= SESSION_METHOD=none
  find_tool setsid x_
  find_tool timeout T_timeout
  find_tool head T_head
  [ -z "$x_" ] || { SID=$x_; SESSION_METHOD=setsid; }
  if [ -z "$SID" ] && [ -n "$T_timeout" ]; then
    # GNU timeout creates a process group, busybox's does not. A group is enough; a session is not needed.
    x_=$($T_timeout 99999 $SH -c 'read -r l </proc/self/stat; l=${l##*) }; set -- $l; echo $3' 2>/dev/null)
    case $x_ in '' | "$MYPGRP" | *[!0-9]*) ;; *) SID="$T_timeout 99999"; SESSION_METHOD=timeout ;; esac
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

# Choose how output is stored in memory if there is no directory.
probe_memory() {
  MEMPACK=cat MEMENC=identity
  find_tool base64 x_
  [ -n "$x_" ] || { find_tool openssl x_; [ -z "$x_" ] || x_="$x_ base64"; }
  if [ -n "$x_" ]; then
    MEMPACK=$x_ MEMENC=base64
    [ "$ENC" = identity ] || { MEMPACK=pack_memory; MEMENC=$ENC+base64; B64=$x_; }
  fi
}

pack_memory() {
  $PACK | $B64
}

tick_rate() {
  TCK=100
  ! command -v getconf >/dev/null 2>&1 || TCK=$(getconf CLK_TCK 2>/dev/null)
  case $TCK in '' | *[!0-9]* | 0) TCK=100 ;; esac
}

run_main() {
  find_tools
  [ "$SRC" != adjtimex ] || find_tool adjtimex T_adj
  # A standalone program can be started by another shell than the one that continues.
  [ "$SRC" != bash ] || choose_clock
  read_uid
  read_stat $$
  MYPGRP=$PGRP
  MAIN=$$
  MYSTART=$T0
  DIR= LOCK= CGROUPS= SKIPPED=
  cd /
  probe_tools
  open_output_lock
  export MAIN MYUID SRC NAPF OUTPUT_LOCK TCK FRAC MYPGRP DIR
  EV= GUARD=
  trap 'hangup' HUP TERM INT
  trap 'stop_everything' USR1
  PASS=$T_cat
  [ -z "$T_sed" ] || PASS="$T_sed '/^: CULPRIT-JOBS/,/^: CULPRIT-PARTS/d'"
  (
    trap '' INT
    start_role guard "$SID" "$PASS"
    kill -s USR1 $$
    echo 0 >&5
  ) &
  WRAP=$!
  exec 3<&-
  until read -r GUARD <&5; do :; done
  case $GUARD in '' | 0 | *[!0-9]*) stop_everything ;; esac
  echo t >&5
  release_output
  unset q
  prepare_run
  find_target
  send_hello
  send_clock start 0
  if [ -n "$WATCHER" ]; then
    run_watcher
  else
    start_jobs
    for x_ in $CHILDREN; do wait_for_child "$x_"; done
  fi
  send_clock end 9999
  send_end
  finish "${STOP:+3}"
}

# Wait for child $1. Signals do not end the wait.
wait_for_child() {
  while :; do
    wait "$1"
    r_=$?
    [ "$r_" -gt 128 ] && kill -0 "$1" 2>/dev/null || return 0
  done
}

hangup() {
  [ -z "$GUARD" ] || kill -s HUP "$GUARD" 2>/dev/null
}

# The guard died: the main shell stops everything.
stop_everything() {
  trap '' USR1 HUP TERM INT
  g_=
  [ -z "$DIR" ] || for l_ in "$DIR"/l/*; do
    { read -r x_ R_ <"$l_"; } 2>/dev/null && [ "$x_" != 0 ] && g_="$g_ $x_"
  done
  kill_run "$RUN" "$T0" "$g_" 0
  remove_cgroups "$CGROUPS"
  remove_own_directory "$DIR"
  release_lease
  exit 70
}

send_hello() {
  m_=pipe
  [ -z "$DIR" ] || m_=disk
  send_frame hello - - "run $RUN
protocol 1
mode $m_
dir $DIR
shell $SH
uid $MYUID
limiter $LIMITER
lease $LOCK_METHOD
session $SESSION_METHOD
nice $NI
pack $ENC
sum ${SHA:-${T_cksum:-none}}
awk $T_awk
clock $SRC
fork_ms $FORK_MS
free_kb $FREE
free_inodes $INODES
need_kb $NEED_KB
stale_removed $STALE_REMOVED
skipped_directories $SKIPPED
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

# Choose a method for each job and start it: light scripts and the sampler together, exclusive jobs in turn.
start_jobs() {
  CHILDREN= LIGHT= SHARED= QUEUE= POOL= UNUSABLE=
  for n in $JOBS; do
    eval "methods_=\$J${n}_methods ex_=\$J${n}_exclusive"
    kind_=
    for w in $methods_; do
      check_method "$n" "$w" || continue
      eval "kind_=\$J${n}_${w}_kind"
      break
    done
    case $kind_ in
      sampled) POOL="$POOL $n:$w" ;;
      script) if [ "$ex_" = 1 ]; then QUEUE="$QUEUE $n"; else share_script || LIGHT="$LIGHT $n"; fi ;;
      *)
        (run_job "$n")
        UNUSABLE="$UNUSABLE $n" ;;
    esac
  done
  O_METHOD= O_EXIT= O_SIG= O_T0= O_T1= O_CPU=0 O_BYTES=0 O_PARTS=0
  if [ -n "$DIR" ]; then
    [ -z "$POOL" ] || { run_samplers $POOL & CHILDREN="$CHILDREN $!"; }
  else
    for x_ in $POOL; do run_samplers "$x_" & CHILDREN="$CHILDREN $!"; done
  fi
  [ -z "$LIGHT" ] || { run_light_jobs & CHILDREN="$CHILDREN $!"; }
  [ -z "$QUEUE" ] || { (for x in $QUEUE; do (run_job "$x"); [ -z "$DIR" ] || send_finished "$x"; done) & CHILDREN="$CHILDREN $!"; }
  [ -z "$DIR" ] || send_finished $UNUSABLE
}

# Let job $n, method $w, share the script of an earlier job. False if there is none yet.
share_script() {
  eval "s_=\$J${n}_${w}_share"
  [ -n "$s_" ] && [ -n "$DIR" ] || return 1
  eval "x_=\${SHARE_$s_-}"
  if [ -z "$x_" ]; then
    eval "SHARE_$s_=\$n WITH_$n="
    return 1
  fi
  eval "WITH_$x_=\"\$WITH_$x_ \$n:\$w\""
  SHARED="$SHARED $n"
}

# Run all light scripts together. Each signals its end, and finished jobs are sent together, at the latest two seconds
# after the first of them ended. Most end at the same time, and a script that hangs does not delay the others.
run_light_jobs() {
  trap '' INT
  read -r ME_ R_ </proc/self/stat
  if [ -n "$DIR" ]; then
    set --
    for n in $LIGHT $SHARED; do set -- "$@" "$DIR/c/$n"; done
    $T_mkdir -p "$@"
  fi
  EV=
  trap 'EV=1' USR2
  OVER=
  trap 'OVER=1' USR1
  (
    join_cgroups
    lower_priority
    for n in $LIGHT; do
      {
        run_job "$n"
        kill -s USR2 "$ME_"
        wait
      } &
    done
    wait
    kill -s USR1 "$ME_"
  ) &
  JOB_GROUP=$!
  PAUSE=
  while [ -z "$OVER" ] && kill -0 "$JOB_GROUP" 2>/dev/null; do
    if [ -n "$PAUSE" ]; then
      wait "$PAUSE"
      ! kill -0 "$PAUSE" 2>/dev/null || continue
      PAUSE= EV=
      send_finished $LIGHT $SHARED
      continue
    fi
    [ -n "$EV" ] || wait "$JOB_GROUP"
    [ -n "$EV" ] && [ -n "$DIR" ] || continue
    EV=
    $T_sleep 2 </dev/null >/dev/null 2>&1 3<&- 4>&- 5<&- 6<&- 9<&- &
    PAUSE=$!
  done
  [ -z "$PAUSE" ] || kill "$PAUSE" 2>/dev/null
  [ -z "$DIR" ] || send_finished $LIGHT $SHARED
}

# Lower the priority of this process, so that its children inherit it.
lower_priority() {
  read -r x_ R_ </proc/self/stat
  find_tool renice T_renice
  [ -n "$T_renice" ] && [ -n "$NI" ] && $T_renice -n 19 -p "$x_" >/dev/null 2>&1 || return 0
  case $NI in
    *ionice*) $T_ionice -c 3 -p "$x_" >/dev/null 2>&1 || return 0 ;;
  esac
  NI=
}

send_end() {
  acquire_output
  release_output
  read_stat "$GUARD"
  c_=$CPU
  read_stat $$
  read_uptime
  s_=done
  [ -z "$STOP" ] || s_="stopped${NL}why $STOP"
  send_frame end - - "state $s_
cpu_ms $(((c_ + CPU) * 1000 / TCK))
elapsed_ms $(((CS - BEGUN) * 10))
limiter $LIMITER${WATCHER:+${NL}watcher $WATCHER_EXIT}"
}

# End the guard, release the lease and exit with status $1.
finish() {
  trap '' USR1
  kill -s USR2 "$GUARD" 2>/dev/null
  wait_for_guard
  release_lease
  exit "${1:-0}"
}

wait_for_guard() {
  while :; do
    wait "$WRAP" 2>/dev/null
    [ $? -gt 128 ] && kill -0 "$WRAP" 2>/dev/null || return 0
  done
}

case ${CULPRIT_ROLE-setup} in
  main) run_main ;;
  guard)
    find_tools
    [ "$SRC" != adjtimex ] || find_tool adjtimex T_adj
    run_guard ;;
  *) run_setup ;;
esac
: CULPRIT-END
