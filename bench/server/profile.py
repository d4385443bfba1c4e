"""perf script text → sample table, compared with inferno-collapse-perf; time range → pruned tree on 1M samples.

    ./culprit bench profile [--sizes 100000,1000000] [--pairs 5] [--json FILE]

The text is a real capture of this machine under a real workload (system-wide, frame pointers). Up to the size of the
capture, all of it is real. A larger text repeats the blocks of the capture with later times, and changes the address of
the innermost frame in the share of blocks whose stack was new in the second half of the capture, so that the number of
distinct stacks grows as in reality.

Both programs run as separate processes, A B A B, on the same file; CPU is that of the whole process (wait4),
including the start of the interpreter.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from culprit.domain.profiles.stacks import SampleFilter, StackProfile

from collectors.parse.perf import perf_script
from collectors.profiles.limits import ReaderLimits, open_bounded
from collectors.profiles.samples import SampleTable

CACHE = Path.home() / ".cache" / "culprit-bench"
INFERNO_VERSION = "0.12.8"
OWN_COMMAND = [sys.executable, "-m", "bench.server.profile"]
FIELDS = "comm,pid,tid,cpu,time,event,ip,sym,dso"
WORKLOAD = """
(while :; do
  find /usr/lib /usr/share -type f 2>/dev/null | head -4000 | xargs cat 2>/dev/null | gzip -1 >/dev/null
done) &
(while :; do ls -lR /usr/share 2>/dev/null | sort | md5sum >/dev/null; done) &
python3 -c "
import json, hashlib, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
while True:
    fib(16); json.loads(json.dumps([{'a': i} for i in range(800)])); sorted(str(i) for i in range(4000))
" &
wait
"""


def find_inferno() -> Path | None:
    """Return the path of inferno-collapse-perf from PATH or the cache; build it there once if cargo is available."""
    result = shutil.which("inferno-collapse-perf")
    if result:
        return Path(result)
    place = CACHE / "inferno" / "bin" / "inferno-collapse-perf"
    if not place.exists() and shutil.which("cargo"):
        root = str(CACHE / "inferno")
        subprocess.run(
            ["cargo", "install", "-q", "inferno", "--version", INFERNO_VERSION, "--root", root], check=True
        )
    return place if place.exists() else None


def record_samples(samples: int, into: Path) -> None:
    """Record about `samples` samples of the workload and print them."""
    seconds, hz = 12, 4999
    hz = min(hz, max(199, samples * 13 // 10 // (seconds * (os.cpu_count() or 1))))
    busy = subprocess.Popen(["sh", "-c", WORKLOAD], start_new_session=True, stdout=subprocess.DEVNULL)
    data = into.with_suffix(".data")
    try:
        time.sleep(1)
        record: list[str] = [
            "perf",
            "record",
            "-q",
            "-F",
            str(hz),
            "-a",
            "-g",
            "-k",
            "CLOCK_MONOTONIC",
            "-N",
            "--no-bpf-event",
        ]
        subprocess.run([*record, "-m", "2048", "-o", str(data), "--", "sleep", str(seconds)], check=True)
    finally:
        os.killpg(busy.pid, 15)
        busy.wait()
    with into.open("wb") as out:
        script = [
            "perf",
            "script",
            "--no-inline",
            "-F",
            FIELDS,
            "--ns",
            "--show-lost-events",
            "-i",
            str(data),
        ]
        subprocess.run(script, stdout=out, stderr=subprocess.DEVNULL, check=True)


def resize_capture(text: Path, requested: int, into: Path, step_s: int = 60) -> int:
    """Cut or repeat the capture to `wanted` samples, each turn `step_s` later. Returns the number of turns."""
    blocks = [b for b in text.read_bytes().split(b"\n\n") if b]
    when = re.compile(rb"(\d+)(?=\.\d{9}: )")
    seen: set[bytes] = set()
    fresh = []
    for block in blocks:
        body = block.partition(b"\n")[2]
        fresh.append(body not in seen)
        seen.add(body)
    share = statistics.mean(fresh[len(fresh) // 2 :])
    draw = random.Random(1)
    span = 0
    with into.open("wb") as out:
        for i in range(requested):
            turn, at = divmod(i, len(blocks))
            block = blocks[at]
            if turn:
                match = when.search(block)
                if match:
                    later = int(match[1]) + turn * step_s
                    block = block[: match.start()] + b"%d" % later + block[match.end() :]
                if draw.random() < share:
                    head, _, body = block.partition(b"\n")
                    leaf, _, rest = body.partition(b"\n")
                    words = leaf.split(None, 1)
                    if len(words) == 2:
                        leaf = b"\t%16x %s" % (int(words[0], 16) ^ draw.getrandbits(6), words[1])
                    block = b"\n".join(filter(None, (head, leaf, rest)))
            out.write(block + b"\n\n")
            span = turn
    return span + 1


def run(argv: list[str]) -> tuple[float, float, float]:
    """(CPU s, wall s, peak MB); the peak is VmHWM, as ru_maxrss starts from the parent's."""
    start = time.perf_counter()
    silent = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)]
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=silent)
    peak = 0
    while True:
        status = Path(f"/proc/{pid}/status").read_text()
        match = re.search(r"VmHWM:\s+(\d+)", status)
        peak = max(peak, int(match[1]) if match and f"Name:\t{Path(argv[0]).name}"[:15] in status else 0)
        ended, code, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            break
        time.sleep(0.005)
    if code:
        raise SystemExit(f"{argv[:4]} failed")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start, peak / 1024


def parse_text(text: Path, store: Path) -> None:
    """Run program A: read the text and write the table. Store its CPU seconds without the interpreter's start."""
    start = time.process_time()
    with open_bounded(text, limits=ReaderLimits(unpacked=8 << 30)) as source:
        perf_script.parse_perf_script(source).save(store)
    store.with_suffix(".cpu").write_text(str(time.process_time() - start))


def import_figures(size: int, text: Path, pairs: int, store: Path) -> dict[str, object]:
    """Interleaved pairs of both programs on one file."""
    ours = [*OWN_COMMAND, "--read", str(text), str(store)]
    other = find_inferno()
    theirs = [str(other), "-n", "1", str(text)] if other else None
    a, b = [], []
    for _ in range(pairs):
        a.append((*run(ours), float(store.with_suffix(".cpu").read_text())))
        if theirs:
            b.append(run(theirs))
    row: dict[str, object] = {
        "samples": size,
        "text_mb": round(text.stat().st_size / 1e6, 1),
        "distinct_nodes": len(SampleTable.load(store).trie),
        "store_mb": round(store.stat().st_size / 1e6, 1),
        "culprit_cpu_s": round(statistics.median(x[0] for x in a), 3),
        "culprit_cpu_s_without_start": round(statistics.median(x[3] for x in a), 3),
        "culprit_samples_per_s": round(size / statistics.median(x[0] for x in a)),
        "culprit_peak_mb": round(max(x[2] for x in a), 1),
    }
    if b:
        ratios = sorted(x[0] / y[0] for x, y in zip(a, b, strict=True))
        row |= {
            "inferno_cpu_s": round(statistics.median(x[0] for x in b), 3),
            "inferno_samples_per_s": round(size / statistics.median(x[0] for x in b)),
            "inferno_peak_mb": round(max(x[2] for x in b), 1),
            "cpu_ratio_without_start": round(
                statistics.median(x[3] / y[0] for x, y in zip(a, b, strict=True)), 2
            ),
            "cpu_ratio": [round(statistics.median(ratios), 2), round(ratios[0], 2), round(ratios[-1], 2)],
        }
    return row


def query_figures(store: Path, times: int = 200) -> dict[str, object]:
    """Random time ranges of a stored profile: mapped table → range → pruned tree → JSON."""
    start = time.perf_counter()
    profile = StackProfile(SampleTable.load(store))
    opened = time.perf_counter() - start
    profile.view().render_tree()
    t = profile.table.t_ns
    first, last = int(t[0]), int(t[-1])
    draw = random.Random(2)
    took = []
    for _ in range(times):
        low, high = sorted(draw.randrange(first, last + 1) for _ in range(2))
        start = time.perf_counter()
        profile.view(SampleFilter(from_ns=low, to_ns=high)).render_tree(1200).json()
        took.append((time.perf_counter() - start) * 1e3)
    masked = []
    for cpu in (0, 1) * 10:
        start = time.perf_counter()
        profile.view(SampleFilter(cpu=(cpu,))).render_tree(1200).json()
        masked.append((time.perf_counter() - start) * 1e3)
    took.sort()
    return {
        "samples": len(t),
        "nodes": len(profile.table.trie),
        "open_ms": round(opened * 1e3, 1),
        "range_to_tree_ms": {
            "p50": round(took[len(took) // 2], 1),
            "p95": round(took[len(took) * 95 // 100], 1),
        },
        "cpu_filter_to_tree_ms": {"p50": round(statistics.median(masked), 1)},
    }


def main() -> None:
    """Measure and print."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--sizes", default="100000,1000000")
    ask.add_argument("--pairs", type=int, default=5)
    ask.add_argument("--json", type=Path)
    ask.add_argument("--text", type=Path, help="use this perf script text instead of capturing")
    ask.add_argument("--grow", nargs=3, help=argparse.SUPPRESS)
    ask.add_argument("--read", nargs=2, type=Path, help=argparse.SUPPRESS)
    chosen = ask.parse_args()
    if chosen.read:
        parse_text(*chosen.read)
        return
    if chosen.grow:
        print(resize_capture(Path(chosen.grow[0]), int(chosen.grow[1]), Path(chosen.grow[2])))
        return
    sizes = sorted(int(n) for n in chosen.sizes.split(","))
    figures: dict[str, object] = {"import": [], "query": {}}
    with tempfile.TemporaryDirectory(prefix="culprit-bench-") as place:
        real = chosen.text or Path(place) / "real.txt"
        if not chosen.text:
            record_samples(100_000, real)
        for size in sizes:
            text, store = Path(place) / f"{size}.txt", Path(place) / f"{size}.samples"
            times = int(subprocess.check_output([*OWN_COMMAND, "--grow", real, str(size), text]))
            row = import_figures(size, text, chosen.pairs, store) | {"capture_repeated": times}
            figures["import"].append(row)  # type: ignore[attr-defined]
            text.unlink()
        figures["query"] = query_figures(store)
    for row in figures["import"]:  # type: ignore[attr-defined]
        print(" | ".join(f"{name} {value}" for name, value in row.items()))
    print(json.dumps(figures["query"]))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
