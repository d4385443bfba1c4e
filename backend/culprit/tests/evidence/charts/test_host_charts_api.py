"""Charts that need more than the run itself: another run, other hosts, findings."""

from __future__ import annotations

from uuid import UUID

from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.profile import Profile
from culprit.jobs.analysis.evaluate_run import evaluate_run
from culprit.jobs.ingest.build_profile import build_profile
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs
from sqlalchemy import select

API = "/api/v1"
BOOT = 500 * 10**9


def switches(waited_us: int) -> bytes:
    """web is woken while db runs, and waits so long for the only CPU."""
    end = 1000 + waited_us
    return (
        "swapper 0/0 [000] 100.000000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120"
        " prev_state=R ==> next_comm=db next_pid=7 next_prio=120\n"
        "db 7/7 [000] 100.001000000: sched:sched_waking: comm=web pid=42 prio=120 target_cpu=000\n"
        f"db 7/7 [000] 100.{end:06}000: sched:sched_switch: prev_comm=db prev_pid=7 prev_prio=120 prev_state=S"
        " ==> next_comm=web next_pid=42 next_prio=120\n"
        f"web 42/42 [000] 100.{end + 900:06}000: sched:sched_switch: prev_comm=web prev_pid=42 prev_prio=120"
        " prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n"
    ).encode()


def stat(busy: int, at: int) -> str:
    """/proc/stat of a host with two CPUs, so busy in percent, after so many seconds."""
    used, idle = busy * at, (100 - busy) * at
    cpus = "".join(f"{name} {used} 0 0 {idle} 0 0 0 0 0 0\n" for name in ("cpu", "cpu0", "cpu1"))
    return f"{cpus}ctxt {at}\nprocesses {at}\nprocs_running 1\nprocs_blocked 0\n"


def a_run(db, name: str, busy: int, capture_id: object = None, labels: dict[str, str] | None = None):
    """A read run of a host that was so busy; of this capture, where one is given."""
    host = runs.make_host(db, name, labels)
    samples = runs.sampled("/proc/stat", [stat(busy, at) for at in range(12)], BOOT)
    result = runs.waiting_run(
        db, artifact_store(), {"cpu_stat": {"samples": samples}}, host_id=host, clock=runs.clock_now(BOOT)
    )
    if capture_id is not None:
        with unit_of_work(db.sessions) as session:
            session.get_one(Run, result.run_id).capture_id = capture_id
    assert ingest_run(result.run_id) == "done"
    return result


def picture(client, run_id: object, requested: str, query: str = "") -> dict:
    answer = client.get(f"{API}/runs/{run_id}/charts?ids={requested}{query}")
    assert answer.status_code == 200, answer.text
    [item] = answer.json()["charts"]
    return item


def test_waits_of_two_runs_are_laid_over_each_other(db, as_, session, config):
    client = as_("viewer")

    def create_run(name: str, waited_us: int) -> UUID:
        parts = {"script.txt": switches(waited_us), "status.txt": b"clock -k CLOCK_MONOTONIC\n"}
        result = runs.waiting_run(
            db,
            artifact_store(),
            {"perf_sched": parts},
            host_id=runs.make_host(db, name),
            clock=runs.clock_now(100 * 10**9),
        )
        assert ingest_run(result.run_id) == "done"
        built = session.scalars(select(Profile.id).where(Profile.run_id == result.run_id)).one()
        assert build_profile(built) == "ready"
        return result.run_id

    slow, quick = create_run("slow", 40_000), create_run("quick", 50)
    alone = picture(client, slow, "sched-latency")["body"]
    assert alone["before"] is None
    assert alone["now"]["maximum"]["value"] == 40.0
    [wait] = [item for item in alone["worst"] if item["comm"] == "web"]
    assert [(item["comm"], item["ran"]["value"]) for item in wait["instead"]] == [("db", 40.0)]
    assert wait["waited"]["citation"]["artifact"]
    both = picture(client, slow, "sched-latency", f"&baseline={quick}")["body"]
    assert both["before"]["maximum"]["value"] == 0.05
    assert client.get(f"{API}/runs/{slow}/charts?ids=sched-latency&baseline={new_uuid7()}").status_code == 404
    assert client.get(f"{API}/runs/{slow}/charts?baseline=no").status_code == 422


def test_peers_chart_uses_hosts_of_same_capture(db, as_, session, config):
    odd = a_run(db, "feed-0", 96)
    for at in range(1, 7):
        a_run(db, f"feed-{at}", 20 + at, odd.capture_id)
    a_run(db, "elsewhere", 99)
    reported = picture(as_("viewer"), odd.run_id, "peers")
    strip = next(strip for strip in reported["body"]["strips"] if strip["id"] == "cpu.total_busy_pct")
    assert strip["hosts"] == 7
    assert [dot["own"] for dot in strip["dots"] if dot["unlike"]] == [True]
    assert {dot["host"] for dot in strip["dots"]} == {"", *(f"feed-{at}" for at in range(1, 7))}
    cites = {dot["figure"]["citation"]["run"] for dot in strip["dots"]}
    assert len(cites) == 7
    assert all(dot["figure"]["citation"]["lines"] for dot in strip["dots"])


def test_peers_are_only_those_that_exist_for_the_reader(db, as_, session, config):
    mine = a_run(db, "seen-0", 96, labels={"role": "feed"})
    a_run(db, "seen-1", 20, mine.capture_id, {"role": "feed"})
    a_run(db, "hidden", 20, mine.capture_id, {"role": "database"})

    def hosts(who: str) -> set[str]:
        strips = picture(as_(who), mine.run_id, "peers")["body"]["strips"]
        return {dot["host"] for strip in strips for dot in strip["dots"]}

    assert hosts("scoped") == {"", "seen-1"}
    assert hosts("viewer") == {"", "seen-1", "hidden"}


def test_a_host_alone_has_no_peers(db, as_, session, config):
    reported = picture(as_("viewer"), a_run(db, "alone", 50).run_id, "peers")
    assert (reported["state"], reported["reason"]["key"]) == ("no_data", "chart.no_peers")


def test_use_grid_matches_findings(db, as_, session, config):
    result = a_run(db, "busy", 97)
    client = as_("viewer")
    assert picture(client, result.run_id, "use-grid")["state"] == "no_data"
    evaluate_run(result.run_id)
    rows = {row["id"]: row["cells"] for row in picture(client, result.run_id, "use-grid")["body"]["rows"]}
    busy = rows["cpu"][0]
    assert (busy["state"], busy["rule"]) == ("critical", "F-CPU-BUSY")
    outcome = client.get(f"{API}/runs/{result.run_id}/findings").json()
    [same] = [finding for finding in outcome["findings"] if finding["rule"] == "F-CPU-BUSY"]
    assert busy["figure"]["value"] == same["numbers"][0]["value"]
    assert busy["figure"]["citation"]["artifact"] == same["numbers"][0]["citations"][0]["artifact"]
    assert {cell["state"] for cell in rows["network"]} == {"unknown"}
