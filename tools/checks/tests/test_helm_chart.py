"""The rules for the Helm chart find what they are for, and the chart agrees with the compose file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from culprit.infra.settings import Settings
from culprit.launcher.paths import ROOT

from tools.checks.containers import go_tools, helm_chart
from tools.checks.containers.base_images import ContainerError

HELM = go_tools.find_program("helm")
needs_helm = pytest.mark.skipif(HELM is None, reason="./culprit test --only containers builds helm")


@pytest.fixture(scope="module")
def documents() -> list[dict[str, Any]]:
    assert HELM is not None
    return list(yaml.safe_load_all(helm_chart.render_chart(HELM, helm_chart.VARIANTS["everything"])))


def find_document(documents: list[dict[str, Any]], kind: str, suffix: str) -> dict[str, Any]:
    (document,) = (
        item for item in documents if item["kind"] == kind and item["metadata"]["name"].endswith(suffix)
    )
    return document


@needs_helm
@pytest.mark.parametrize("role", helm_chart.ROLES)
def test_commands_are_those_of_the_compose_file(documents: list[dict[str, Any]], role: str) -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]
    expected = ["" if str(part).startswith("${") else str(part) for part in services[role]["command"]]
    (container,) = find_document(documents, "Deployment", f"-{role}")["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["command"] == expected
    if role != "api":
        assert container["livenessProbe"]["exec"]["command"][2] == services[role]["healthcheck"]["test"][1]


@needs_helm
def test_variables_are_settings(documents: list[dict[str, Any]]) -> None:
    known = {str(field.validation_alias) for field in Settings.model_fields.values()}
    variables = set(find_document(documents, "ConfigMap", "-settings")["data"])
    variables |= set(find_document(documents, "Secret", "-secrets")["stringData"])
    assert variables <= known and "CULPRIT_FILE_CHECK_HOURS" in variables


@needs_helm
def test_policies_select_the_pods(documents: list[dict[str, Any]]) -> None:
    pods = [
        item["spec"]["template"]["metadata"]["labels"] for item in documents if item["kind"] == "Deployment"
    ]
    for item in documents:
        if item["kind"] in {"PodDisruptionBudget", "NetworkPolicy"}:
            selector = item["spec"].get("selector") or item["spec"]["podSelector"]
            selected = selector["matchLabels"].items()
            assert [labels for labels in pods if selected <= labels.items()], item["metadata"]["name"]
    service = find_document(documents, "Service", "culprit")["spec"]["selector"]
    assert [labels for labels in pods if service.items() <= labels.items()] == [pods[0]]


@needs_helm
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "secrets.databaseUrl"),
        ({"secrets": helm_chart.SECRETS, "publicUrl": "culprit.example.org"}, "publicUrl"),
        ({"secrets": helm_chart.SECRETS, "image": {"tag": "latest"}}, "tag"),
    ],
)
def test_values_that_cannot_work_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ContainerError, match=message):
        helm_chart.render_chart(Path(str(HELM)), values)


@needs_helm
@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("runAsUser: 10001", "runAsUser: 0", "does not run as user 10001"),
        ("readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "its file system is writable"),
        ("capabilities: {drop: [ALL]}", "capabilities: {}", "may gain privileges"),
        ("type: RuntimeDefault", "type: Unconfined", "has no seccomp profile"),
        ("livenessProbe:", "otherProbe:", "has no livenessProbe"),
        ("automountServiceAccountToken: false", "automountServiceAccountToken: true", "gets a token"),
        ("name: culprit-scheduler", "name: culprit-other", "scheduler: the deployment is missing"),
        ("memory: 1Gi", "other: 1Gi", "has no limit of memory"),
    ],
)
def test_chart_rules_find_a_fault(before: str, after: str, fault: str) -> None:
    manifests = helm_chart.render_chart(Path(str(HELM)), helm_chart.VARIANTS["secrets in values"])
    assert helm_chart.find_chart_violations(manifests) == []
    assert before in manifests
    assert any(fault in line for line in helm_chart.find_chart_violations(manifests.replace(before, after)))


@needs_helm
def test_schema_refuses_a_field_that_does_not_exist() -> None:
    kubeconform = go_tools.find_program("kubeconform")
    if kubeconform is None:
        pytest.skip("./culprit test --only containers builds kubeconform")
    manifests = helm_chart.render_chart(Path(str(HELM)), helm_chart.VARIANTS["secrets in values"])
    schemas = helm_chart.ensure_schemas()
    helm_chart.validate_manifests(kubeconform, schemas, manifests, "1.31.0")
    with pytest.raises(ContainerError, match="readOnlyRootFS"):
        wrong = manifests.replace("readOnlyRootFilesystem", "readOnlyRootFS")
        helm_chart.validate_manifests(kubeconform, schemas, wrong, "1.31.0")
