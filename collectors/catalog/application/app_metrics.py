"""Requests, errors and latencies by route, out of an access log that stays on the host."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Option,
    Parsed,
    Part,
    Script,
    Series,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn, FieldLine
from collectors.parse.tables.tokens import MAX_NS
from collectors.shell.log_files import OPEN, PATH

_MAX_BYTES = 8 << 20
_MAX_ROUTES = 30
_METRICS = {
    "per_s": "app.requests_per_s",
    "errors_pct": "app.errors_pct",
    "p50": "app.p50_ms",
    "p90": "app.p90_ms",
    "p99": "app.p99_ms",
    "p999": "app.p999_ms",
}
_ROUTES = (
    FieldColumn("route", number=False),
    FieldColumn("requests", source="n"),
    FieldColumn("rate", "per_s", source="per_s"),
    FieldColumn("errors"),
    FieldColumn("errors_share", "pct", source="errors_pct"),
    FieldColumn("client_errors"),
    *(FieldColumn(name, "ms") for name in ("p50", "p90", "p99", "p999", "max")),
)

#: Latencies fall into bins 2 % wide, so a percentile is within 1 %. Routes lose their query, and every segment
#: with a digit, an @ or more than 40 letters; 200 of them are kept apart, the 30 busiest are printed.
_AWK = r"""
function days(y, m, d) { if (m < 3) { y--; m += 12 }
  return 365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * (m - 3) + 2) / 5) + d - 719469 }
function zone(z) { gsub(/:/, "", z); return z ~ /^[+-][0-9][0-9][0-9][0-9]$/ ? (substr(z, 1, 1) "1") * (substr(z, 2, 2) * 3600 + substr(z, 4, 2) * 60) : 0 }
function iso(s) { return days(substr(s, 1, 4), substr(s, 6, 2) + 0, substr(s, 9, 2) + 0) * 86400 + substr(s, 12, 2) * 3600 + substr(s, 15, 2) * 60 + substr(s, 18, 2) - (match(s, /[+-][0-9][0-9]:?[0-9][0-9]$/) ? zone(substr(s, RSTART)) : 0) }
function clf(s) { return days(substr(s, 8, 4), (index("JanFebMarAprMayJunJulAugSepOctNovDec", substr(s, 4, 3)) + 2) / 3, substr(s, 1, 2) + 0) * 86400 + substr(s, 13, 2) * 3600 + substr(s, 16, 2) * 60 + substr(s, 19, 2) - zone(substr(s, 22)) }
function json(k,  v) {
  if (!match($0, "\"(" k ")\" *: *(\"[^\"]*\"|[0-9.eE+-]+)")) return ""
  v = substr($0, RSTART, RLENGTH); sub(/^"[^"]*" *: */, "", v); gsub(/"/, "", v); return v }
function route(m, p,  i, k, q, o) {
  sub(/[?#;].*/, "", p); sub(/^https?:\/\/[^\/]*/, "", p); k = split(p, q, "/"); o = ""
  for (i = 2; i <= k && i < 7; i++) o = o "/" (q[i] ~ /[0-9@%=]/ && q[i] !~ /^v[0-9]$/ || length(q[i]) > 40 ? ":id" : q[i])
  if (m !~ /^[A-Z]+$/) m = "-"
  gsub(/[^A-Za-z0-9_.:\/-]/, "_", o); return m " " (o == "" ? "/" : o) }
function bin(x,  e) { e = 0; if (x < .001) x = .001
  while (x >= 10) { x /= 10; e++ } while (x < 1) { x *= 10; e-- } return e * 450 + int((x - 1) * 50) }
function middle(i,  e, v) { i += 4500; e = int(i / 450) - 10; v = 1 + (i % 450 + 0.5) / 50
  while (e > 0) { v *= 10; e-- } while (e < 0) { v /= 10; e++ } return v }
function quantiles(r, b,  i, c, k, out) {
  c = 0; k = 1; out = ""
  for (i = low; i <= high && k < 5; i++) { c += h[r, b, i]; while (k < 5 && c >= Q[k] * timed[r, b] && c) out = out "\t" P[k++] "=" middle(i) }
  return out "\tmax=" top[r, b] }
function count(r, b, s, ms, i) {
  n[r, b]++; if (s >= 500 || s == 0) bad[r, b]++; else if (s >= 400) soft[r, b]++
  if (i != "") { h[r, b, i]++; timed[r, b]++; if (ms > top[r, b]) top[r, b] = ms } }
BEGIN { low = 9999; high = -9999; from = now - window; split(".5 .9 .99 .999", Q, " "); split("p50 p90 p99 p999", P, " ") }
{
  t = ""; ms = ""
  if (form == "lab" || (form == "auto" && $0 ~ /^[0-9]+(\.[0-9]+)? [A-Z]+ \//)) { t = $1; m = $2; p = $3; s = $4; ms = $5 }
  else if (form == "json" || (form == "auto" && $0 ~ /^ *\{/)) {
    t = json("ts|time|timestamp|msec|@timestamp|time_iso8601|time_local"); m = json("method|request_method"); p = json("path|uri|request_uri|url|route"); s = json("status|code|status_code")
    ms = json("latency_ms|duration_ms|elapsed_ms"); if (ms == "") { ms = json("request_time|duration|latency|upstream_response_time"); if (ms != "") ms *= 1000 }
    if (t ~ /^[0-9][0-9][0-9][0-9]-/) t = iso(t); else if (t ~ /^[0-9][0-9]\//) t = clf(t); else if (t + 0 > 1e11) t /= 1000 }
  else if (match($0, /\[[0-9][0-9]\/[A-Z][a-z][a-z]\/[0-9:]+ [+-][0-9]+\] "/)) {
    t = clf(substr($0, RSTART + 1, RLENGTH - 4)); k = split(substr($0, RSTART + RLENGTH), w, " "); m = w[1]; p = w[2]; s = w[4]
    if (k > 5 && $NF ~ /^"?[0-9]+\.[0-9]+"?$/) { ms = $NF; gsub(/"/, "", ms); ms *= 1000 } }
  if (t !~ /^[0-9.]+$/ || s !~ /^[0-9]+$/) { odd++; next }
  t += 0; if (t < from || t > now + 5) next
  r = route(m, p)
  if (!(r in known)) { if (routes >= 200) r = "(other)"; if (!(r in known)) { known[r] = 1; name[++routes] = r } }
  i = ""
  if (ms ~ /^[0-9.]+(e-?[0-9]+)?$/) { ms += 0; i = bin(ms); if (i < low) low = i; if (i > high) high = i }
  b = int(t / 5) * 5; bucket[b] = 1
  count(r, "all", s + 0, ms, i); count(r, b, s + 0, ms, i); count("*", "all", s + 0, ms, i); count("*", b, s + 0, ms, i)
}
function emit(tag, r, b, span) {
  printf "%s\tt=%s\troute=%s\tn=%d\tper_s=%.3f\terrors=%d\terrors_pct=%.3f\tclient_errors=%d%s\n", tag, b, r, n[r, b], n[r, b] / span, bad[r, b], 100 * bad[r, b] / n[r, b], soft[r, b], timed[r, b] ? quantiles(r, b) : "" }
END {
  printf "log\twindow_s=%d\todd=%d\troutes=%d\tseen=%d\n", window, odd, routes, n["*", "all"]
  if (!n["*", "all"]) exit
  name[0] = "*"
  for (c = 0; c <= 30 && c <= routes; c++) {
    best = c
    if (c) for (i = c + 1; i <= routes; i++) if (n[name[i], "all"] > n[name[best], "all"]) best = i
    x = name[c]; name[c] = name[best]; name[best] = x
    emit("route", name[c], "all", window)
    for (b = int(from / 5) * 5 + 5; b + 5 <= now; b += 5) if (n[name[c], b]) emit("point", name[c], b, 5)
  }
}
"""

_SH = f"""
LC_ALL=C
export LC_ALL
{OPEN}
trap : TERM
sleep "$SECS" & wait $!
echo "read the last 20 MB of $OPT_PATH" > "${{ARGV:-/dev/null}}"
read_log 20000000 | sed 1d | awk -v now="$(date +%s)" -v window=$((SECS + 60)) -v form="${{OPT_FORMAT:-auto}}" '{_AWK}'
"""


def parse_app_metrics(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Series by route in steps of 5 s, at the middle of each; table `routes` over the whole window.

    Errors are answers from 500 up, and those without a status. `*` is all routes together.
    """
    matching_field_lines = field_lines.read_field_lines(parts, ("log", "route", "point"))
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    facts = (
        {
            f"app_log_{name}": matching_field_lines["log"][0].whole(name)
            for name in ("window_s", "odd", "seen")
        }
        if matching_field_lines["log"]
        else {}
    )
    series = _build_series(matching_field_lines["point"], context)
    return field_lines.build_parsed(
        matching_field_lines,
        series=series,
        tables=field_lines.build_table("routes", matching_field_lines["route"], _ROUTES),
        facts=facts,
    )


def _build_series(points: list[FieldLine], context: Context) -> tuple[Series, ...]:
    by_route: dict[str, list[FieldLine]] = {}
    for line in points:
        route, t = line.text("route", 120), line.value("t")
        if 0 < t < MAX_NS / 1e9 and (route in by_route or len(by_route) <= _MAX_ROUTES):
            by_route.setdefault(route, []).append(line)
    series: list[Series] = []
    for route, lines in by_route.items():
        lines.sort(key=lambda line: line.value("t"))
        t_ns = np.array([int((line.value("t") + 2.5) * 1e9) for line in lines], np.int64)
        numbers = np.array([line.number for line in lines], np.int32)
        for name, metric in _METRICS.items():
            values = np.array([[line.value(name)] for line in lines])
            values[values < 0] = np.nan
            if np.isfinite(values).any():
                series.append(
                    Series(
                        metric,
                        context.clock.to_utc("realtime", t_ns),
                        values,
                        {"route": route},
                        lines=numbers,
                    )
                )
    return tuple(series)


COLLECTOR = Collector(
    id="app_metrics",
    title=Text("Access log", "访问日志"),
    why=Text(
        "Requests, errors and latencies of each route as the application itself wrote them down.",
        "应用自己记录的各路由请求数、错误率与延迟分位数。",
    ),
    tier=Tier.LIGHT,
    on_demand=True,
    methods=(
        Script(
            "awk",
            Needs(tools=("awk", "tail"), remedy="a readable access log"),
            sh=_SH,
            command_line="tail -c 20000000 PATH | awk (counts by route), after {seconds} s",
        ),
    ),
    parse=parse_app_metrics,
    cost=Cost(
        1.0,
        500,
        Text("One pass over at most 20 MB of the log, at the end.", "结束时最多读取日志末尾 20 MB 一次。"),
    ),
    yields=tuple(_METRICS.values()),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    options=(
        PATH,
        Option(
            "format",
            "auto|lab|common|combined|json",
            Text("Format of the log", "日志格式"),
            "auto",
        ),
    ),
    touches=frozenset({TargetAccess.FILES}),
)
