"""Check the Helm chart: rendered with helm, compared with the schemas of Kubernetes and with the project's rules."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from culprit.launcher.install import fetch_uv, locked_packages
from culprit.launcher.paths import PYTHON, ROOT
from culprit.launcher.progress import Progress

from tools.checks.containers import go_tools
from tools.checks.containers.base_images import ContainerError

CHART = ROOT / "examples" / "helm" / "culprit"
#: Oldest and newest Kubernetes whose schemas are compared.
VERSIONS = ("1.27.0", "1.31.0", "1.37.0")
#: A package of PyPI that contains the schemas, so that no network of Kubernetes is needed.
SCHEMAS = "kubernetes-validate==1.37.0"
SCHEMAS_SHA256 = "85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9"
SECRETS = {
    "databaseUrl": "postgresql://culprit:password@postgres:5432/culprit",
    "redisUrl": "redis://:password@redis:6379/0",
    "secretKey": "not a key",
    "s3AccessKeyId": "culprit",
    "s3SecretAccessKey": "not a key",
}
ROLES = ("api", "worker-ssh", "worker-parse", "scheduler")
#: Values of the variants that are rendered.
VARIANTS: dict[str, dict[str, Any]] = {
    "secrets in values": {"secrets": SECRETS},
    "everything": {
        "secrets": SECRETS,
        "ingress": {"enabled": True, "className": "nginx", "annotations": {"a.example.org/b": "c"}},
        "s3": {"endpoint": "http://minio:9000"},
        "settings": {"CULPRIT_FILE_CHECK_HOURS": 48},
        "networkPolicy": {"from": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]},
        "image": {"pullSecrets": [{"name": "registry"}]},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
    },
    "one of each": {
        "existingSecret": "culprit",
        "networkPolicy": {"enabled": False},
        **{name: {"replicas": 1} for name in ("api", "workerSsh", "workerParse", "scheduler")},
    },
}


def ensure_schemas() -> Path:
    """Return the folder with the schemas of Kubernetes, fetched once per machine. Raises LauncherError."""
    folder = go_tools.get_cache().with_name("kubernetes-schemas") / SCHEMAS.partition("==")[2]
    if folder.is_dir():
        return folder
    progress = Progress()
    uv = locked_packages.ensure_uv(progress)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        place = Path(name)
        (place / "requirements.txt").write_text(f"{SCHEMAS} --hash=sha256:{SCHEMAS_SHA256}\n", "ascii")
        command = [
            str(uv),
            "pip",
            "install",
            "--quiet",
            "--python",
            str(PYTHON),
            "--no-deps",
            "--require-hashes",
        ]
        command += ["--target", str(place / "package"), "--requirement", str(place / "requirements.txt")]
        command += ["--default-index", fetch_uv.get_index_url(os.environ)]
        environment = locked_packages.build_tool_environment(os.environ)
        locked_packages.run_command(command, environment, "uv pip install")
        schemas = place / "package" / "kubernetes_validate" / "kubernetes-json-schema"
        chosen = place / "schemas"
        chosen.mkdir()
        for version in VERSIONS:
            shutil.move(schemas / f"v{version}-local-strict", chosen / f"v{version}")
            _point_to_files(chosen / f"v{version}", folder / f"v{version}")
        chosen.rename(folder)
    return folder


def _point_to_files(folder: Path, final: Path) -> None:
    """Let references to common definitions name the file in the `final` folder instead of an address."""
    for path in folder.glob("*.json"):
        text = path.read_text("utf-8")
        path.write_text(
            text.replace('"/api/_definitions.json#', f'"{final.as_uri()}/_definitions.json#'), "utf-8"
        )


def render_chart(helm: Path, values: dict[str, Any], version: str = VERSIONS[-1]) -> str:
    """Return the manifests for these values. Raises ContainerError with the message of helm."""
    command = [str(helm), "template", "culprit", str(CHART), "--kube-version", version, "--values", "-"]
    done = subprocess.run(
        command, input=yaml.safe_dump(values), capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode != 0:
        raise ContainerError(f"helm template failed:\n{done.stderr.strip()[-2000:]}")
    return done.stdout


def lint_chart(helm: Path) -> None:
    """Lint the chart with the values of the first variant. Raises ContainerError."""
    command = [str(helm), "lint", "--strict", str(CHART), "--kube-version", VERSIONS[-1], "--values", "-"]
    values = yaml.safe_dump(VARIANTS["secrets in values"])
    done = subprocess.run(command, input=values, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise ContainerError(f"helm lint failed:\n{(done.stdout + done.stderr).strip()[-2000:]}")


def validate_manifests(kubeconform: Path, schemas: Path, manifests: str, version: str) -> None:
    """Compare manifests with the schemas of one version of Kubernetes. Raises ContainerError."""
    location = f"{schemas}/v{version}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
    command = [str(kubeconform), "-strict", "-summary", "-schema-location", location, "-"]
    done = subprocess.run(command, input=manifests, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise ContainerError(
            f"Kubernetes {version} refuses the chart:\n{done.stdout[-3000:]}{done.stderr[-500:]}"
        )


def ensure_programs() -> tuple[Path, Path] | None:
    """Return helm and kubeconform, built if necessary; None where Go is missing or too old."""
    helm, kubeconform = go_tools.ensure_program("helm"), go_tools.ensure_program("kubeconform")
    return (helm, kubeconform) if helm and kubeconform else None


def check_chart(helm: Path, kubeconform: Path) -> list[str]:
    """Check every variant; return one line per violated rule.

    Raises ContainerError where helm or a schema refuses the chart.
    """
    lint_chart(helm)
    schemas = ensure_schemas()
    problems = []
    for name, values in VARIANTS.items():
        for version in VERSIONS:
            manifests = render_chart(helm, values, version)
            validate_manifests(kubeconform, schemas, manifests, version)
        problems += [f"{name}: {fault}" for fault in find_chart_violations(manifests)]
    return problems


def find_chart_violations(manifests: str) -> list[str]:
    """Return one sentence per violated rule in rendered manifests."""
    documents = [item for item in yaml.safe_load_all(manifests) if item]
    pods = {
        item["metadata"]["name"]: item["spec"]["template"]["spec"]
        for item in documents
        if item["kind"] in {"Deployment", "Job"}
    }
    missing = [role for role in ROLES if not any(name.endswith(f"-{role}") for name in pods)]
    problems = [f"{role}: the deployment is missing" for role in missing]
    problems += [] if any("-migrate-" in name for name in pods) else ["the job of the migrations is missing"]
    for name, pod in pods.items():
        problems += [f"{name}: {fault}" for fault in find_pod_faults(pod)]
        if "-migrate-" not in name:
            problems += [f"{name}: has no {kind}" for kind in _list_missing_probes(name, pod)]
    return problems


def find_pod_faults(pod: dict[str, Any]) -> Iterator[str]:
    """Yield the violations of one pod."""
    security = pod.get("securityContext", {})
    if security.get("runAsUser") != 10001 or security.get("runAsNonRoot") is not True:
        yield "does not run as user 10001"
    if security.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "has no seccomp profile"
    if pod.get("automountServiceAccountToken") is not False:
        yield "gets a token of the API server"
    if pod.get("hostNetwork") or pod.get("hostPID"):
        yield "reaches into the node"
    for container in pod["containers"]:
        inner = container.get("securityContext", {})
        if inner.get("readOnlyRootFilesystem") is not True:
            yield "its file system is writable"
        if inner.get("allowPrivilegeEscalation") is not False or inner.get("capabilities") != {
            "drop": ["ALL"]
        }:
            yield "may gain privileges"
        resources = container.get("resources", {})
        if "memory" not in resources.get("limits", {}) or "cpu" not in resources.get("requests", {}):
            yield "has no limit of memory, or requests no CPU"
        if not {"/tmp", "/var/lib/culprit"} <= {mount["mountPath"] for mount in container["volumeMounts"]}:  # noqa: S108
            yield "has no writable directory for temporary files or for its home"
        if str(container["image"]).endswith(":latest"):
            yield "its image has no version"


def _list_missing_probes(name: str, pod: dict[str, Any]) -> Sequence[str]:
    probes = ["startupProbe", "livenessProbe", *(["readinessProbe"] if name.endswith("-api") else [])]
    return [probe for probe in probes for container in pod["containers"] if probe not in container]
