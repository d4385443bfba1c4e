"""The shell that asks a local PostgreSQL: where its socket is, and which user may ask without a password."""

from __future__ import annotations

#: Sets `u` to the user that owns the server and `h` to the folder of its socket, and defines `ask WHEN`, which reads
#: statements from standard input for the database `$d` (`postgres` by default) with `WHEN` as the variable `w`. A
#: server of the target comes first; without one, the first that listens. The socket is opened with the rights of the
#: server's own user, which peer authentication maps to its administrator. A password is never sent, as anyone may
#: listen on such a socket, and the session is read-only. An administrator with another name, as in the container
#: images, and the roles of the sessions that are open, from the titles of their processes, are tried where that name
#: is no role.
ASK_POSTGRES = r"""
LC_ALL=C PGCONNECT_TIMEOUT=3 PGAPPNAME=culprit PGPASSFILE=/dev/null/none
PGOPTIONS='-c default_transaction_read_only=on -c statement_timeout=3000 -c lock_timeout=500'
export LC_ALL PGCONNECT_TIMEOUT PGAPPNAME PGPASSFILE PGOPTIONS
unset PGPASSWORD PGSERVICE
h=${OPT_SOCKET-} p=${OPT_PORT-} u=
w= s=
w=$(ss -Hlxp 2>/dev/null | awk -v of=" ${TARGET_PIDS:-${TARGET_PID-}} " -v port="$p" -v folder="$h" '
  match($0, /[^ ]*\/\.s\.PGSQL\.[0-9]+ /) {
    s = substr($0, RSTART, RLENGTH - 1); n = s; sub(/.*\./, "", n); f = s; sub(/\/[^\/]*$/, "", f)
    if ((port != "" && n != port) || (folder != "" && f != folder)) next
    if (f !~ /^(\/[A-Za-z0-9_.-]+)+$/ || !match($0, /pid=[0-9]+/)) next
    q = substr($0, RSTART + 4, RLENGTH - 4)
    if (index(of, " " q " ")) { print q, f, n; found = 1; exit }
    if (first == "") first = q " " f " " n }
  END { if (!found && first != "") print first }')
if [ -n "$w" ]; then
  set -- $w
  s=$1 h=$2 p=$3
  u=$(awk '/^Uid:/ { print $3 }' "/proc/$1/status" 2>/dev/null)
  [ "$u" != 0 ] || u=
fi
n=$(id -u)
if [ -z "$u" ]; then u=$n; [ "$n" != 0 ] || u=$(id -u postgres 2>/dev/null || echo 0); fi
k=$(id -gn "$u" 2>/dev/null || echo "$u")
PGUSER=$(id -un "$u" 2>/dev/null || echo postgres)
export PGUSER
list_roles() {
  set -- $(sed 's|[0-9][0-9]*|/proc/&/cmdline|g' "/proc/$s/task/$s/children" 2>/dev/null)
  [ $# -eq 0 ] || grep -sah '^postgres: ' "$@" | tr '\000' '\n' |
    sed -n 's/^postgres: \(.*: \)\{0,1\}\([a-z_][a-z0-9_]*\) [^ ]* \(\[local\]\|[0-9a-f.:]*([0-9]*)\) .*/\2/p' |
    sort | uniq -c | sort -rn | awk 'NR < 4 { print $2 }'
}
choose_role() {
  echo 'select 1;' | ask >/dev/null && return
  for PGUSER in $([ "$PGUSER" = postgres ] || echo postgres) ${s:+$(list_roles)}; do
    echo 'select 1;' | ask >/dev/null && return
  done
}
ask() {
  set -- psql -X -w -q -A -t -d "${d:-postgres}" -v "w=${1-}" ${p:+-p $p} ${h:+-h $h}
  [ "$u" = "$n" ] || set -- setpriv --reuid "$u" --regid "$k" --init-groups --no-new-privs "$@"
  timeout 8 "$@" 2>.err
}
choose_role
"""
