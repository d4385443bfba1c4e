"""What container engines say of their containers: state, exits, restarts, OOM kills and limits."""

from __future__ import annotations

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
    Text,
    Tier,
)
from collectors.parse import tagged
from collectors.parse.tagged import Row

_MAX_BYTES = 1 << 20
_COLUMNS = (
    *(
        Column("name"),
        Column("id"),
        Column("state"),
        Column("pid"),
        Column("exit_code"),
        Column("oom_killed"),
    ),
    *(Column("restarts"), Column("started"), Column("finished")),
    *(Column("limit_cores"), Column("memory_limit_kb", "kb"), Column("pids_limit"), Column("cpuset")),
)
_NAMES = (
    *("id", "name", "state", "pid", "exit_code", "oom_killed", "restarts", "started", "finished"),
    *("nano_cpus", "quota", "period", "memory", "pids_limit", "cpuset", "reason"),
)
_ENGINE_FIELDS = (
    *(".Id", ".Name", ".State.Status", ".State.Pid", ".State.ExitCode", ".State.OOMKilled", ".RestartCount"),
    *(".State.StartedAt", ".State.FinishedAt", ".HostConfig.NanoCpus", ".HostConfig.CpuQuota"),
    *(".HostConfig.CpuPeriod", ".HostConfig.Memory", ".HostConfig.PidsLimit", ".HostConfig.CpusetCpus"),
)
_CRI_FIELDS = (
    *(".status.id", ".status.metadata.name", ".status.state", ".info.pid", ".status.exitCode", '""'),
    *(".status.metadata.attempt", ".status.startedAt", ".status.finishedAt", '""'),
    *(f".status.resources.linux.{name}" for name in ("cpuQuota", "cpuPeriod", "memoryLimitInBytes")),
    *('""', ".status.resources.linux.cpusetCpus", ".status.reason"),
)


def _template(fields: tuple[str, ...]) -> str:
    """One line of values parted by tabs. Only what is named leaves the engine: never commands or environments."""
    tab = '{{"\\t"}}'
    return "c" + tab + tab.join("{{" + one + "}}" for one in fields)


def _script(listing: str, inspect: str) -> str:
    names = "\\t".join(("container", *_NAMES))
    return f"""
LC_ALL=C
export LC_ALL
trap : TERM
sleep "$SECS" &
wait $!
all=$(timeout 5 {listing}) || {{ echo "the engine does not answer" >&2; exit 69; }}
printf '{names}\\n'
[ -z "$all" ] || printf '%s\\n' "$all" | head -n 200 | timeout 20 xargs {inspect}
exit 0
"""


def _engine(name: str) -> str:
    template = _template((*_ENGINE_FIELDS, '""'))
    return _script(f"{name} ps -aq", f"{name} inspect --type container -f '{template}'")


_CRICTL = _script("crictl ps -aq", f"crictl inspect -o go-template --template '{_template(_CRI_FIELDS)}'")


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each container. `limit_cores` and the other limits are None where there is none.

    docker and podman have a flag for OOM kills; crictl has the reason `OOMKilled` of a container that ended.
    """
    found = tagged.read(parts, _MAX_BYTES)
    if "container" not in found.tables:
        return Parsed(warnings=(*found.warnings, Sentence("warning.too_few_samples")), readable=False)
    rows = found.of("container")
    table = Table("containers", _COLUMNS, tuple(map(_cells, rows)), lines=tuple(row.line for row in rows))
    return Parsed(tables=(table,) if rows else (), facts={"containers": len(rows)}, warnings=found.warnings)


def _cells(row: Row) -> tuple[str | int | float | None, ...]:
    killed = {"true": 1, "false": 0}.get(row.text("oom_killed", 10))
    if row.text("reason", 40):
        killed = int(row.text("reason", 40) == "OOMKilled")
    memory = row.number("memory")
    return (
        row.text("name", 200).lstrip("/"),
        row.text("id", 64)[:12],
        row.text("state", 40).removeprefix("CONTAINER_").lower(),
        row.whole("pid") or None,
        row.whole("exit_code"),
        killed,
        row.whole("restarts"),
        *(_moment(row.text(name, 64)) for name in ("started", "finished")),
        _cores(row),
        memory / 1024.0 if memory else None,
        row.whole("pids_limit") or None,
        row.text("cpuset", 100) or None,
    )


def _moment(text: str) -> str | None:
    """As the engine writes it; the year one is its way to say never."""
    return None if not text or text.startswith("0001-") else text


def _cores(row: Row) -> float | None:
    nano, quota, period = (row.number(name) for name in ("nano_cpus", "quota", "period"))
    if nano:
        return nano / 1e9
    return quota / (period or 100_000) if quota else None


def _way(name: str, sh: str, mend: str) -> Script:
    return Script(
        name,
        Needs(tools=(name, "xargs", "timeout"), mend=mend),
        sh=sh,
        shows=f"{name} inspect (state and limits of all containers, after {{seconds}} s)",
        stop="TERM",
    )


COLLECTOR = Collector(
    id="container_state",
    title=Text("Containers", "容器状态"),
    why=Text(
        "Which containers ended, were killed or restarted, and the limits that they were given.",
        "哪些容器已退出、被杀或重启，以及为其设置的限额。",
    ),
    tier=Tier.LIGHT,
    ways=(
        _way("docker", _engine("docker"), "root, or the group docker"),
        _way("podman", _engine("podman"), "root, or the user that runs the containers"),
        _way("crictl", _CRICTL, "root; crictl with /etc/crictl.yaml"),
    ),
    parse=parse,
    cost=Cost(0.5, 300, Text("Asks the engine once, at the end.", "结束时向容器引擎查询一次。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
