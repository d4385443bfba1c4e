"""Every check of the project, one session each. `./culprit test` runs them all; `nox -l` lists them.

Arguments after `--`: `--full` runs the slow tests too, `--rerun-failed` what failed in the last run, paths only those
test files.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox
from culprit.launcher.install import locked_packages as install
from culprit.launcher.install import native_reader
from culprit.launcher.paths import FRONTEND, ROOT, VENV, build_python_path
from culprit.launcher.progress import Progress

from tools.checks import compose_rules, e2e, packages
from tools.checks.containers import base_images, build_image, helm_chart, run_roles

RESULTS = ROOT / ".test-results"
COMPOSE = ROOT / "tools" / "compose"
OPENAPI = ROOT / "tools" / "openapi"
ALERTS = ROOT / "examples" / "prometheus"
# Settings of a platform that this shell configures are not settings of the tests.
FOREIGN = ("CULPRIT_", "DATABASE_URL", "REDIS_URL", "S3_")
PASSED_ON = ("CULPRIT_TEST_", "CULPRIT_FUZZ_")
# Most of its time a test waits: for a host, a process or a limit.
WORKERS = 2 * (os.cpu_count() or 1)
#: Tests that state shares of time. They run before the others, because they keep all CPUs busy and need them too.
ALONE = ("collectors/tests/host/test_thread_time.py",)
NO_TESTS_COLLECTED = 5
#: Faults of CPU, memory, disk and network that every run diagnoses.
LAB_FAULTS = ("quota-throttling", "memcg-oom", "disk-saturation", "packet-loss-upstream")

nox.options.default_venv_backend = "none"
nox.options.stop_on_first_error = False

for name in list(os.environ):
    if name.startswith(FOREIGN) and not name.startswith(PASSED_ON):
        del os.environ[name]
# Without bytecode each process of a test would compile again what it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PATH"] = f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
os.environ["PYTHONPATH"] = build_python_path()
RESULTS.mkdir(exist_ok=True)


def require_programs(session: nox.Session, programs: tuple[str, ...]) -> None:
    """Install missing Debian packages as root; fail the session with the command that installs them otherwise."""
    command = packages.install_packages(programs)
    if command:
        session.error(f"missing programs, run: {command}")


def build_node_environment(*projects: Path) -> dict[str, str]:
    """Install the npm packages of `projects` from their lock files; returns an environment with Node on the PATH."""
    for project in projects:
        install.install_node_modules(project, Progress(), dev=True)
    return install.build_node_environment() | {"PYTHONPATH": build_python_path()}


def selected_paths(session: nox.Session) -> list[str]:
    """Return the test files among the arguments."""
    return [argument for argument in session.posargs if not argument.startswith("--")]


def run_pytest(session: nox.Session, junit: str, *arguments: str) -> None:
    """Run pytest with a JUnit report; `--full` and `--rerun-failed` are read from the arguments of the session."""
    slow = [] if "--full" in session.posargs else ["-m", "not slow"]
    failed = (
        ["--last-failed", "--last-failed-no-failures=none"] if "--rerun-failed" in session.posargs else []
    )
    codes = [0, NO_TESTS_COLLECTED] if failed else [0]
    report = f"--junitxml={RESULTS / junit}"
    session.run(
        "python", "-m", "pytest", "--tb=short", report, *slow, *failed, *arguments, success_codes=codes
    )


@nox.session
def format(session: nox.Session) -> None:
    """Formatting of Python files."""
    session.run("ruff", "format", "--check", ".")


@nox.session
def lint(session: nox.Session) -> None:
    """Lint of Python files."""
    session.run("ruff", "check", "--output-format=concise", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Types of the server, the collectors, the benchmarks and the checks, strict."""
    session.run(
        "mypy", "--num-workers", "auto", "backend/culprit", "collectors", "bench", "tools", "noxfile.py"
    )


@nox.session
def layers(session: nox.Session) -> None:
    """Import contracts, the tree of docs/architecture.md, links, words and names, placeholders, names of tests."""
    session.run("lint-imports", "--no-logo", "--no-cache")
    session.run("python", "-m", "tools.checks.promises", "--check")
    session.run("python", "-m", "tools.checks.message_lint")
    session.run("python", "-m", "tools.checks.architecture")
    session.run("python", "-m", "tools.checks.doc_links")
    session.run("python", "-m", "tools.checks.word_lint")
    session.run("python", "-m", "tools.checks.structure_lint")


@nox.session
def containers(session: nox.Session) -> None:
    """Lint of the Dockerfile; compose file, Helm chart and alerts against schemas and rules; with `--full` the image.

    The image is built with buildah, and all of its roles run as its user. helm and kubeconform are built once per
    machine, which takes minutes.
    """
    full = "--full" in session.posargs
    require_programs(session, ("promtool", *(("buildah", "debootstrap") if full else ())))
    env = build_node_environment(COMPOSE)
    session.run("hadolint", "Dockerfile")
    with session.chdir(COMPOSE):
        dclint = ["node_modules/.bin/dclint", "-c", "dclint.json", str(ROOT / "docker-compose.yml")]
        session.run(*dclint, env=env, external=True)
    problems = [
        f"docker-compose.yml: {fault}" for fault in compose_rules.find_violations(ROOT / "docker-compose.yml")
    ]
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    problems += [f"Dockerfile: {image}" for image in compose_rules.find_unpinned_images(dockerfile)]
    with session.chdir(ALERTS):
        session.run("promtool", "check", "rules", "alerts.yaml", external=True)
        session.run("promtool", "test", "rules", "alerts_test.yaml", external=True)
    try:
        programs = helm_chart.ensure_programs()
        if programs is None:
            session.log("the Helm chart is not checked: helm and kubeconform need Go 1.26 or newer")
        else:
            problems += [f"examples/helm: {fault}" for fault in helm_chart.check_chart(*programs)]
        if full:
            for line in run_roles.check_roles(build_image.build_image()):
                session.log(line)
    except base_images.ContainerError as error:
        problems.append(str(error))
    if problems:
        session.error("\n".join(problems))


@nox.session
def native(session: nox.Session) -> None:
    """Formatting, lint and tests of the native reader, where a Rust toolchain is installed."""
    cargo = native_reader.find_cargo(os.environ)
    if cargo is None:
        session.skip(f"no Rust toolchain: apt-get install {native_reader.PACKAGES}")
    env = {"PATH": f"{cargo.parent}{os.pathsep}{os.environ['PATH']}"}
    lint = ("clippy", "--locked", "--quiet", "--all-targets", "--", "-D", "warnings")
    tests = ("test", "--locked", "--quiet", "--no-default-features")
    with session.chdir(native_reader.SOURCE):
        for command in (("fmt", "--check"), lint, tests):
            session.run("cargo", *command, external=True, env=env)


@nox.session
def frontend(session: nox.Session) -> None:
    """Generated client, lint, layers, types, tests and the build of the interface."""
    paths = selected_paths(session)
    env = build_node_environment(FRONTEND) if paths else build_node_environment(FRONTEND, OPENAPI)
    if not paths:
        with session.chdir(OPENAPI):
            session.run("node", "generate.mjs", "--check", env=env, external=True)
    with session.chdir(FRONTEND):
        if not paths:
            for script in ("lint", "layers", "generated", "types"):
                session.run("npm", "run", "--silent", script, env=env, external=True)
        report = ["--reporter=dot", "--reporter=junit", f"--outputFile.junit={RESULTS / 'vitest.xml'}"]
        files = [str((ROOT / path).resolve().relative_to(FRONTEND)) for path in paths]
        session.run("node_modules/.bin/vitest", "run", *report, *files, env=env, external=True)
        if not paths:
            build = ["--logLevel", "warn", "--emptyOutDir", "--outDir", str(RESULTS / "dist")]
            session.run("node_modules/.bin/vite", "build", *build, env=env, external=True)


@nox.session
def lab(session: nox.Session) -> None:
    """The fault lab, then one fault of each resource with the same parameters each time, diagnosed; all with `--full`.

    A draw would make the result of a run a matter of luck: how often the cause is right is what `./culprit bench score`
    measures. The machine may have other work, so a diagnosis that misses is repeated once.
    """
    require_programs(session, (*packages.HOST_TOOLS, *packages.LAB))
    run_pytest(session, "lab.xml", "lab/tests")
    chosen = ["--kinds", "fault", "--proven"] if "--full" in session.posargs else ["--only", *LAB_FAULTS]
    played = [*chosen, "--no-guests", "--twice", "--seed", "7", "--junit", str(RESULTS / "score.xml")]
    session.run("python", "-m", "bench.accuracy.score", *played)


@nox.session
def server(session: nox.Session) -> None:
    """Tests of collectors and server on real engines, sshd and perf."""
    paths = selected_paths(session)
    if paths:
        run_pytest(session, "pytest.xml", *paths)
        return
    full = "--full" in session.posargs
    slow = ("debootstrap",) if full else ()
    require_programs(session, (*packages.HOST_TOOLS, *packages.VARIANTS, *packages.LAB, *slow))
    build_node_environment(packages.OIDC)
    native_reader.install_native_reader(Progress())
    # A worker takes whole files, in the order of conftest.py: the longest first.
    run_pytest(session, "thread_time.xml", *ALONE)
    others = [f"--ignore={path}" for path in ALONE]
    run_pytest(
        session, "pytest.xml", *others, "-n", str(WORKERS), "--dist", "loadfile", "--no-loadscope-reorder"
    )


@nox.session(name="e2e")
def journeys(session: nox.Session) -> None:
    """Journeys in Chromium through a platform that this session starts and stops."""
    require_programs(session, (*packages.HOST_TOOLS, e2e.BROWSER))
    env = build_node_environment(e2e.E2E, packages.OIDC)
    with session.chdir(e2e.E2E):
        session.run("node_modules/.bin/tsc", "--noEmit", env=env, external=True)
    specs = [Path(path).name for path in selected_paths(session)]
    last_failed = ["--last-failed"] if "--rerun-failed" in session.posargs else []
    if not last_failed:  # Playwright keeps there what failed last
        shutil.rmtree(RESULTS / "e2e", ignore_errors=True)
    with e2e.run_platform(RESULTS, full="--full" in session.posargs) as platform:
        failed = e2e.run_stages(RESULTS, specs, last_failed, env | platform)
    if failed:
        session.error(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    sys.exit(f"run `nox` or `./culprit test`, not {shutil.which('python')} noxfile.py")
