"""Which units complained in the journal during the last day. Counts only: messages stay on the host."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Script, Text, Tier
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn

_MAX_BYTES = 512 << 10
_COLUMNS = (
    FieldColumn("unit", number=False),
    FieldColumn("errors"),
    FieldColumn("warnings"),
    FieldColumn("recent_errors"),
    FieldColumn("recent_warnings"),
    FieldColumn("first_ago", "s", source="first_s"),
    FieldColumn("last_ago", "s", source="last_s"),
)

#: MESSAGE is not among the fields that are asked for, so it is never even read by awk.
_SH = r"""
LC_ALL=C
export LC_ALL
trap : TERM
sleep "$SECS" & wait $!
timeout 15 journalctl -q --no-pager -p warning --since=-24h -n 50000 -o json \
  --output-fields=_SYSTEMD_UNIT,SYSLOG_IDENTIFIER,PRIORITY > .lines 2> .err || { cat .err >&2; exit 69; }
if [ ! -s .lines ] && ! journalctl -q --no-pager -n 1 -o json --output-fields=PRIORITY 2>/dev/null | grep -q .; then
  echo "the journal is empty or closed to this user" >&2
  exit 69
fi
awk -v now="$(date +%s)" -v window=$((SECS + 300)) '
function get(k) { return match($0, "\"" k "\" *: *\"[^\"]*\"") ? substr($0, RSTART + length(k) + 3, RLENGTH - length(k) - 3) : "" }
{
  u = get("_SYSTEMD_UNIT"); if (u == "") u = get("SYSLOG_IDENTIFIER"); gsub(/^[^"]*"|"$/, "", u); gsub(/[\t=]/, "_", u)
  p = get("PRIORITY"); gsub(/[^0-7]/, "", p); t = get("__REALTIME_TIMESTAMP"); gsub(/[^0-9]/, "", t); age = now - t / 1e6; if (age < 0) age = 0
  if (!(u in first)) { if (units >= 500) next; units++; first[u] = last[u] = age }
  if (age > first[u]) first[u] = age; if (age < last[u]) last[u] = age
  if (p <= 3) { e[u]++; if (age <= window) re[u]++ } else { w[u]++; if (age <= window) rw[u]++ }
}
END {
  for (u in first) printf "unit\tunit=%s\terrors=%d\twarnings=%d\trecent_errors=%d\trecent_warnings=%d\tfirst_s=%d\tlast_s=%d\n", substr(u, 1, 100), e[u], w[u], re[u], rw[u], first[u], last[u]
  printf "journal\tlines=%d\twindow_s=%d\n", NR, window
}' .lines
"""


def parse_journal(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `journal_units`: lines of priority err and above, and of warning, over a day and recently.

    Recently is the capture and the five minutes before it.
    """
    del context
    matching_field_lines = field_lines.read_field_lines(parts, ("unit", "journal"), max_lines=2_000)
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    matching_field_lines["unit"].sort(
        key=lambda line: -((line.whole("errors") or 0) * 1_000_000 + (line.whole("warnings") or 0))
    )
    facts = {
        f"journal_{name}": line.whole(name)
        for line in matching_field_lines["journal"][:1]
        for name in ("lines", "window_s")
    }
    return field_lines.build_parsed(
        matching_field_lines,
        tables=field_lines.build_table("journal_units", matching_field_lines["unit"], _COLUMNS, 500),
        facts=facts,
    )


COLLECTOR = Collector(
    id="journal",
    title=Text("Journal", "系统日志"),
    why=Text(
        "Which services reported errors and warnings, how many, and since when.",
        "哪些服务报告了错误与警告、数量以及开始时间。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "journalctl",
            Needs(
                tools=("journalctl", "awk"), remedy="systemd's journal, and the group systemd-journal or root"
            ),
            sh=_SH,
            command_line="journalctl -p warning --since=-24h -o json (without messages), after {seconds} s",
            version="journalctl --version | head -n 1",
            stop="TERM",
        ),
    ),
    parse=parse_journal,
    cost=Cost(0.3, 200, Text("At most 50 000 lines are counted, at the end.", "结束时最多统计五万行。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
