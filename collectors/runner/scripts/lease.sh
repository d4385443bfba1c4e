# The lease: one run of a kind per host, account and mount namespace. Only this account can write to its directory, so
# its content comes from this account or from root.

# Compute the key of the lease.
host_key() {
  MACHINE=-
  BOOT=-
  { read -r MACHINE </etc/machine-id; } 2>/dev/null
  { read -r BOOT </proc/sys/kernel/random/boot_id; } 2>/dev/null
  MNT=
  [ -z "$T_readlink" ] || MNT=$($T_readlink /proc/self/ns/mnt 2>/dev/null)
  MNT=${MNT##*[}
  MNT=${MNT%]}
  KEY=${MACHINE:-0}-${BOOT%%-*}-${MNT:-0}
}

# Acquire the lease, or exit with status 75 and a frame that names the holder. If no directory can be trusted, the run
# continues without a lease: no other user can block it.
acquire_lease() {
  LOCK= HAS_LOCK=
  LOCK_METHOD=none
  HOLDER="run $RUN pid $$ start $MYSTART since $(($($T_date +%s)))"
  f_=$KIND-$KEY
  h_=culprit
  [ "$MYUID" = 0 ] || h_=culprit.$MYUID
  for d_ in $LOCKDIRS; do
    [ "$d_" != /run/user ] || d_=/run/user/$MYUID
    [ -d "$d_" ] && [ -w "$d_" ] || continue
    is_secure_parent "$d_" || { skip_directory "$d_" insecure; continue; }
    ! acquire_lease_in "$P_/$h_" || break
  done
  cd /
}

acquire_lease_in() {
  n_=0
  while [ $n_ -lt 20 ]; do
    n_=$((n_ + 1))
    $T_mkdir -m 700 "$1" 2>/dev/null
    if ! enter_own_directory "$1"; then
      [ ! -e "$1" ] && [ ! -L "$1" ] || { skip_directory "$1" taken; return 1; }
      # The previous run has just removed it, or it cannot be created.
      [ $n_ -lt 5 ] || return 1
      continue
    fi
    if [ -n "$T_flock" ]; then lock_by_file; else lock_by_directory; fi && {
      notify_guard lease "$LOCK_METHOD $1/$f_"
      LOCK=$1/$f_
      return 0
    }
  done
  # Without flock, this many tries mean that other runs keep taking the lease.
  [ -n "$T_flock" ] || refuse_busy
  return 1
}

# `command` keeps the shell alive if the redirection fails.
lock_by_file() {
  { command exec 9<>"$f_"; } 2>/dev/null || return 1
  if $T_flock -n 9; then
    # The file may have been removed between the open and the lock.
    if [ "$f_" -ef /proc/self/fd/9 ]; then
      { echo "$HOLDER" >"$f_"; } 2>/dev/null
      LOCK_METHOD=flock HAS_LOCK=1
      return 0
    fi
  elif [ "$f_" -ef /proc/self/fd/9 ]; then
    H_=
    { read -r H_ <"$f_"; } 2>/dev/null
    # No holder is recorded yet: the lease was acquired a moment ago.
    [ -z "$H_" ] && [ $n_ -lt 4 ] && $T_sleep "$NAPF" || refuse_busy
  fi
  exec 9<&-
  return 1
}

lock_by_directory() {
  if $T_mkdir -m 700 "$f_.d" 2>/dev/null; then
    echo "$HOLDER" >"$f_.d/holder"
    LOCK_METHOD=mkdir HAS_LOCK=1
    return 0
  fi
  [ -d "$f_.d" ] || return 1
  H_=
  { read -r H_ <"$f_.d/holder"; } 2>/dev/null
  set -- $H_
  # No holder is recorded: the lease is being acquired, or that process died.
  if [ $# -lt 6 ]; then
    [ $n_ -gt 10 ] || { $T_sleep 1; return 1; }
  elif is_alive "$4" "$6"; then
    refuse_busy
  fi
  # Only one run removes a stale lease, and it checks again: another run may have just acquired the lease.
  if $T_mkdir "$f_.break" 2>/dev/null; then
    A_=
    { read -r A_ <"$f_.d/holder"; } 2>/dev/null
    [ "$A_" != "$H_" ] || $T_rm -rf "$f_.d"
    $T_rmdir "$f_.break"
  elif [ $n_ -gt 18 ]; then
    $T_rmdir "$f_.break" 2>/dev/null
  fi
  return 1
}

refuse_busy() {
  cd /
  set -- $H_
  send_frame busy - - "run ${2--}${NL}pid ${4--}${NL}since ${8--}"
  finish 75
}

# Release the lease, and remove its directory if that is empty. The lease is removed only under its lock and with the
# name of this run in it: another run may have acquired it after the main shell was killed.
release_lease() {
  [ -n "$LOCK" ] && enter_own_directory "${LOCK%/*}" || return 0
  f_=${LOCK##*/}
  A_=
  if [ "$LOCK_METHOD" = flock ]; then
    if [ -n "$HAS_LOCK" ] || { [ -f "$f_" ] && command exec 9<>"$f_" && $T_flock -n 9; } 2>/dev/null; then
      { read -r A_ <"$f_"; } 2>/dev/null
      # On a full file system the file is empty; holding the lock then shows that the lease belongs to this run.
      case $A_ in "run $RUN "* | '') [ ! "$f_" -ef /proc/self/fd/9 ] || $T_rm -f "$f_" ;; esac
    fi
  else
    n_=0
    until $T_mkdir "$f_.break" 2>/dev/null || [ $n_ -ge 10 ]; do
      n_=$((n_ + 1))
      $T_sleep "$NAPF"
    done
    { read -r A_ <"$f_.d/holder"; } 2>/dev/null
    case $A_ in "run $RUN "*) $T_rm -rf "$f_.d" ;; esac
    $T_rmdir "$f_.break"
  fi
  cd /
  $T_rmdir "${LOCK%/*}" 2>/dev/null
  LOCK=
}
