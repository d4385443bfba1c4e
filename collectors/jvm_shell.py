"""The shell that both Java collectors share: which process, which jcmd, and how to reach it.

A JVM answers only to its own user, inside its own mount and pid namespaces; so jcmd is run there, as that user,
from the JDK that the process itself came with, or from the host's where the process shares its namespaces.
"""

from __future__ import annotations

#: Sets `j` to the first Java process of the target and defines `jcmd_in COMMAND`; leaves with 69 where it cannot.
ATTACH = r"""
j=
for p in ${TARGET_PID-} ${TARGET_PIDS-}; do
  case $(readlink "/proc/$p/exe" 2>/dev/null) in */java) j=$p; break ;; esac
done
[ -n "$j" ] || { echo "no Java process among those named" >&2; exit 69; }
u=$(awk '/^Uid:/ { print $3 }' "/proc/$j/status"); g=$(awk '/^Gid:/ { print $3 }' "/proc/$j/status")
n=$(awk '/^NSpid:/ { print $NF }' "/proc/$j/status")
e=$(readlink "/proc/$j/exe"); e=${e%/java}
for c in "$e/jcmd" "${e%/jre/bin}/bin/jcmd" /usr/bin/jcmd; do
  [ -x "/proc/$j/root$c" ] && break
  c=
done
[ -n "$c" ] || { echo "no jcmd beside the process" >&2; exit 69; }
in=
[ "$(id -u)" != 0 ] || in="nsenter -t $j -m -p -S $u -G $g --"
jcmd_in() { timeout 8 $in "$c" "${n:-$j}" "$1" 2>/dev/null | grep -v '^[0-9]*:$' | grep . ; }
echo "jcmd $j" > "${ARGV:-/dev/null}"
"""
