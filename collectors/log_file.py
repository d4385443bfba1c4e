"""Which log files a collector may be pointed at, and the shell that opens one of them.

Files are read with the rights of the run, often root's; so what may be named is limited here, where the request
comes in, and looked at once more on the host, where a link may lead elsewhere.
"""

from __future__ import annotations

from collectors.contract import Option, Text

_FOLDER = r"(?:var|srv|opt|home|data[0-9]{0,3}|logs?|tmp|mnt|app|usr/local|run)"
_STEP = r"/(?!\.{1,2}(?:/|$))[A-Za-z0-9_@+.-]{1,80}"
_NAME = r"/(?=[A-Za-z0-9_@+.-]{0,80}(?:log|\.out|\.err|\.json|\.txt))[A-Za-z0-9_@+-][A-Za-z0-9_@+.-]{0,80}"
#: An absolute path below the usual places, whose last step looks like a log's.
PATTERN = rf"/{_FOLDER}(?:{_STEP}){{0,12}}{_NAME}"

PATH = Option("path", PATTERN, Text("Path of the log", "日志文件路径"), required=True)

#: Sets `f` to the file, seen from the target's own root where there is a target; leaves with 69 where it cannot.
OPEN = r"""
f=${OPT_PATH-}
[ -n "$f" ] || { echo "no path was given" >&2; exit 69; }
r=/proc/${TARGET_PID:-self}/root$f
[ -z "${TARGET_PID-}" ] || [ ! -f "$r" ] || f=$r
[ -f "$f" ] && [ -r "$f" ] || { echo "there is no such file, or it may not be read" >&2; exit 69; }
[ "$f" != "$r" ] || [ ! -L "$f" ] || { echo "a link inside a container may lead out of it" >&2; exit 69; }
case $(readlink -f "$f" 2>/dev/null) in
  /proc/* | /sys/* | /dev/* | /etc/* | /boot/* | */.ssh/* | */.aws/* | */.kube/*) echo "not a log" >&2; exit 69 ;;
esac
"""
