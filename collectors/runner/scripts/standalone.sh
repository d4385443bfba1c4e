#!/bin/sh
# Culprit, carried by hand. Looks at this host for a short while and writes what it saw:
#
#     sh culprit-bundle.sh > culprit-out.bundle        (or: sh culprit-bundle.sh -o culprit-out.bundle)
#
# Then import culprit-out.bundle. Nothing is installed, no setting is changed; what it needs meanwhile is kept in one
# directory, culprit-*, which it removes. Ctrl-C ends it early and keeps what there is.
if [ "${CULPRIT_ROLE-}" = "" ]; then
  if [ "${1-}" = -o ] && [ -n "${2-}" ]; then
    # Only a new file: where others can write, a symbolic link of theirs may have that name.
    set -C
    exec >"$2" || exit 73
    set +C
  elif [ -t 1 ]; then
    echo "usage: sh $0 > culprit-out.bundle" >&2
    exit 64
  fi
  if [ ! -r "$0" ]; then
    echo "run it from a file: sh culprit-bundle.sh" >&2
    exit 64
  fi
fi
