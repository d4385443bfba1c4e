"""What each configured name server answers to one small query, and how long it takes."""

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
#: every second query is for the start of that zone (SOA): a server that refuses it resolves no name of the host. Only
#: the host's own name servers receive the domain, and each query of a program gives it to them anyway. Python of the
#: host is used at a fixed path, without its environment.
_PROGRAM = r"""
import os, socket, struct, sys, time
CODES = {0: "answer", 1: "format error", 2: "server failure", 3: "no such name", 4: "not implemented", 5: "refused"}
QUESTIONS = {"root": b"\0\0\2\0\1"}
servers = []
for line in open("/etc/resolv.conf", "rb").read(65536).decode("ascii", "replace").splitlines():
    words = line.split()
    if len(words) > 1 and words[0] == "nameserver" and len(servers) < 3:
        servers.append(words[1])
    if len(words) > 1 and words[0] in ("search", "domain"):
        labels = words[1].strip(".").encode("ascii", "replace").split(b".")
        name = b"".join(bytes([len(label)]) + label for label in labels)
        if all(0 < len(label) < 64 for label in labels) and len(name) < 255:
            QUESTIONS["search domain"] = name + b"\0\0\6\0\1"
asked = list(QUESTIONS)
end = time.monotonic() + min(int(sys.argv[1]), 10)
attempt = 0
while servers and attempt < 4:
    attempt += 1
    question = asked[(attempt - 1) % len(asked)]
    for order, server in enumerate(servers, 1):
        try:
            family, kind, proto, name, place = socket.getaddrinfo(server, 53, 0, socket.SOCK_DGRAM, 0, socket.AI_NUMERICHOST)[0]
        except OSError:
            continue
        number = struct.unpack(">H", os.urandom(2))[0]
        began, outcome = time.monotonic(), "no answer"
        with socket.socket(family, kind, proto) as peer:
            peer.settimeout(2.0)
            try:
                peer.connect(place)
                peer.send(struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + QUESTIONS[question])
                reply = peer.recv(4096)
                if len(reply) >= 4 and struct.unpack(">H", reply[:2])[0] == number:
                    outcome = CODES.get(reply[3] & 15, "other error")
            except socket.timeout:
                pass
            except OSError as error:
                outcome = "unreachable: " + (error.strerror or "?")
        print("probe\tserver=%s\torder=%d\tattempt=%d\tms=%.1f\toutcome=%s\tquestion=%s" % (server, order, attempt, 1000 * (time.monotonic() - began), outcome, question), flush=True)
    if time.monotonic() + 1 >= end:
        break
    time.sleep(1)
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

    `question` is root or search domain; captures of earlier versions have none and asked for the root.
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
        "Whether each name server in resolv.conf answers, with which error, and how fast.",
        "resolv.conf 中的每个域名服务器是否应答、返回什么错误、耗时多少。",
    ),
    tier=Tier.STANDARD,
    on_demand=True,
    exclusive=True,
    methods=(
        Script(
            "python",
            Needs(files=("/etc/resolv.conf",), remedy="python3 in /usr/bin, and /etc/resolv.conf"),
            sh=_SH,
            command_line="python3: at most four queries to each of three name servers within {seconds} s",
        ),
    ),
    parse=parse_dns_probe,
    cost=Cost(0.5, 100, Text("At most twelve small packets.", "最多十二个小数据包。")),
    seconds_max=30,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
