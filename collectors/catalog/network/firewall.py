"""Packets that firewall rules dropped or rejected, rule by rule, under both of Linux's filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.network import firewall_rules, namespaces
from collectors.parse.network.firewall_rules import FirewallChain, FirewallRules
from collectors.parse.proc import sampled
from collectors.parse.tables.cells import Cell, compute_pct, count_or_none, counter_increase, number_or_none
from collectors.parse.tables.tokens import NAN
from collectors.shell.network import PRELUDE

_MAX_BYTES = 4 << 20

#: Reading may load kernel modules, and that is a change: a filter is asked only where it is loaded already. A rule
#: set of more than 30,000 lines is read once. nft prints tables of iptables-nft too, but not as they were written.
_SH = (
    PRELUDE
    + r"""
loaded() {
    [ ! -e /proc/modules ] || grep -q "^$1 " /proc/modules 2> .err ||
        grep -q "/$1.ko" "/lib/modules/$(uname -r)/modules.builtin" 2> .err
}
save() {
    tool=$1tables-$2-save
    if ! command -v "$tool" > .err; then
        tool=$1tables-save
        case $("$tool" -V 2> .err) in *nf_tables*) is=nft ;; *tables*) is=legacy ;; *) return 0 ;; esac
        [ "$is" = "$2" ] || return 0
    fi
    if [ "$2" = legacy ]; then
        names=
        if [ -n "$ns" ]; then
            names=$($ns cat "/proc/net/${1}_tables_names" 2> .err)
        else
            { read -r names < "/proc/net/${1}_tables_names"; } 2> .err
        fi
        [ -n "$names" ] || return 0
    else
        loaded nf_tables || return 0
    fi
    echo "@ $2 $1"
    $ns "$tool" -c 2> .err
}
tables() {
    command -v nft > .err && loaded nf_tables || return 0
    echo "@ nftables"
    $ns nft -a -t list ruleset 2> .err || $ns nft -a list ruleset 2>> .err
}
look() {
    at "$1" rules
    { for family in ip ip6; do for kind in legacy nft; do save $family $kind; done; done; tables; } | awk '
function end_backend() { if (b != "") print "lines", lines; all_lines += lines; lines = kept = 0; c = t = "" }
function forget() {
    split("", policy); split("", left); split("", sum)
    split("", keep); split("", rules); split("", most)
}
/^@ / {
    end_backend()
    forget()
    b = substr($0, 3); nft = b == "nftables"
    if ($2 == "nft") managed = 1
    print "backend", b
    next
}
{ lines++ }
!nft && /^\*/ { t = substr($0, 2) }
!nft && /^:/ {
    c = substr($1, 2)
    p = substr($3, 2)
    sub(/:.*/, "", p)
    policy[c] = $2; left[c] = p; sum[c] = p + 0
    if ($2 == "DROP") keep[c] = 1
}
!nft && /^\[[0-9]+:[0-9]+\] -A / {
    n = substr($1, 2)
    sub(/:.*/, "", n)
    c = $3
    rules[c]++
    if (n + 0 > most[c]) most[c] = n + 0
    if (/ -j (ACCEPT|DROP|REJECT|RETURN|DNAT|SNAT|MASQUERADE|REDIRECT|TARPIT|N?F?QUEUE)/) sum[c] += n
    if (/ -j (DROP|REJECT|TARPIT)/ || / --mode random/) {
        keep[c] = 1
        sub(/^[^ ]+ -A [^ ]+ /, "")
        if (++kept <= 300) print "rule", b, t, c, n, substr($0, 1, 400)
    }
}
!nft && /^COMMIT/ {
    for (c in keep) {
        all = policy[c] == "-" ? "-" : sprintf("%.0f", most[c] > sum[c] ? most[c] : sum[c])
        print "chain", b, t, c, policy[c], left[c], all, rules[c] + 0
    }
    forget()
}
nft && /^table / {
    f = $2; t = $3
    skip = managed && (f == "ip" || f == "ip6") && t ~ /^(filter|nat|mangle|raw|security)$/
}
nft && /^\tchain / { c = $2; hook = "-"; count = drops = 0 }
nft && /^\t\ttype .* hook / { if (match($0, /policy [a-z]+/)) hook = substr($0, RSTART + 7, RLENGTH - 7); next }
nft && /^\t\t/ && c != "" && !skip {
    count++
    n = "-"
    if (match($0, /counter packets [0-9]+/)) n = substr($0, RSTART + 16, RLENGTH - 16)
    if (/[ \t](drop|reject)( |$)/ || /(numgen|meta) random/) {
        drops = 1
        gsub(/counter packets [0-9]+ bytes [0-9]+/, "counter")
        gsub(/^\t+/, "")
        if (++kept <= 300) print "rule nftables", f, t, c, n, substr($0, 1, 400)
    }
}
nft && /^\t}/ {
    if (c != "" && !skip && (drops || hook == "drop"))
        print "chain nftables", f, t, c, hook, "- -", count
    c = ""
}
END { end_backend(); print all_lines + 0 > ".lines" }'
}
command -v nft > .err || command -v iptables-save > .err || { rm -f samples; echo "no nft, no iptables" >&2; exit 69; }
look 0 >> samples
nap "$SECS"
lines=0
read -r lines < .lines
[ "$lines" -gt 30000 ] || look 1 >> samples
exit 0
"""
)

_COLUMNS = (
    *(Column("backend"), Column("family"), Column("table"), Column("chain"), Column("verdict")),
    *(Column("matches"), Column("packets", "count"), Column("packets_per_s", "packets_per_s")),
    *(Column("packets_total", "count"), Column("chain_packets_per_s", "packets_per_s")),
    *(Column("drop_pct", "pct"), Column("random_probability"), Column("chain_policy")),
)


def parse_firewall(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each rule that drops, rejects or acts at random, and for each policy that drops.

    A chain's packets are those that its rules or its policy decided on, or its busiest rule's where that is
    more; packets that went on to another chain and ended there are not in it. `drop_pct` is of those. They
    are unknown for chains without a policy of their own, and for those of nftables, whose policies count nothing.
    A rule without a counter has no numbers, and is still a rule that drops.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    facts, warnings = namespaces.read_namespace(samples)
    readings = samples.of("rules")
    if not readings:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    first, last = (
        firewall_rules.parse_firewall_rules(readings[0]),
        firewall_rules.parse_firewall_rules(readings[-1]),
    )
    elapsed_s = (readings[-1].boot_ns - readings[0].boot_ns) / 1e9
    rows = [*_build_rules(first, last, elapsed_s), *_build_policies(first, last, elapsed_s)]
    rows.sort(key=lambda row: -float(row[0][6] or 0))
    tables: tuple[Table, ...] = ()
    if rows:
        cells, lines = tuple(row for row, _ in rows), tuple(line for _, line in rows)
        tables = (Table("firewall_rules", _COLUMNS, cells, sampled.PART, lines),)
    backends = {"firewall_backends": list(last.backends), "firewall_lines": last.lines}
    return Parsed(tables=tables, facts={**facts, **backends}, warnings=warnings)


Row = tuple[tuple[Cell, ...], int]


def _build_rules(first: FirewallRules, last: FirewallRules, elapsed_s: float) -> Iterator[Row]:
    for key, rule in last.rules.items():
        before = first.rules.get(key)
        dropped = counter_increase(before.packets, rule.packets) if before else rule.packets
        chain, since = last.chains.get(rule.chain), first.chains.get(rule.chain)
        through = counter_increase(since.passed if since else 0.0, chain.passed) if chain else NAN
        yield (
            (
                *(*rule.chain, rule.verdict, rule.matches),
                *_read_numbers(dropped, rule.packets, through, elapsed_s),
                *(number_or_none(rule.probability), chain.policy if chain else ""),
            ),
            rule.line,
        )


def _build_policies(first: FirewallRules, last: FirewallRules, elapsed_s: float) -> Iterator[Row]:
    """Chains whose policy drops what no rule decided on."""
    for key, chain in last.chains.items():
        if chain.policy.upper() != "DROP":
            continue
        since = first.chains.get(key) or FirewallChain(chain.policy, 0.0, 0.0, 0)
        dropped, through = (
            counter_increase(since.dropped, chain.dropped),
            counter_increase(since.passed, chain.passed),
        )
        yield (
            (
                *(*key, "DROP", "(policy)"),
                *_read_numbers(dropped, chain.dropped, through, elapsed_s),
                *(None, chain.policy),
            ),
            chain.line,
        )


def _read_numbers(dropped: float, total: float, through: float, elapsed_s: float) -> tuple[Cell, ...]:
    """Packets, rate, total, the chain's rate, and the share of the chain; rates only between two readings."""
    seconds = elapsed_s if elapsed_s > 0 else NAN
    share = compute_pct(dropped, max(through, dropped)) if isfinite(seconds) and isfinite(through) else NAN
    rate, chain_rate = number_or_none(dropped / seconds), number_or_none(through / seconds)
    return (
        count_or_none(dropped) if rate is not None else None,
        rate,
        count_or_none(total),
        chain_rate,
        number_or_none(share),
    )


COLLECTOR = Collector(
    id="firewall",
    title=Text("Firewall drops", "防火墙丢包"),
    why=Text(
        "Which rule drops or rejects packets, how many a second, and whether it does so at random.",
        "哪条规则在丢弃或拒绝数据包、每秒多少，是否按概率随机丢弃。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "rules",
            Needs(tools=("awk",), root=True, remedy="nftables"),
            sh=_SH,
            command_line="iptables-save -c, ip6tables-save -c, nft -a -t list ruleset (only "
            "what is loaded), now and after"
            " {seconds} s; rules that drop leave the host, no others",
            version="nft -v",
            stop="TERM",
        ),
    ),
    parse=parse_firewall,
    cost=Cost(
        0.2,
        500,
        Text(
            "Two samples of the rules. Only one when there are more than 30,000 lines.",
            "读取规则两次；规则超过三万行时只读一次。",
        ),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
