"""Connections that are opened to one address, again and again: how many are lost, and how long they take."""

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

#: One process, sockets that do not block: a lost SYN keeps no other probe waiting.
_SH_PYTHON = (
    PRELUDE
    + r"""
address=${OPT_ADDRESS:-127.0.0.1} port=${OPT_PORT:-22}
echo "target $address:$port"
$ns python3 -I -S -B - "$address" "$port" "${OPT_COUNT:-200}" "$SECS" <<'PYTHON'
import errno, selectors, socket, sys, time
address, port, count, seconds = sys.argv[1], *map(int, sys.argv[2:])
timeout = 3.5 if seconds > 7 else seconds / 2
count = min(count, seconds * 50)
gap = max(0.02, (seconds - timeout) / count)
family, _, _, _, at = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
names = {0: "ok", errno.ECONNREFUSED: "refused", errno.ETIMEDOUT: "timeout"}
ready, begun = selectors.DefaultSelector(), {}

def end(one, outcome):
    start, boot = begun.pop(one)
    ready.unregister(one)
    one.close()
    print("probe %.3f %s %.3f" % (boot, outcome, (time.monotonic() - start) * 1e3))

def open_one():
    one = socket.socket(family, socket.SOCK_STREAM)
    one.setblocking(False)
    begun[one] = time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME)
    ready.register(one, selectors.EVENT_WRITE)
    code = one.connect_ex(at)
    if code not in (0, errno.EINPROGRESS):
        end(one, names.get(code, "failed"))

first, opened = time.monotonic(), 0
while opened < count or begun:
    now = time.monotonic()
    if opened < count and now >= first + opened * gap:
        open_one()
        opened += 1
        continue
    for one in [one for one, (start, _) in begun.items() if now - start > timeout]:
        end(one, "timeout")
    wait = first + opened * gap - now if opened < count else 0.05
    for key, _ in ready.select(min(0.05, max(0.001, wait))):
        code = key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        end(key.fileobj, names.get(code, "failed"))
PYTHON
"""
)
#: curl's telnet talks until its time is up, so a connection time means success, regardless of its exit code.
_SH_CURL = (
    PRELUDE
    + LOW
    + r"""
address=${OPT_ADDRESS:-127.0.0.1} port=${OPT_PORT:-22}
echo "target $address:$port"
case $address in *:*) address="[$address]" ;; esac
ask() {
    $ns $low curl -q -s -o /dev/null --noproxy '*' --max-time 3.5 -w '%{time_connect}' \
        "telnet://$address:$port" < /dev/null > ".$i"
    code=$?
    awk '{ printf "%.3f", $1 * 1000; exit !($1 > 0) }' ".$i" && code=0
    rm -f ".$i"
    return "$code"
}
per_s=10
"""
    + CURL
)


def parse_tcp_probe(parts: Mapping[str, Part], context: Context) -> Parsed:
    """See `collectors.parse.network.probe_lines`."""
    return probe_lines.parse_probes(parts, context, "tcp", "probe.connect_ms")


COLLECTOR = Collector(
    id="tcp_probe",
    title=Text("TCP probe", "TCP 探测"),
    why=Text(
        "Is there loss on the port that the service really uses? Times near 1 s and 3 s are lost SYNs.",
        "服务真正使用的端口上是否丢包？耗时集中在 1 秒、3 秒即为 SYN 丢失。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "python",
            Needs(tools=("python3",), remedy="python3"),
            sh=_SH_PYTHON,
            command_line="python3: open and close connections to one address at an even pace for {seconds} s",
            version="python3 -V",
            stop="TERM",
        ),
        Script(
            "curl",
            Needs(tools=("curl", "awk"), remedy="curl"),
            sh=_SH_CURL,
            command_line="curl telnet://ADDRESS:PORT at an even pace for {seconds} s",
            version="curl --version",
            stop="TERM",
        ),
    ),
    parse=parse_tcp_probe,
    cost=Cost(
        2.0,
        800,
        Text(
            "200 connections to the address that you name, at most 50 a second; the service sees them.",
            "向指定地址发起 200 次连接，每秒至多 50 次；对端服务会看到这些连接。",
        ),
    ),
    yields=("probe.connect_ms",),
    seconds_max=120,
    max_bytes=_MAX_BYTES,
    options=(
        Option("address", r"[0-9A-Za-z][0-9A-Za-z.:-]{0,99}", Text("Address", "地址"), "127.0.0.1"),
        Option("port", r"[1-9]\d{0,4}", Text("TCP port", "TCP 端口"), "22"),
        Option("count", r"[1-9]\d{0,3}", Text("Number of probes", "探测次数"), "200"),
    ),
    touches=frozenset({TargetAccess.SOCKETS}),
)
