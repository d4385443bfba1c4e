"""Services: the processes of one program and parent, and the ports and socket paths that they serve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from culprit.domain.calls.address_lookup import canonicalize_address, list_own_addresses
from culprit.domain.rules.finding import Subject
from culprit.domain.rules.view import HostView, TableRow

#: Remote sessions receive keystrokes, not requests.
SESSIONS = frozenset({"sshd", "sshd-session"})
#: init adopts daemons of any service: two of them may use one port number at two addresses or in two namespaces.
_NO_SUPERVISORS = frozenset(("", "0", "1"))


@dataclass(frozen=True, slots=True)
class LocalService:
    """One service. `subject` is its busiest process with its control group; `rows` are from `process_time`."""

    name: str
    subject: Subject
    pids: frozenset[str]
    group: str = ""
    ports: frozenset[str] = frozenset()
    rows: tuple[TableRow, ...] = ()

    def has_place(self, subject: Subject) -> bool:
        """Return whether the process, control group and port that a subject names are of this service.

        A subject that names none of them is about the whole host, so it fits.
        """
        place = dict(subject)
        if "pid" in place:
            return place["pid"] in self.pids
        if "port" in place:
            return place["port"] in self.ports
        group = place.get("cgroup", "").rstrip("/")
        return not group or not self.group or self.group == group or self.group.startswith(f"{group}/")


@dataclass(frozen=True, slots=True)
class ServiceMap:
    """All services of a host by process, and the processes that serve each port or socket path."""

    services: tuple[LocalService, ...] = ()
    owners: Mapping[str, str] = field(default_factory=dict)
    addresses: frozenset[str] = frozenset()
    by_pid: Mapping[str, LocalService] = field(default_factory=dict)

    def find_by_pid(self, pid: str) -> LocalService | None:
        """Return the service of a process, or None if it is unknown."""
        return self.by_pid.get(pid)

    def find_by_target(self, target: str) -> LocalService | None:
        """Return the service on this host that a target `address:port` or a socket path reaches, or None."""
        host, colon, port = target.rpartition(":")
        if not colon or "/" in target or target.startswith("@"):
            return self.find_by_pid(self.owners.get(strip_path(target), ""))
        return self.find_by_pid(self.owners.get(port, "")) if self.is_local(host) else None

    def is_local(self, address: str) -> bool:
        """Return whether an address is of this host."""
        host = canonicalize_address(address.strip("[]"))
        return host.startswith("127.") or host in ("::1", "localhost", "") or host in self.addresses


def strip_path(target: str) -> str:
    """Return the path of a Unix socket without its prefix."""
    return target.removeprefix("unix:")


def normalize_target(target: str) -> str:
    """Write an IPv4 address inside IPv6 as IPv4, and no target as an empty one."""
    host, colon, port = target.rpartition(":")
    bare = host.strip("[]")
    if bare.startswith("::ffff:") and "." in bare:
        return f"{bare.removeprefix('::ffff:')}{colon}{port}"
    return "" if target == "-" else target


def map_services(view: HostView) -> ServiceMap:
    """Return the services of a view: of the sampled processes, and otherwise of all processes that were listed.

    Only so many processes are sampled, those that did something first. One that serves a port is a service even if it
    did nothing, such as one that is frozen.
    """
    ports = _list_ports(view)
    rows = [*view.rows("process_time"), *_list_idle_servers(view, ports)] or view.rows("processes")
    groups = {
        row.text("pid"): row.text("cgroup")
        for row in (*view.rows("thread_groups"), *view.rows("process_time"))
        if row.text("cgroup")
    }
    services = tuple(
        _build_service(members, ports, groups) for members in _group_processes(view, rows, ports, groups)
    )
    by_pid = {pid: service for service in services for pid in service.pids}
    # A process that was never sampled, such as one that started later, shows nothing about its service.
    by_knowledge = sorted(ports, key=lambda pid: (pid in by_pid, _by_number(pid)))
    owners = {port: pid for pid in by_knowledge for port in ports[pid]}
    return ServiceMap(services, owners, list_own_addresses(view.facts), by_pid)


def _build_service(
    members: Sequence[TableRow], ports: Mapping[str, frozenset[str]], groups: Mapping[str, str]
) -> LocalService:
    by_use = sorted(members, key=lambda row: (-_get_used(row), _by_number(row.text("pid"))))
    busiest = by_use[0]
    pids = frozenset(row.text("pid") for row in members)
    # The group of a process that ended early was not read; its siblings are in the same one.
    group = next((groups[row.text("pid")] for row in by_use if row.text("pid") in groups), "").rstrip("/")
    places = {"pid": busiest.text("pid")} | ({"cgroup": group} if group else {})
    served = frozenset(port for pid in pids for port in ports.get(pid, ()))
    return LocalService(
        busiest.text("comm"), tuple(sorted(places.items())), pids, group, served, tuple(members)
    )


def _list_idle_servers(view: HostView, ports: Mapping[str, frozenset[str]]) -> list[TableRow]:
    """Return listed processes that serve a port which no sampled process serves."""
    sampled = {row.text("pid") for row in view.rows("process_time")}
    served = frozenset[str]().union(*(ports.get(pid, frozenset()) for pid in sampled))
    return [
        row
        for row in view.rows("processes")
        if sampled and row.text("pid") not in sampled and ports.get(row.text("pid"), frozenset()) - served
    ]


def _get_used(row: TableRow) -> float:
    return (row.number("run_ms") or 0.0) + (row.number("wait_ms") or 0.0) + (row.number("cpu") or 0.0)


def _by_number(pid: str) -> tuple[int, str]:
    return (int(pid) if pid.isdecimal() else 0, pid)


def _list_ports(view: HostView) -> Mapping[str, frozenset[str]]:
    """Return the ports and socket paths that each process serves."""
    ports: dict[str, set[str]] = defaultdict(set)
    for pid, port in _iterate_ports(view):
        if pid and port:
            ports[pid].add(port)
    return {pid: frozenset(served) for pid, served in ports.items()}


def _iterate_ports(view: HostView) -> Iterator[tuple[str, str]]:
    for row in view.rows("listeners"):
        yield _read_pid(row), row.text("port")
    for row in view.rows("tcp_waits"):
        if row.text("direction") == "in":
            yield _read_pid(row), row.text("peer")
    for row in view.rows("unix_calls"):
        yield _read_pid(row, "peer_pid"), row.text("path")
    for row in view.rows("thread_time"):
        target = row.text("target")
        if row.text("activity") in ("client", "accept") and target not in ("", "-"):
            yield row.text("pid"), strip_path(target) if "/" in target else target.rpartition(":")[2]


def _read_pid(row: TableRow, column: str = "pid") -> str:
    number = row.number(column)
    return str(int(number)) if number else ""


def _group_processes(
    view: HostView,
    rows: Sequence[TableRow],
    ports: Mapping[str, frozenset[str]],
    groups: Mapping[str, str],
) -> list[list[TableRow]]:
    """Group processes by the first ancestor with the same program; a family that serves several ports apart is split.

    A supervisor and its services may be the same interpreter: then only processes that share a port are one service.
    One in another control group that serves no port, and that none of those who serve started, is not of the service.
    Processes of one program that the same supervisor started for connections to one port are one service, such as those
    of mail servers.
    """
    known = {row.text("pid"): row for row in (*view.rows("processes"), *rows)}
    parents = {pid: row.text("ppid") for pid, row in known.items()}
    families: dict[str, list[TableRow]] = defaultdict(list)
    for row in rows:
        families[_find_ancestor(row.text("pid"), known)].append(row)
    _join_siblings(families, known, ports)
    return [
        members for family in families.values() for members in _split_family(family, parents, ports, groups)
    ]


def _join_siblings(
    families: dict[str, list[TableRow]], known: Mapping[str, TableRow], ports: Mapping[str, frozenset[str]]
) -> None:
    """Move families of one supervisor and program that share a port into the first of them."""
    owners: dict[tuple[str, str, str], str] = {}
    for first in sorted(families, key=_by_number):
        parent, program = known[first].text("ppid"), get_program(known[first])
        if parent in _NO_SUPERVISORS:
            continue
        served = {port for row in families[first] for port in ports.get(row.text("pid"), ())}
        keys = [(parent, program, port) for port in sorted(served)]
        owner = next((owners[key] for key in keys if key in owners), first)
        if owner != first:
            families[owner] += families.pop(first)
        owners |= dict.fromkeys(keys, owner)


def _find_ancestor(pid: str, known: Mapping[str, TableRow]) -> str:
    program = get_program(known[pid])
    path = [pid]
    while (parent := known[path[-1]].text("ppid")) in known and parent not in path:
        if get_program(known[parent]) != program:
            break
        path.append(parent)
    return path[-1]


def get_program(row: TableRow) -> str:
    """Return the name of the program without the role that a process adds to it: `gunicorn: worke` is `gunicorn`."""
    return row.text("comm").partition(":")[0]


def _split_family(
    family: Sequence[TableRow],
    parents: Mapping[str, str],
    ports: Mapping[str, frozenset[str]],
    groups: Mapping[str, str],
) -> list[list[TableRow]]:
    pids = [row.text("pid") for row in family]
    clusters: list[tuple[set[str], set[str]]] = []
    for pid in pids:
        if served := ports.get(pid):
            joined = [item for item in clusters if item[1] & served]
            merged = (
                {pid}.union(*(item[0] for item in joined)),
                set(served).union(*(item[1] for item in joined)),
            )
            clusters = [item for item in clusters if item not in joined] + [merged]
    if not clusters:
        return [list(family)]
    cluster_of = {pid: at for at, (members, _) in enumerate(clusters) for pid in members}
    places = {groups.get(pid, "") for pid in cluster_of} | {""}
    parts: dict[int, list[TableRow]] = defaultdict(list)
    for row in family:
        at = _find_cluster(row.text("pid"), parents, cluster_of)
        if at < 0 and len(clusters) == 1 and groups.get(row.text("pid"), "") in places:
            at = 0
        parts[at].append(row)
    return list(parts.values())


def _find_cluster(pid: str, parents: Mapping[str, str], cluster_of: Mapping[str, int]) -> int:
    """Return the cluster of the process or of its nearest ancestor that has one; -1 if none has."""
    seen: set[str] = set()
    while pid and pid not in seen:
        if pid in cluster_of:
            return cluster_of[pid]
        seen.add(pid)
        pid = parents.get(pid, "")
    return -1


def index_rows(rows: Iterable[TableRow], column: str = "pid") -> Mapping[str, list[TableRow]]:
    """Return rows by pid, without rows of no process."""
    index: dict[str, list[TableRow]] = defaultdict(list)
    for row in rows:
        if pid := _read_pid(row, column):
            index[pid].append(row)
    return index


def sum_column(rows: Iterable[TableRow], name: str) -> float:
    """Return the sum of a column; an unknown cell counts nothing."""
    return sum(row.number(name) or 0.0 for row in rows)
