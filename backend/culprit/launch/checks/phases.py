"""The table of checks. Each phase is a function of the `Round` it runs in and returns an `Outcome`."""

from __future__ import annotations

import os
from collections.abc import Callable

from culprit.launch import install
from culprit.launch.checks import compose, journeys, needs
from culprit.launch.checks.outcome import Log, Outcome
from culprit.launch.checks.round import Round
from culprit.launch.paths import FRONTEND, ROOT, VENV, python_path
from culprit.launch.progress import Refusal

COMPOSE = ROOT / ".ci" / "compose"


def tool(name: str) -> str:
    """A program of .venv."""
    return str(VENV / "bin" / name)


def python_format(round_: Round) -> Outcome:
    """ruff format --check."""
    return round_.tool("format", [tool("ruff"), "format", "--check", "."])


def python_lint(round_: Round) -> Outcome:
    """ruff check."""
    return round_.tool("lint", [tool("ruff"), "check", "--output-format=concise", "."])


def python_types(round_: Round) -> Outcome:
    """mypy, strict."""
    return round_.tool("types", [tool("mypy"), "backend/culprit", "collectors", "bench"])


def walls(round_: Round) -> Outcome:
    """The direction of imports; and that each test exists which docs/promises.yaml names."""
    total = round_.tool("walls", [tool("lint-imports"), "--no-logo", "--no-cache"])
    named = [tool("python"), "-m", "culprit.launch.checks.status", "--check"]
    total.add(round_.tool("walls-promises", named))
    return total


def frontend(round_: Round) -> Outcome:
    """biome, walls, tsc, vitest and the build of the interface."""
    if not (FRONTEND / "package.json").exists():
        return Outcome(failed=1, refused="the folder frontend/ is missing")
    install.node_modules(FRONTEND, round_.progress, dev=True)
    env = install.node_environment() | {"PYTHONPATH": python_path()}
    total = Outcome()
    for script in ("lint", "walls", "types"):
        npm = [str(install.node_directory() / "npm"), "run", "--silent", script]
        total.add(round_.tool(f"frontend-{script}", npm, cwd=FRONTEND, env=env))
    junit = round_.results / "vitest.xml"
    vitest = [str(FRONTEND / "node_modules/.bin/vitest"), "run", "--reporter=default", "--reporter=junit"]
    vitest.append(f"--outputFile.junit={junit}")
    total.add(round_.runner("frontend-vitest", junit, vitest, cwd=FRONTEND, env=env))
    build = [str(FRONTEND / "node_modules/.bin/vite"), "build", "--logLevel", "warn", "--emptyOutDir"]
    build += ["--outDir", str(round_.results / "dist")]
    total.add(round_.tool("frontend-build", build, cwd=FRONTEND, env=env))
    return total


def server(round_: Round) -> Outcome:
    """pytest: collectors and server, on real engines, sshd and perf."""
    programs = (*needs.HOST_TOOLS, *needs.VARIANTS, *(("debootstrap",) if round_.full else ()))
    mend = needs.provide(programs)
    if mend:
        return Outcome(failed=1, refused=mend)
    install.node_modules(needs.OIDC, round_.progress, dev=True)
    return run_tests([], round_)


def run_tests(files: list[str], round_: Round) -> Outcome:
    """pytest over those files, or over all of them; in their order, in which the longest come first."""
    junit = round_.results / "pytest.xml"
    marks = [] if round_.full else ["-m", "not slow"]
    # For most of its time a test waits: for a host, a process, or a limit.
    workers = str(1 + 2 * (os.cpu_count() or 1))
    spread = ["-n", workers, "--dist", "loadfile", "--no-loadscope-reorder"]
    command = [tool("python"), "-m", "pytest", *spread, f"--junitxml={junit}", *marks]
    return round_.runner("server", junit, [*command, *files], timeout_s=3600.0 if round_.full else 2400.0)


def lab(round_: Round) -> Outcome:
    """The fault lab itself, then six of its faults, drawn at random and diagnosed; the seed is printed.

    The machine may have other work to do: a round that misses is played once more, with the same parameters. Every
    scenario's own tests (`pytest e2e/lab/tests`) and the whole score (`./culprit bench score`) take about an hour.
    """
    mend = needs.provide((*needs.HOST_TOOLS, *needs.LAB))
    if mend:
        return Outcome(failed=1, refused=mend)
    junit = round_.results / "lab.xml"
    pytest = [tool("python"), "-m", "pytest", f"--junitxml={junit}", "-m", "not slow", "e2e/lab/tests"]
    total = round_.runner("lab", junit, pytest, timeout_s=600.0)
    junit = round_.results / "score.xml"
    which = ["--kinds", "fault", "--proven", "--no-guests", "--twice", "--sample", "6", "--junit", str(junit)]
    total.add(round_.runner("score", junit, [tool("python"), "-m", "bench.score", *which], timeout_s=900.0))
    return total


def containers(round_: Round) -> Outcome:
    """hadolint on the Dockerfile; the compose file against its schema and against our own rules."""
    install.node_modules(COMPOSE, round_.progress, dev=True)
    total = round_.tool("containers-hadolint", [tool("hadolint"), str(ROOT / "Dockerfile")])
    dclint = [
        str(COMPOSE / "node_modules/.bin/dclint"),
        "-c",
        "dclint.json",
        str(ROOT / "docker-compose.yml"),
    ]
    total.add(round_.tool("containers-dclint", dclint, cwd=COMPOSE, env=install.node_environment()))
    wrong = [f"docker-compose.yml: {fault}" for fault in compose.faults(ROOT / "docker-compose.yml")]
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    wrong += [f"Dockerfile: {fault}" for fault in compose.find_unpinned_images(dockerfile)]
    log = round_.log("containers-rules")
    log.write_text("".join(f"{fault}\n" for fault in wrong), "utf-8")
    total.add(Outcome(passed=int(not wrong), failed=int(bool(wrong)), logs=[Log(log)] if wrong else []))
    return total


PHASES: dict[str, Callable[[Round], Outcome]] = {
    "format": python_format,
    "lint": python_lint,
    "types": python_types,
    "walls": walls,
    "containers": containers,
    "frontend": frontend,
    "server": server,
    "lab": lab,
    "e2e": journeys.run,
}


def run_phase(name: str, round_: Round) -> Outcome:
    """One phase; what keeps it from running at all is a failure of it."""
    try:
        return PHASES[name](round_)
    except Refusal as refusal:
        return Outcome(failed=1, refused=str(refusal))
