# Directories that other users of the host can reach: find safe ones, enter them, and remove directories of this run.
# sh cannot open a file without following symbolic links. So no path that another user can change is opened:
# the shell changes into a verified directory, which pins it, and uses relative names there.

# Check that only root and this user can replace an entry of directory $1 or of its parents. Sets P_ to its real path.
# A world-writable directory is accepted if it is sticky: no other user can rename or remove entries of this run there.
is_secure_parent() {
  P_=$(cd -P "$1" 2>/dev/null && pwd -P) || return 1
  case $P_ in *[!A-Za-z0-9._/+:@,-]* | '') return 1 ;; esac
  x_=$P_
  set -- /
  while [ -n "$x_" ]; do
    set -- "$@" "$x_"
    x_=${x_%/*}
  done
  L_=$($T_ls -ldn "$@" 2>/dev/null) && [ -n "$L_" ] || return 1
  IFS=$NL
  set -- $L_
  unset IFS
  for l_; do
    set -- $l_
    case $3 in 0 | "$MYUID") ;; *) return 1 ;; esac
    # Fields 1 and 4 are mode and group. Group 0 is root, too.
    case $1/$4 in d????-??-*/* | d????????[tT]*/* | d???????-*/0) ;; *) return 1 ;; esac
  done
}

# Change into directory $1, a real path below a secure parent, if it is a directory that only this user can
# write to. PWD shows that no symbolic link was followed. A file system in user space can claim any owner, so a mount
# point is refused.
enter_own_directory() {
  {
    cd -P "$1" && [ "$PWD" = "$1" ] && [ -O . ] && [ -n "$T_grep" ] &&
      case $($T_ls -ldn .) in d????-??-*) ;; *) false ;; esac &&
      ! $T_grep -qF " $1 " /proc/self/mountinfo && [ "$1" -ef . ]
  } 2>/dev/null && return 0
  cd /
  return 1
}

# Remove directory $1 and its content if this user owns it.
remove_own_directory() {
  [ -n "$1" ] && enter_own_directory "$1" || return 0
  for r_ in 1 2 3; do
    $T_rm -rf ./* ./.[!.]* ./..?*
    $T_rmdir "$1" 2>/dev/null && break
  done
  cd /
}

# Create a directory of this run below the secure parent $1. Sets DIR. If another user took the name, use a random name.
create_directory() {
  for x_ in '' random; do
    [ -z "$x_" ] || read -r x_ </proc/sys/kernel/random/uuid
    DIR=$1/culprit-$RUN${x_:+.$x_}
    notify_guard try "$DIR"
    if $T_mkdir -m 700 "$DIR" 2>/dev/null && enter_own_directory "$DIR"; then
      cd /
      return 0
    fi
    [ -e "$DIR" ] || [ -L "$DIR" ] || break
    skip_directory "$DIR" taken
  done
  DIR=
  return 1
}

# Record that path $1 is not used for reason $2: `insecure` (others can replace its entries) or `taken` (another user's).
skip_directory() {
  case " $SKIPPED " in *" $1:$2 "*) return 0 ;; esac
  SKIPPED="$SKIPPED${SKIPPED:+ }$1:$2"
  log "note skipped directory $1: $2"
}
