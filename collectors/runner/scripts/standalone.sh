#!/bin/sh
# Culprit capture script. It captures on this host for a short time and writes the result:
#
#     sh culprit-capture.sh > culprit-out.bundle        (or: sh culprit-capture.sh -o culprit-out.bundle)
#
# Then import culprit-out.bundle. Nothing is installed and no setting is changed. Temporary files are in one directory,
# culprit-*, which is removed at the end. Ctrl-C ends the capture early and keeps the data collected so far.
if [ "${CULPRIT_ROLE-}" = "" ]; then
  if [ "${1-}" = -o ] && [ -n "${2-}" ]; then
    # Only a new file: in a shared directory, another user can have created a symbolic link with this name.
    set -C
    exec >"$2" || exit 73
    set +C
  elif [ -t 1 ]; then
    echo "usage: sh $0 > culprit-out.bundle" >&2
    exit 64
  fi
  if [ ! -r "$0" ]; then
    echo "run it from a file: sh culprit-capture.sh" >&2
    exit 64
  fi
fi
