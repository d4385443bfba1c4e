#!/bin/sh
# Culprit, for a host that is reached only by its console. Looks at this host for a short while and sends what it saw to
# one address, which takes it once. Nothing is installed and no setting is changed. Ctrl-C ends the look early; what
# there is by then is sent. What could not be sent is kept, and how to send it again is said.
url='@URL@'
umask 077
command -v curl >/dev/null 2>&1 || {
  echo 'This needs curl. Without it: make the bundle with ./culprit bundle, and carry it by hand.' >&2
  exit 69
}
dir=$(mktemp -d) || exit 73
trap 'rm -rf "$dir"' EXIT
trap : INT
trap 'exit 143' TERM HUP
cat >"$dir/run.sh" <<'@END@'
@SCRIPT@
@END@
sh "$dir/run.sh" >"$dir/bundle" || echo "The look ended with status $?; what there is of it is sent." >&2
[ -s "$dir/bundle" ] || {
  echo 'Nothing was seen, and nothing is sent.' >&2
  exit 70
}
code=$(curl -sS -o "$dir/answer" -w '%{http_code}' -T "$dir/bundle" "$url") || code="curl $?"
[ -s "$dir/answer" ] && cat "$dir/answer"
[ "$code" = 201 ] && exit 0
read -r name </proc/sys/kernel/random/uuid
kept=culprit-$name.bundle
# A new file, whose name nobody could guess: in /tmp, a symbolic link of another user may wait for one that can be guessed.
(set -C && cat "$dir/bundle" >"$kept") || exit 74
echo "It was not taken ($code). What was seen is kept in $kept. Send it again with:" >&2
echo "  curl -T $kept '$url'" >&2
exit 75
