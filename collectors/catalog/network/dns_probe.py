"""What each name server answers to a few small queries, and how long it takes."""

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
    Text,
    Tier,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn

_MAX_BYTES = 1 << 16
_PROBES = (
    *(FieldColumn("server", number=False), FieldColumn("order"), FieldColumn("attempt")),
    *(FieldColumn("time", "ms", source="ms"), FieldColumn("outcome", number=False)),
    FieldColumn("question", number=False),
)

#: Every resolver can answer for the name servers of the root from its own knowledge. If resolv.conf has a search domain,
#: the start of that zone (SOA) is queried too: a server that refuses it resolves no name of the host. So is a name in it
#: that no cache can know, for its IPv6 address: a cache answers for a server behind it that has failed, and some servers
#: answer for addresses of one kind only. Queries start once a second and run side by side, and each may take as long as
#: libc waits for a server (resolv.conf: 5 s). Only servers that the programs query already receive the domain: those of
#: resolv.conf, and those that sockets are connected to, as of nginx, which has settings of its own. Python of the host
#: is used at a fixed path, without its environment.
_PROGRAM = r"""
import os, select, socket, struct, sys, time
CODES = ["answer", "other error", "server failure", "no such name", "other error", "refused"] + ["other error"] * 10
zone = b""
servers = {}
for line in open("/etc/resolv.conf", "rb").read(65536).decode("ascii", "replace").splitlines():
    words = line.split()
    if len(words) > 1 and words[0] == "nameserver" and len(servers) < 3:
        servers.setdefault(words[1], len(servers) + 1)
    if len(words) > 1 and words[0] in ("search", "domain"):
        zone = b"".join(bytes([len(label) & 63]) + label for label in words[1].encode().strip(b".").split(b"."))  + b"\0"
for line in open("/proc/net/udp"):
    text = line.split()[2]
    if text.endswith(":0035") and len(servers) < 6:
        servers.setdefault(socket.inet_ntoa(struct.pack("=I", int(text[:8], 16))), 0)
waiting = {}
attempt = 0
begin = now = time.monotonic()
end = begin + min(int(sys.argv[1]), 10)
last = max(begin, end - 2)
while servers and (waiting or attempt < 4 and now <= last):
    if attempt < 4 and begin + attempt <= now <= last:
        attempt += 1
        questions = {"root": b"\0\0\2\0\1"}
        if zone:
            questions["search domain"] = zone + b"\0\6\0\1"
            questions["new name"] = b"\x08" + os.urandom(4).hex().encode() + zone + b"\0\34\0\1"
        for question, data in questions.items():
            for server, order in servers.items():
                peer = socket.socket(10 if ":" in server else 2, socket.SOCK_DGRAM)
                text = "server=%s\torder=%d\tattempt=%d\tquestion=%s" % (server, order, attempt, question)
                waiting[peer] = now, server, data, text
    ready = select.select(list(waiting), [], [], 0.1)[0]
    now = time.monotonic()
    for peer, (sent, server, data, text) in list(waiting.items()):
        outcome = ""
        try:
            if data:
                waiting[peer] = now, server, b"", text
                peer.connect(socket.getaddrinfo(server, 53, 0, socket.SOCK_DGRAM, 0, socket.AI_NUMERICHOST)[0][4])
                peer.send(struct.pack(">6H", attempt, 256, 1, 0, 0, 0) + data)
            elif peer in ready:
                outcome = CODES[(peer.recv(4096) + b"\xff" * 4)[3] & 15]
            elif now > min(sent + 5, end):
                outcome = "no answer"
        except OSError as error:
            outcome = "unreachable: " + (error.strerror or "?")
        if outcome:
            del waiting[peer]
            peer.close()
            print("probe\t%s\tms=%.1f\toutcome=%s" % (text, 1000 * (now - sent), outcome), flush=True)
"""

_SH = f"""
LC_ALL=C
export LC_ALL
python=
for c in /usr/bin/python3 /usr/libexec/platform-python; do [ -n "$python" ] || [ ! -x "$c" ] || python=$c; done
[ -n "$python" ] || {{ echo "no Python in /usr/bin: install python3" >&2; exit 69; }}
grep -q '^nameserver' /etc/resolv.conf 2>/dev/null || {{ echo "no name server in /etc/resolv.conf" >&2; exit 69; }}
env -i "$python" -I -S -B - "$SECS" <<'PYTHON'
{_PROGRAM.strip()}
PYTHON
"""


def parse_dns_probe(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `dns_probes`: one row for each query; `outcome` is answer, no answer, or an error of the server.

    `question` is root, search domain or new name; captures of earlier versions have none and queried the root. `order` is
    the place in resolv.conf, 0 for a server that is not in it.
    """
    del context
    matching = field_lines.read_field_lines(parts, ("probe",))
    if matching is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching, tables=field_lines.build_table("dns_probes", matching["probe"], _PROBES, 100)
    )


COLLECTOR = Collector(
    id="dns_probe",
    title=Text("Answers of name servers", "域名服务器的应答"),
    why=Text(
        "Whether each name server that programs use answers, with which error, and how fast.",
        "程序使用的每个域名服务器是否应答、返回什么错误、耗时多少。",
    ),
    tier=Tier.STANDARD,
    on_demand=True,
    exclusive=True,
    methods=(
        Script(
            "python",
            Needs(files=("/etc/resolv.conf",), remedy="python3 in /usr/bin, and /etc/resolv.conf"),
            sh=_SH,
            command_line="python3: at most twelve queries to each of six name servers within {seconds} s",
        ),
    ),
    parse=parse_dns_probe,
    cost=Cost(
        0.5,
        100,
        Text("Twelve small packets to each name server at most.", "向每个域名服务器最多发送十二个小数据包。"),
    ),
    seconds_max=30,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
