"""The shell that both Java collectors share: which process is Java, and how it is asked.

A JVM is asked by the HotSpot attach protocol (JDK 8 to 21) over its own Unix socket, with the rights of the JVM's
user inside its root. Nothing of the target is executed; `runner/scripts/enter_target.py` has the details.
"""

from __future__ import annotations

from collectors.shell.target import ENTER

#: Sets `j` to the first Java process of the target and defines `jvm_command COMMAND MAX_BYTES`; leaves with 69 where
#: there is none. Blank lines are removed.
ATTACH = (
    r"""
j=
for p in ${TARGET_PID-} ${TARGET_PIDS-}; do
  case $(readlink "/proc/$p/exe" 2>/dev/null) in */java | */java' (deleted)') j=$p; break ;; esac
done
[ -n "$j" ] || { echo "no Java process among those named" >&2; exit 69; }
"""
    + ENTER
    + r"""
jvm_command() { enter_target attach "$j" "$2" 8 "$1" | grep .; }
echo "attach to $j" > "${ARGV:-/dev/null}"
"""
)
