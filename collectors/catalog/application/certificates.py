"""Certificates that listeners of the host serve, and who connects where one is outside of its time of validity."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn
from collectors.shell.network import PRELUDE

_MAX_BYTES = 1 << 16
_COLUMNS = (
    *(FieldColumn("address", number=False), FieldColumn("pid"), FieldColumn("comm", number=False)),
    *(FieldColumn("error"), FieldColumn("limit", number=False), FieldColumn("own_issuer", source="own")),
    FieldColumn("clients"),
)

#: A listener is a candidate on a port that is registered for TLS (IANA), or where its program has a library of TLS in its
#: memory; Node and Java have it inside. Databases have such a library and another protocol. A program that
#: does not speak TLS gets one request that it cannot read. openssl continues after an error of verification and prints
#: each: 9 not yet valid, 10 expired (with the date after it), 18 self-signed (x509_vfy.h). Where one is 9 or 10,
#: connections are listed without a pause, because one that is refused lives for milliseconds. Different addresses and
#: ports are clients. The host is checked too where a stage is about a service in a network namespace of its own.
#: A process chooses its name, and so what follows it in the output of ss: only numbers are PIDs.
_SH = (
    PRELUDE
    + r"""
n=0 old=-
for ns in '' "$ns"; do
[ "$ns" != "$old" ] || break
old=$ns
$ns ss -Hltnp 2> .err | awk '{ a = $4; split($0, w, /[",]/); sub(/.*:/, "", $4); if ($4 in s || w[4] !~ /^pid=[0-9]+$/) next
    s[$4]; gsub(/[\t=]/, "_", w[2]); sub(/^(\*|0\.0\.0\.0|\[::\]):/, "127.0.0.1:", a); print a, substr(w[4], 5), $4, w[2] }' > .listen
while read -r a p k c; do
  case $k:$c in *:postgres|*:pgbouncer|*:m*sql*|*:mariadbd|*:redis*|*:valkey*|*:memcached|*:mongod) continue ;;
    443:*|465:*|636:*|993:*|995:*|6443:*|8443:*|*:node|*:MainThread|*:java) ;;
    *) grep -qE 'lib(ssl|gnutls)' "/proc/$p/maps" 2> .err || continue ;; esac
  [ $((n += 1)) -le 16 ] && [ -z "$over" ] || break
  timeout 2 $ns openssl s_client -connect "$a" < /dev/null > .out 2>&1
  grep -q BEGIN .out || continue
  e=$(awk -F '[=:]' '/^verify error:num=18/ { o = 1 } /^verify error:num=(9|10):/ { e = $3 } /^not(Before|After)=/ && e && !l { sub("=", " "); l = $0 }
    END { printf "error=%d\town=%d\tlimit=%s", e, o, l }' .out)
  i=0
  case $e in error=0*) ;; *)
    nap 0.1
    while [ -z "$over" ] && [ $((i += 1)) -le $((SECS * 80)) ]; do
      $ns ss -Htn state connected "sport = :$k" 2> .err
    done ;; esac > .met
  awk -v e="certificate	address=$a	pid=$p	comm=$c	$e" '!($NF in s) { s[$NF]; n++ } END { print e "\tclients=" n + 0 }' .met
done < .listen
done
echo "looks	looks=$n"
rm -f samples
"""
)


def parse_certificates(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `certificates`, one row for each listener that presented a certificate.

    `error` is 9 (not yet valid), 10 (expired) or 0, also of a certificate between it and its authority, and `limit` the
    date. `own_issuer` is 1 where it is self-signed. `clients` are connections of the seconds after.
    """
    del context
    matching = field_lines.read_field_lines(parts, ("certificate", "looks"))
    if matching is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching, tables=field_lines.build_table("certificates", matching["certificate"], _COLUMNS, 16)
    )


COLLECTOR = Collector(
    id="certificates",
    title=Text("Certificates of listeners", "监听端口的证书"),
    why=Text(
        "Whether a service presents a certificate that has expired. Clients that refuse it leave no line in its log.",
        "服务是否在使用过期证书；拒绝它的客户端不会在服务日志中留下任何记录。",
    ),
    tier=Tier.STANDARD,
    on_demand=True,
    exclusive=True,
    methods=(
        Script(
            "openssl",
            Needs(
                tools=("ss", "awk", "openssl"),
                root=True,
                remedy="iproute2, openssl, and root for owners of sockets",
            ),
            sh=_SH,
            command_line="openssl s_client to at most 16 local listeners that may speak TLS, within {seconds} s",
            version="openssl version",
            stop="TERM",
        ),
    ),
    parse=parse_certificates,
    cost=Cost(
        1.0,
        200,
        Text(
            "One connection to each local listener that may speak TLS; its program sees it.",
            "对每个可能使用 TLS 的本机监听端口建立一次连接，服务会看到它。",
        ),
    ),
    seconds_max=30,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.SOCKETS, TargetAccess.COUNTERS}),
)
