"""Requests to one URL, again and again: how many fail, and how long they take."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Option,
    Parsed,
    Part,
    Script,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.network import probe_lines
from collectors.shell.network import PRELUDE
from collectors.shell.probes import CURL
from collectors.shell.target import LOW

_MAX_BYTES = 4 << 20

#: `-q`: no .curlrc; no redirects are followed, so that nothing is asked but the URL that was named.
_SH = (
    PRELUDE
    + LOW
    + r"""
url=${OPT_URL:-http://127.0.0.1/}
echo "target $url"
ask() {
    $ns $low curl -q -s -o /dev/null --noproxy '*' --connect-timeout 3.5 --max-time 5 \
        -w '%{time_total} %{http_code}' "$url" < /dev/null > ".$i"
    code=$?
    awk '{ printf "%.3f %d", $1 * 1000, $2 }' ".$i"
    rm -f ".$i"
    return "$code"
}
per_s=20
"""
    + CURL
)


def parse_http_probe(parts: Mapping[str, Part], context: Context) -> Parsed:
    """See `collectors.parse.network.probe_lines`."""
    return probe_lines.parse_probes(parts, context, "http", "probe.http_ms")


COLLECTOR = Collector(
    id="http_probe",
    title=Text("HTTP probe", "HTTP 探测"),
    why=Text(
        "Whether the service answers complete requests, and how fast. A good handshake does not "
        "prove that large packets pass.",
        "服务能否完整应答请求、应答多快。握手正常并不代表大包也能通过。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "curl",
            Needs(tools=("curl", "awk"), remedy="curl"),
            sh=_SH,
            command_line="curl URL at an even pace for {seconds} s",
            version="curl --version",
            stop="TERM",
        ),
    ),
    parse=parse_http_probe,
    cost=Cost(
        10.0,
        800,
        Text(
            "200 requests to the URL that you name, at most 20 a second; the service sees them.",
            "向指定 URL 发起 200 次请求，每秒至多 20 次；对端服务会看到这些请求。",
        ),
    ),
    yields=("probe.http_ms",),
    seconds_max=120,
    max_bytes=_MAX_BYTES,
    options=(
        Option(
            "url",
            r"https?://[0-9A-Za-z.:\[\]-]{1,120}(/[0-9A-Za-z._~/%-]{0,200})?",
            Text("URL without a query", "URL（不含查询串）"),
            "http://127.0.0.1/",
        ),
        Option("count", r"[1-9]\d{0,3}", Text("Number of probes", "探测次数"), "200"),
    ),
    touches=frozenset({TargetAccess.SOCKETS}),
)
