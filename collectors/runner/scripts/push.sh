#!/bin/sh
# Culprit capture script with upload, for a host without SSH access. It captures for a short time and uploads the result
# to an address that accepts one upload. Nothing is installed and no setting is changed. Ctrl-C ends the capture early and
# uploads the data collected so far. If the upload fails, the script keeps the file and prints the command to retry.
url='@URL@'
umask 077
command -v curl >/dev/null 2>&1 || {
  echo 'curl is missing. Install curl, or create a script with ./culprit capture script and import its result.' >&2
  exit 69
}
dir=$(mktemp -d) || exit 73
trap 'rm -rf "$dir"' EXIT
trap : INT
trap 'exit 143' TERM HUP
cat >"$dir/run.sh" <<'@END@'
@SCRIPT@
@END@
sh "$dir/run.sh" >"$dir/bundle" || echo "The capture ended with status $?. Uploading the data collected so far." >&2
[ -s "$dir/bundle" ] || {
  echo 'No data was collected, so nothing was uploaded.' >&2
  exit 70
}
code=$(curl -sS -o "$dir/answer" -w '%{http_code}' -T "$dir/bundle" "$url") || code="curl $?"
[ -s "$dir/answer" ] && cat "$dir/answer"
[ "$code" = 201 ] && exit 0
read -r name </proc/sys/kernel/random/uuid
bundle=culprit-$name.bundle
# A new file with a random name: in /tmp, another user can create a symbolic link with a name that is predictable.
(set -C && cat "$dir/bundle" >"$bundle") || exit 74
echo "Upload failed ($code). The data is in $bundle. Retry with:" >&2
echo "  curl -T $bundle '$url'" >&2
exit 75
