"""What names the functions of running programs: stripped ones, those in containers, and generated code."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.contract import Script
from collectors.parse.perf import perf_data
from collectors.runner import code_bytes, symbols
from collectors.tests.support import find_node
from collectors.tests.symbol_fetch import fetch, rebuild, record_process, rows

pytestmark = [
    pytest.mark.long(60),
    pytest.mark.skipif(os.geteuid() != 0, reason="map_files needs root"),
    pytest.mark.skipif(
        not (perf_data.is_available() and shutil.which("perf") and shutil.which("gcc")),
        reason="perf, gcc or the native reader is not installed",
    ),
]

BUSY = """
volatile unsigned long steps;
static __attribute__((noinline)) void count_busily(void) { for (int i = 0; i < 1000000; i++) steps += i; }
int main(void) { for (;;) count_busily(); }
"""


def build_stripped(folder: Path) -> tuple[Path, Path]:
    """Build a stripped program, and return it with the file of its debugging symbols."""
    source, program, debug = folder / "busy.c", folder / "busy", folder / "busy.debug"
    source.write_text(BUSY)
    flags = ["-O1", "-fno-omit-frame-pointer", "-Wl,--build-id"]
    subprocess.run(["gcc", *flags, "-o", program, source], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    return program, debug


@pytest.mark.parametrize("place", [".debug/busy.debug", "busy.debug", "other build", "none"])
def test_a_separate_file_with_debugging_symbols_is_sent_if_it_is_of_the_same_build(
    place: str, tmp_path: Path
) -> None:
    program, debug = build_stripped(tmp_path)
    content = debug.read_bytes()
    debug.unlink()
    if place == "other build":
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "more.c").write_text("int more;")
        other = tmp_path / "other" / "busy"
        sources = [tmp_path / "busy.c", tmp_path / "other" / "more.c"]
        subprocess.run(["gcc", "-Wl,--build-id", "-o", other, *sources], check=True)
        (tmp_path / "busy.debug").write_bytes(other.read_bytes())
    elif place != "none":
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_bytes(content)
    with subprocess.Popen([program]) as child:
        try:
            used = record_process(child, tmp_path / "perf.data").modules
            [module] = [item for item in used if item.path == str(program)]
            assert module.key is not None
            stat = program.stat()
            request = symbols.FileRequest(
                module.key, module.places, f"{stat.st_dev:x}-{stat.st_ino}", module.path
            )
            parts = fetch(tmp_path, [request])
        finally:
            child.kill()
    fetched = rows(parts)
    is_sent = place not in {"other build", "none"}
    assert set(fetched) == {module.key} | ({symbols.name_debug_key(module.key)} if is_sent else set())
    store = tmp_path / "store"
    store.mkdir()
    for key, (state, _, blocks, part) in fetched.items():
        assert state == "file"
        rebuild(str(blocks), parts[str(part)], store / key)
    table = perf_data.read_samples(tmp_path / "perf.data", perf_data.SymbolFiles(store=store))
    assert ("count_busily" in table.frames.strings.all()) == is_sent


GO = """
package main
//go:noinline
func countBusily(n int) int { s := 0; for i := 0; i < n; i++ { s += i % 7 }; return s }
func main() { for { countBusily(1000000) } }
"""


@pytest.mark.skipif(not shutil.which("go"), reason="go is not installed")
@pytest.mark.parametrize("mode", ["exe", "pie"])
def test_a_stripped_go_program_is_named_by_the_table_of_its_runtime(mode: str, tmp_path: Path) -> None:
    source, program = tmp_path / "busy.go", tmp_path / "busy"
    source.write_text(GO)
    command = ["go", "build", f"-buildmode={mode}", "-ldflags=-s -w", "-o", program, source]
    environment = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GOCACHE": str(tmp_path / "cache")}
    subprocess.run(command, env={**os.environ, **environment}, check=True)
    with subprocess.Popen([program]) as child:
        try:
            used = record_process(child, tmp_path / "perf.data").modules
            [module] = [item for item in used if item.path == str(program)]
            assert module.key is not None
            parts = fetch(tmp_path, [symbols.FileRequest(module.key, module.places)])
        finally:
            child.kill()
    state, _, blocks, part = rows(parts)[module.key]
    assert state == "file"
    # Lines and names of files are not sent: they are two fifths of the table.
    assert len(parts[str(part)]) < program.stat().st_size / 2
    store = tmp_path / "store"
    store.mkdir()
    rebuild(str(blocks), parts[str(part)], store / module.key)
    table = perf_data.read_samples(tmp_path / "perf.data", perf_data.SymbolFiles(store=store))
    names = table.frames.strings.all()
    assert {"main.countBusily", "runtime.main"} <= set(names)
    assert not [name for name in names if name.startswith("busy+0x")]


COMPILER = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
/* add rax, 1; jmp to the start */
static const uint8_t code[] = {0x48, 0x83, 0xc0, 0x01, 0xeb, 0xfa};
static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
int main(void) {
    uint8_t *at = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64], name[] = "count_busily";
    memcpy(at, code, sizeof code);
    sprintf(path, "jit-%d.dump", getpid());
    FILE *dump = fopen(path, "w+");
    uint32_t head[] = {0x4a695444, 1, 40, 62, 0, getpid()};
    uint64_t begun[] = {now(), 0};
    fwrite(head, sizeof head, 1, dump);
    fwrite(begun, sizeof begun, 1, dump);
    mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
    uint32_t load[] = {0, 16 + 8 + 32 + sizeof name + sizeof code};
    uint64_t when = now(), body[] = {(uint64_t)at, (uint64_t)at, sizeof code, 1};
    uint32_t ids[] = {getpid(), getpid()};
    fwrite(load, sizeof load, 1, dump);
    fwrite(&when, sizeof when, 1, dump);
    fwrite(ids, sizeof ids, 1, dump);
    fwrite(body, sizeof body, 1, dump);
    fwrite(name, sizeof name, 1, dump);
    fwrite(code, sizeof code, 1, dump);
    fflush(dump);
    ((void (*)(void))at)();
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its code is for x86-64")
def test_the_dump_of_a_compiler_names_its_code(tmp_path: Path) -> None:
    """A compiler maps its dump from where it wrote it, and writes no map."""
    source, compiler = tmp_path / "compiler.c", tmp_path / "compiler"
    source.write_text(COMPILER)
    subprocess.run(["gcc", "-O1", "-o", compiler, source], check=True)
    with subprocess.Popen([compiler], cwd=tmp_path) as child:
        try:
            used = record_process(child, tmp_path / "perf.data")
            assert any(item.is_anonymous for item in used.modules)
            parts = fetch(tmp_path, [], (child.pid,))
        finally:
            child.kill()
    name = symbols.name_dump_part(child.pid)
    assert rows(parts) == {f"dump-{child.pid}": ("map", "", "", name)}
    maps = tmp_path / "maps"
    maps.mkdir()
    (maps / f"jit-{child.pid}.dump").write_bytes(parts[name])
    table, named = perf_data.read_samples_and_modules(
        tmp_path / "perf.data", perf_data.SymbolFiles(perf_maps=maps)
    )
    assert "count_busily" in table.frames.strings.all()
    assert [item.symbols for item in named.modules if item.is_anonymous and item.samples] == [1]


def test_a_file_that_only_is_named_like_a_dump_is_not_sent(tmp_path: Path) -> None:
    program = (
        "import mmap, os; path = f'jit-{os.getpid()}.dump'; open(path, 'wb').write(b'secret' * 1000);"
        "kept = mmap.mmap(os.open(path, os.O_RDONLY), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC);"
        "print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None and child.stdin is not None
        child.stdout.readline()
        parts = fetch(tmp_path, [], (child.pid,))
        child.kill()
    assert set(parts) == {symbols.INDEX} and rows(parts) == {f"map-{child.pid}": ("gone", "", "", "")}


JAVA = """
class Busy {
    static volatile long steps;
    static void countBusily() { for (int i = 0; i < 1000000; i++) steps += i; }
    public static void main(String[] arguments) { for (;;) countBusily(); }
}
"""
NODE = "function countBusily() { let s = 0; for (let i = 0; i < 1e6; i++) s += i % 7; return s } for (;;) countBusily()"


def start_runtime(runtime: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a program of a runtime that writes a map of its code, or skip."""
    if runtime == "java":
        if not (shutil.which("javac") and shutil.which("jcmd")):
            pytest.skip("no JDK is installed")
        (folder / "Busy.java").write_text(JAVA)
        subprocess.run(["javac", "Busy.java"], cwd=folder, check=True)
        child = subprocess.Popen(["java", "-Xmx64m", "Busy"], cwd=folder)
        time.sleep(3)
        subprocess.run(["jcmd", str(child.pid), "Compiler.perfmap"], capture_output=True, check=True)
        return child
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    return subprocess.Popen([find_node(), "--perf-basic-prof", "-e", NODE], cwd=folder)


def wait_for_map(path: Path, function: str) -> None:
    deadline = time.monotonic() + 30
    while not path.exists() or function not in path.read_text(errors="replace"):
        assert time.monotonic() < deadline, path
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("runtime", "function"),
    [("java", "Busy.countBusily"), ("node", "countBusily")],
)
def test_the_map_of_a_runtime_names_its_code(runtime: str, function: str, tmp_path: Path) -> None:
    child = start_runtime(runtime, tmp_path)
    try:
        wait_for_map(Path(f"/tmp/perf-{child.pid}.map"), function)
        used = record_process(child, tmp_path / "perf.data")
        assert any(item.is_anonymous for item in used.modules)
        parts = fetch(tmp_path, [], (child.pid,))
    finally:
        child.kill()
        child.wait()
        Path(f"/tmp/perf-{child.pid}.map").unlink(missing_ok=True)
    maps = tmp_path / "maps"
    maps.mkdir()
    (maps / f"perf-{child.pid}.map").write_bytes(parts[symbols.name_map_part(child.pid)])
    table = perf_data.read_samples(tmp_path / "perf.data", perf_data.SymbolFiles(perf_maps=maps))
    assert any(function in text for text in table.frames.strings.all())


@pytest.fixture(params=["overlay", "btrfs"])
def mounted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system whose inodes or devices in /proc/PID/maps are others than those of `stat`."""
    point = tmp_path / "mounted"
    point.mkdir()
    if request.param == "overlay":
        for name in ("lower", "upper", "work"):
            (tmp_path / name).mkdir()
        folders = f"lowerdir={tmp_path}/lower,upperdir={tmp_path}/upper,workdir={tmp_path}/work"
        command = ["mount", "-t", "overlay", "overlay", "-o", folders, str(point)]
    else:
        image = tmp_path / "image"
        with image.open("wb") as file:
            file.truncate(128 << 20)
        if not shutil.which("mkfs.btrfs"):
            pytest.skip("mkfs.btrfs is not installed")
        subprocess.run(["mkfs.btrfs", "-q", image], capture_output=True, check=True)
        command = ["mount", "-o", "loop", str(image), str(point)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip(f"{request.param} cannot be mounted here")
    yield tmp_path / "lower" if request.param == "overlay" else point
    subprocess.run(["umount", "-l", point], check=True)


def test_programs_on_file_systems_of_containers_have_names(mounted: Path, tmp_path: Path) -> None:
    source, program = tmp_path / "busy.c", mounted / "busy"
    source.write_text(BUSY)
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", program, source], check=True)
    path = tmp_path / "mounted" / "busy"
    with subprocess.Popen([path]) as child:
        try:
            used = record_process(child, tmp_path / "perf.data").modules
            [module] = [item for item in used if item.path == str(path)]
            assert module.key is not None
            parts = fetch(tmp_path, [symbols.FileRequest(module.key, module.places, path=module.path)])
        finally:
            child.kill()
    state, _, blocks, part = rows(parts)[module.key]
    assert state == "file"
    store = tmp_path / "store"
    store.mkdir()
    rebuild(str(blocks), parts[str(part)], store / module.key)
    table = perf_data.read_samples(tmp_path / "perf.data", perf_data.SymbolFiles(store=store))
    assert "count_busily" in table.frames.strings.all()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only there are 32-bit programs")
def test_a_32_bit_program_has_names(tmp_path: Path) -> None:
    source, program = tmp_path / "busy.c", tmp_path / "busy"
    source.write_text(BUSY.replace("int main(void)", "void _start(void)"))
    flags = [
        "-m32",
        "-nostdlib",
        "-static",
        "-fno-pie",
        "-fno-pic",
        "-O1",
        "-fno-omit-frame-pointer",
        "-Wl,--build-id",
    ]
    subprocess.run(["gcc", *flags, "-o", program, source], check=True)
    with subprocess.Popen([program]) as child:
        try:
            used = record_process(child, tmp_path / "perf.data").modules
            [module] = [item for item in used if item.path == str(program)]
            assert module.key is not None
            parts = fetch(tmp_path, [symbols.FileRequest(module.key, module.places)])
        finally:
            child.kill()
    state, build_id, blocks, part = rows(parts)[module.key]
    assert state == "file" and len(str(build_id)) == 40
    store = tmp_path / "store"
    store.mkdir()
    rebuild(str(blocks), parts[str(part)], store / module.key)
    table = perf_data.read_samples(tmp_path / "perf.data", perf_data.SymbolFiles(store=store))
    assert "count_busily" in table.frames.strings.all()


@pytest.mark.parametrize("reads", [0, 1, 2])
def test_a_path_that_is_replaced_between_two_reads_leads_to_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    """The owner of a program puts a link to a file of root in place of the debugging symbols of the program."""
    program, debug, secret = tmp_path / "busy", tmp_path / "busy.debug", tmp_path / "secret"
    content = Path("/bin/true").resolve().read_bytes()
    program.write_bytes(content)
    (tmp_path / "real").write_bytes(content)
    debug.symlink_to("real")
    secret.write_bytes(b"secret-of-root" * 10_000)
    replace = tmp_path / "bin" / "dd"
    replace.parent.mkdir()
    counted = f'[ "$(cat {tmp_path}/reads)" != {reads} ] || ln -sfn secret {debug}'
    replace.write_text(
        f'#!/bin/sh\n/bin/dd "$@"\n[ ! -e .file-k-debug ] || {{ {counted}; echo x >> {tmp_path}/x; }}\n'
        f"wc -l < {tmp_path}/x > {tmp_path}/reads 2>/dev/null\n"
    )
    replace.chmod(0o755)
    (tmp_path / "x").touch()
    (tmp_path / "reads").write_text("0\n")
    monkeypatch.setenv("PATH", f"{replace.parent}:{os.environ['PATH']}")
    status = program.stat()
    request = symbols.FileRequest("k", (), f"{status.st_dev:x}-{status.st_ino}", str(program))
    parts = fetch(tmp_path, [request])
    assert debug.resolve() == secret
    assert not [name for name, data in parts.items() if b"secret-of-root" in data]
    assert parts["k.blocks"]


def test_a_path_that_is_replaced_after_its_check_gives_no_code_of_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, secret, tools = tmp_path / "busy", tmp_path / "secret", tmp_path / "bin"
    program.write_bytes(b"code" * 4096)
    secret.write_bytes(b"secret-of-root" * 10_000)
    tools.mkdir()
    (tools / "stat").write_text(
        f'#!/bin/sh\n/usr/bin/stat "$@"\n[ -e {tmp_path}/kept ] || ln -sfn secret {program}\n'
    )
    (tools / "stat").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    status = program.stat()
    file = symbols.FileRequest("k", (), f"{status.st_dev:x}-{status.st_ino}", str(program))
    job = code_bytes.build_job([code_bytes.CodeRequest("k.0", file, [(0, 2)])])
    [method] = job.methods
    assert isinstance(method, Script)
    for kept in (True, False):
        (tmp_path / "kept").touch() if kept else (tmp_path / "kept").unlink()
        options = {**os.environ, "OPT_FILES": job.options["files"]}
        subprocess.run(["sh", "-c", method.sh], cwd=tmp_path, env=options, check=True, timeout=60)
        part = tmp_path / "k.0.code"
        assert part.exists() is kept
        part.unlink(missing_ok=True)
    assert program.resolve() == secret
