"""Formats of disks, files and perf that this machine does not have. All of them are synthetic."""

from __future__ import annotations

import subprocess
from pathlib import Path

from collectors.catalog.cpu import perf_stat, state_profile
from collectors.catalog.disk import block_queue, fd_table, mounts
from collectors.contract import Script, Table
from collectors.parse.perf import perf_stat as csv
from collectors.tests.support import context, part, samples


def cells(table: Table) -> list[dict[str, object]]:
    names = [column.id for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def test_mapped_device_resolves_to_the_disk_of_its_partition() -> None:
    files = samples(
        (1, "/sys/block/sda/size", "2048"),
        (1, "/sys/block/sda/sda1/partition", "1"),
        (1, "/sys/block/sda/queue/scheduler", "noop [deadline] cfq"),
        (1, "/sys/block/dm-0/size", "1024"),
        (1, "/sys/block/dm-0/slaves/sda1/dev", "8:1"),
        (1, "/sys/block/dm-0/dm/name", "vg-root"),
        (1, "/sys/block/loop7/size", "0"),
    )
    [table] = block_queue.parse_block_queue(files, context()).tables
    mapped, disk = cells(table)
    assert (mapped["dev"], mapped["kind"], mapped["name"], mapped["leaf"]) == ("dm-0", "dm", "vg-root", 0)
    assert (disk["holders"], disk["leaf"], disk["scheduler"], disk["size"]) == ("dm-0", 1, "deadline", 1024.0)


def test_o_sync_is_both_bits_and_o_direct_depends_on_the_machine() -> None:
    """04000000 alone is not O_SYNC; 040000 is O_DIRECTORY on arm64."""
    for machine, flags, expected in (
        ("x86_64", "06112001", (1, 1, 0)),
        ("x86_64", "02110001", (0, 1, 0)),
        ("x86_64", "06000001", (0, 0, 0)),
        ("x86_64", "040002", (0, 0, 1)),
        ("aarch64", "040002", (0, 0, 0)),
        ("aarch64", "0200002", (0, 0, 1)),
    ):
        text = f"A {machine}\nT 1 1.00\nT 2 2.00\nF 2 7 3 0 {flags} /log\nC 2 7 1 1024 1 0 0 0 app\n"
        _, fds = fd_table.parse_fd_table({"stdout": part(text)}, context()).tables
        [row] = cells(fds)
        assert (row["o_sync"], row["o_dsync"], row["o_direct"]) == expected, (machine, flags)


def test_mountinfo_with_escapes_optional_fields_and_an_old_df() -> None:
    text = (
        "= mountinfo\n"
        "36 35 8:1 / /mnt/my\\040disk rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue\n"
        "37 35 0:50 / /nfs ro - nfs4 server:/export ro,vers=4.2\n"
        "= df\n"
        "Filesystem 1024-blocks Used Available Capacity Mounted on\n"
        "/dev/root 1000 600 200 75% /mnt/my disk\n"
    )
    [table] = mounts.parse_mounts({"stdout": part(text)}, context()).tables
    disk, nfs = cells(table)
    assert (disk["mountpoint"], disk["used_pct"], disk["fstype"]) == ("/mnt/my disk", 75.0, "ext3")
    assert (nfs["remote"], nfs["read_only"], nfs["used_pct"]) == (1, 1, None)
    assert table.lines == (6, 3)


def test_credentials_of_mounts_stay_on_the_host(tmp_path: Path) -> None:
    [method] = mounts.COLLECTOR.methods
    assert isinstance(method, Script)
    listed = tmp_path / "mountinfo"
    listed.write_text(
        "40 1 0:60 / /s rw - cifs //bob:hunter2@files/share rw,username=bob,password=hunter2,domain=D\n"
        "41 1 0:61 / /d rw - fuse.davfs https://h/p?token=hunter2 rw,user_id=0\n"
    )
    script = method.sh.replace("/proc/self/mountinfo", str(listed))
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=tmp_path,
        env={"SECS": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
    )
    assert b"hunter2" not in done.stdout and b"bob" not in done.stdout
    assert b"domain=D" in done.stdout


def test_columns_of_perf_stat_as_they_drifted() -> None:
    """Before 3.15 without a unit; with -I a time in front; what could not be counted."""
    for line, value, supported in (
        ("12;page-faults", 12.0, True),
        ("12;;page-faults;100;100.00", 12.0, True),
        ("     1.000105135;522;;page-faults:u;2008518135;100.00;259.893;/sec", 522.0, True),
        ("1.0;<not supported>;;page-faults;0;100.00;;", None, False),
        ("python3-17;<not counted>;;page-faults;0;100.00;;", None, True),
    ):
        [result] = csv.parse_event_counts(line.encode(), ["page-faults"])
        assert result.supported is supported
        assert (result.value if result.value == result.value else None) == value
    assert not list(csv.parse_event_counts(b"page-faults;12\n;;;\n# started on\n", ["page-faults"]))


def test_without_a_start_there_are_totals_and_no_times() -> None:
    stat = part("1.0;10;;cpu-migrations;1;100.00;;\n2.0;30;;cpu-migrations;1;100.00;;\n")
    matching_perf_stat = perf_stat.parse_perf_stat(
        {"stat.txt": stat, "status.txt": part("scope -a\n")}, context()
    )
    assert not matching_perf_stat.series
    assert cells(matching_perf_stat.tables[0])[0]["per_s"] == 20.0


def test_a_host_where_nothing_is_busy_has_no_state_profile() -> None:
    """Which is an answer, and no failure."""
    reported_state_profile = state_profile.parse_state_profile(
        {"status.txt": part("looks 0\n")}, context("proc")
    )
    assert reported_state_profile.readable and not reported_state_profile.profiles
    assert [warning.key for warning in reported_state_profile.warnings] == ["warning.no_busy_tasks"]
    assert not state_profile.parse_state_profile({"status.txt": part("looks 9\n")}, context("proc")).readable
