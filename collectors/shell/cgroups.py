"""The shell that reads files of control groups: v1, v2 or both, wherever they are mounted."""

from __future__ import annotations

from collectors.shell.dedent import strip_indent

#: On a whole host it reads the groups that `@FIND@` picks, at the start and the end; with a target its group, those
#: above and those below, once a second. xargs -0, because systemd writes backslashes into names.
_SH = r"""
LC_ALL=C
export LC_ALL
trap 'e=1' TERM
N='
'
M= e= g=${TARGET_CGROUP-}
while read -r x m k o x; do
  case $k,$o, in cgroup2,* | @OF@) M=$M$m$N; echo "mount $m $k" ;; esac
done </proc/self/mounts
IFS=$N
set -f
groups() {
  if [ -n "$g" ]; then
    d=$g
    while [ -n "$d" ]; do echo "$d"; d=${d%/*}; done
    for m in $M; do [ ! -d "$m$g" ] || (cd "$m$g" && find . -mindepth 1 -type d | sed "s|^\.|$g|;99q"); done
    return
  fi
  for m in $M; do (cd "$m" && @FIND@) | sed -n 's|^\.\(/.*\)/[^/]*$|\1|p'; done
}
files() {
  for d in $G; do for m in $M; do for f in $1; do [ ! -f "$m$d/$f" ] || echo "$m$d/$f"; done; done; done
}
look() {
  IFS=' ' read -r u x </proc/uptime
  echo "@ $1 $u"
  echo "$F" | tr '\n' '\0' | xargs -0 grep -sHE '@LINES@'
}
G=$(groups 2>/dev/null | sort -u | head -n 300)
F=$(files '@FILES@')
[ -n "$M" ] || { echo "no cgroup file system is mounted" >&2; exit 69; }
n=1 s=$SECS
[ -z "$g" ] || n=$SECS s=1
i=0
look 0
while [ $i -lt $n ] && [ -z "$e" ]; do
  i=$((i + 1))
  sleep $s &
  wait $!
  look $i
done
@THEN@
exit 0
"""


def build_cgroup_script(
    controllers: tuple[str, ...], find: str, files: tuple[str, ...], lines: str = "", then: str = ""
) -> str:
    """The script: which files tell that a group matters, which files are read, and which of their lines.

    Of the hierarchies of v1 only those of `controllers` are looked through.
    """
    mounts = " | ".join(f"cgroup,*,{name},*" for name in controllers)
    script = _SH.replace("@OF@", mounts).replace("@FIND@", find).replace("@FILES@", "\n".join(files))
    return strip_indent(script.replace("@LINES@", lines).replace("@THEN@", then))
