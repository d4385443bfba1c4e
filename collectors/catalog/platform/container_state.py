"""State, exits, restarts, OOM kills and limits of containers, as reported by their engines."""

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
from collectors.parse.tables import tagged_tables
from collectors.parse.tables.tagged_tables import TaggedRow
from collectors.shell.processes import HAS_DOCKER

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


def _build_template(fields: tuple[str, ...]) -> str:
    """One line of values parted by tabs. Only what is named leaves the engine: never commands or environments."""
    tab = '{{"\\t"}}'
    return "c" + tab + tab.join("{{" + field + "}}" for field in fields)


def _build_script(listing: str, inspect: str) -> str:
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


def _detect_engine(name: str) -> str:
    template = _build_template((*_ENGINE_FIELDS, '""'))
    check = f'{HAS_DOCKER} || {{ echo "docker has no socket" >&2; exit 69; }}\n' if name == "docker" else ""
    return check + _build_script(f"{name} ps -aq", f"{name} inspect --type container -f '{template}'")


_CRICTL = _build_script(
    "crictl ps -aq", f"crictl inspect -o go-template --template '{_build_template(_CRI_FIELDS)}'"
)


def parse_container_state(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each container. `limit_cores` and the other limits are None where there is none.

    docker and podman have a flag for OOM kills; crictl has the reason `OOMKilled` of a container that ended.
    """
    matching_tagged_tables = tagged_tables.read_tagged_tables(parts, _MAX_BYTES)
    if "container" not in matching_tagged_tables.tables:
        return Parsed(
            warnings=(*matching_tagged_tables.warnings, Sentence("warning.too_few_samples")), readable=False
        )
    rows = matching_tagged_tables.of("container")
    table = Table(
        "containers", _COLUMNS, tuple(map(_build_cells, rows)), lines=tuple(row.line for row in rows)
    )
    return Parsed(
        tables=(table,) if rows else (),
        facts={"containers": len(rows)},
        warnings=matching_tagged_tables.warnings,
    )


def _build_cells(row: TaggedRow) -> tuple[str | int | float | None, ...]:
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
        *(_parse_moment(row.text(name, 64)) for name in ("started", "finished")),
        _parse_cores(row),
        memory / 1024.0 if memory else None,
        row.whole("pids_limit") or None,
        row.text("cpuset", 100) or None,
    )


def _parse_moment(text: str) -> str | None:
    """Return the time that the engine wrote. The year 1 means never."""
    return None if not text or text.startswith("0001-") else text


def _parse_cores(row: TaggedRow) -> float | None:
    nano, quota, period = (row.number(name) for name in ("nano_cpus", "quota", "period"))
    if nano:
        return nano / 1e9
    return quota / (period or 100_000) if quota else None


def _build_method(name: str, sh: str, remedy: str) -> Script:
    return Script(
        name,
        Needs(tools=(name, "xargs", "timeout"), remedy=remedy),
        sh=sh,
        command_line=f"{name} inspect (state and limits of all containers, after {{seconds}} s)",
        stop="TERM",
    )


COLLECTOR = Collector(
    id="container_state",
    title=Text("Containers", "容器状态"),
    why=Text(
        "Which containers exited, were killed or restarted, and their limits.",
        "哪些容器已退出、被终止或重启，以及它们的限额。",
    ),
    tier=Tier.LIGHT,
    methods=(
        _build_method("docker", _detect_engine("docker"), "root, or the group docker"),
        _build_method("podman", _detect_engine("podman"), "root, or the user that runs the containers"),
        _build_method("crictl", _CRICTL, "root; crictl with /etc/crictl.yaml"),
    ),
    parse=parse_container_state,
    cost=Cost(0.5, 300, Text("The engine is queried once, at the end.", "结束时向容器引擎查询一次。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
