"""Which log files a collector may be pointed at, and the shell that reads the end of one of them.

A file of a target with its own root is read with the rights of the target's user, inside that root. A file of the host
is read with the rights of the run, often root's; so what may be named is limited here, where the request comes in,
and checked once more on the host, on the file that was opened, because a link may lead elsewhere.
"""

from __future__ import annotations

from collectors.contract import Option, Text
from collectors.shell.target import ENTER

_FOLDER = r"(?:var|srv|opt|home|data[0-9]{0,3}|logs?|tmp|mnt|app|usr/local|run)"
_STEP = r"/(?!\.{1,2}(?:/|$))[A-Za-z0-9_@+.-]{1,80}"
_NAME = r"/(?=[A-Za-z0-9_@+.-]{0,80}(?:log|\.out|\.err|\.json|\.txt))[A-Za-z0-9_@+-][A-Za-z0-9_@+.-]{0,80}"
#: An absolute path below the usual places, whose last step looks like a log's.
PATTERN = rf"/{_FOLDER}(?:{_STEP}){{0,12}}{_NAME}"

PATH = Option("path", PATTERN, Text("Path of the log", "日志文件路径"), required=True)

#: Defines `read_end FILE BYTES` for a file that a process holds open: regular, also after it was opened.
READ_END = r"""
read_end() {
  [ -f "$1" ] && timeout 5 sh -c 'exec <"$1" && [ -f /proc/self/fd/0 ] && exec tail -c "$2"' sh "$1" "$2"
}
"""

#: Defines `read_log BYTES`: the time of the last change in seconds, a line end, then at most BYTES of the end of the
#: file. Checks the file once and leaves with 69 where it cannot be read. What is opened is checked after opening:
#: a regular file, outside of the folders that hold no logs.
OPEN = (
    r"""
f=${OPT_PATH-}
[ -n "$f" ] || { echo "no path was given" >&2; exit 69; }
"""
    + ENTER
    + r"""
own_root() {
  m=$(readlink "/proc/$1/ns/mnt" 2>/dev/null) && r=$(readlink "/proc/$1/root" 2>/dev/null) || return 1
  [ "$m" != "$(readlink /proc/self/ns/mnt)" ] || [ "$r" != / ]
}
host_log() {
  [ -f "$f" ] && [ -r "$f" ] || { echo "there is no such file, or it may not be read" >&2; return 69; }
  timeout 30 sh -c 'exec 3<"$1" && [ -f /proc/self/fd/3 ] || exit 69
    case $(readlink /proc/self/fd/3) in
      /proc/* | /sys/* | /dev/* | /etc/* | /boot/* | */.ssh/* | */.aws/* | */.kube/*) echo "not a log" >&2; exit 69 ;;
    esac
    date -r /proc/self/fd/3 +%s && tail -c "$2" <&3' sh "$f" "$1"
}
read_log() {
  if [ -n "$inside" ]; then enter_target file "$f" "$1" 30 $inside; else host_log "$1"; fi
}
inside=
if [ -n "${TARGET_PID-}" ] && own_root "$TARGET_PID"; then inside="$TARGET_PID ${TARGET_PIDS-}"; fi
read_log 1 > /dev/null
c=$?
if [ $c = 66 ]; then
  inside=
  read_log 1 > /dev/null 2>&1
  c=$?
fi
[ $c = 0 ] || exit 69
"""
)
