"""On which NUMA nodes the pages of a process are, by memory policy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

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
from collectors.parse.tables import tagged_tables
from collectors.shell.dedent import strip_indent

_MAX_BYTES = 1 << 20
_COLUMNS = (
    *(Column("pid"), Column("policy"), Column("kind"), Column("page_kb", "kb"), Column("node")),
    *(Column("pages"), Column("memory_kb", "kb"), Column("node_pct", "pct")),
)
#: Added up on the host: the lines of the kernel name every file that is mapped.
_SH = r"""
LC_ALL=C
export LC_ALL
printf "pages\tpid\tpolicy\tkind\tpage_kb\tnode\tpages\n"
n=0
for p in $TARGET_PID $TARGET_PIDS; do
  [ -r /proc/$p/numa_maps ] || continue
  case $d in *" $p "*) continue ;; esac
  d="$d $p "
  n=$((n + 1))
  [ $n -le 10 ] || break
  timeout "$SECS" cat /proc/$p/numa_maps >.maps 2>.err || { cat .err >&2; echo "$p: incomplete" >&2; }
  awk -v p="$p" '
  {
    k = "anon"; z = 4
    for (i = 3; i <= NF; i++) {
      if ($i ~ /^file=/) k = "file"
      else if ($i == "heap" || $i == "stack") k = $i
      else if ($i ~ /^kernelpagesize_kB=/) z = substr($i, 19)
    }
    for (i = 3; i <= NF; i++) if ($i ~ /^N[0-9]+=/) {
      j = index($i, "=")
      s[$2 "\t" k "\t" z "\t" substr($i, 2, j - 2)] += substr($i, j + 1)
    }
  }
  END { for (j in s) printf "n\t%d\t%s\t%.0f\n", p, j, s[j] }' .maps | sort | head -n 500
done
rm -f .maps .err
[ $n -gt 0 ] || { echo "no numa_maps of ${TARGET_PID:-a target} could be read" >&2; exit 69; }
"""


def parse_numa_maps(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each process, policy, kind of memory, size of page and node, as /proc/PID/numa_maps adds up.

    `node_pct` is the node's share of all memory of the process. `kind` is file, anon, heap or stack. The pages of
    a line are counted in its own page size.
    """
    matching_tagged_tables = tagged_tables.read_tagged_tables(parts, _MAX_BYTES)
    rows = matching_tagged_tables.of("pages")
    if not rows:
        return Parsed(
            warnings=(*matching_tagged_tables.warnings, Sentence("warning.too_few_samples")), readable=False
        )
    by_process: defaultdict[int | None, float] = defaultdict(float)
    by_node: defaultdict[tuple[int | None, int | None], float] = defaultdict(float)
    sizes = []
    for row in rows:
        pid, node, memory_kb = row.whole("pid"), row.whole("node"), None
        pages, page_kb = row.number("pages"), row.number("page_kb")
        if pages is not None and page_kb is not None:
            memory_kb = pages * page_kb
            by_process[pid] += memory_kb
            by_node[pid, node] += memory_kb
        sizes.append((pid, node, pages, page_kb, memory_kb))
    cells = tuple(
        (
            *(pid, row.text("policy", 60), row.text("kind", 20), page_kb, node, pages, memory_kb),
            100.0 * by_node[pid, node] / by_process[pid] if by_process[pid] > 0 else None,
        )
        for row, (pid, node, pages, page_kb, memory_kb) in zip(rows, sizes, strict=True)
    )
    table = Table("numa_maps", _COLUMNS, cells, lines=tuple(row.line for row in rows))
    return Parsed(tables=(table,), warnings=matching_tagged_tables.warnings)


COLLECTOR = Collector(
    id="numa_maps",
    title=Text("Memory by NUMA node", "进程内存的 NUMA 分布"),
    why=Text(
        "On which nodes the memory of a process is, and by which policy it was allocated.",
        "进程的内存位于哪些节点，由何种策略分配。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "numa_maps",
            Needs(
                tools=("awk", "timeout"),
                files=("/proc/self/numa_maps",),
                root=True,
                target=True,
                remedy="a kernel with CONFIG_NUMA; root; a process as the scope",
            ),
            sh=strip_indent(_SH),
            command_line="timeout {seconds} cat /proc/PID/numa_maps (added up by node on the host)",
            stop="TERM",
        ),
    ),
    parse=parse_numa_maps,
    cost=Cost(
        20.0,
        500,
        Text(
            "Walks all page tables of the process and blocks its memory mappings during that time: seconds at 100 GB.",
            "遍历进程的全部页表，期间会阻塞其内存映射操作：100 GB 时可达数秒。",
        ),
    ),
    seconds_max=30,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
