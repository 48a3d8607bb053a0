"""deploy/kubernetes: the run launcher of its values is one that Dagster accepts, and no key stands in a file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from dagster._config import process_config, resolve_to_config_type

from megacpp_assets.defs.recording.recorded_run import CODE_LOCATION
from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
VALUES: dict[str, Any] = yaml.safe_load((FOLDER / "values.yaml").read_text())
MANIFESTS: list[dict[str, Any]] = list(yaml.safe_load_all((FOLDER / "manifests.yaml").read_text()))
(DEPLOYMENT,) = VALUES["dagster-user-deployments"]["deployments"]
LAUNCHER = VALUES["runLauncher"]["config"]["k8sRunLauncher"]


def _snake(text: str) -> str:
    """The key of Dagster's settings that the chart writes for a key of the values."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", text).lower()


def _accepted(kind: Any, config: dict[str, Any]) -> dict[str, Any]:
    result = process_config(resolve_to_config_type(kind.config_type()), config)
    assert result.success, result.errors
    return dict(result.value or {})


def _launcher_config() -> dict[str, Any]:
    from dagster_k8s import K8sRunLauncher  # not with this module, which every worker of the tests imports

    own = {_snake(key): value for key, value in LAUNCHER.items()}
    own["run_k8s_config"] = {_snake(key): value for key, value in own["run_k8s_config"].items()}
    chart = {"dagster_home": "/opt/dagster/dagster_home", "instance_config_map": "dagster-instance"}
    account = {"service_account_name": VALUES["serviceAccount"]["name"]}
    return _accepted(
        K8sRunLauncher, own | chart | account | {"postgres_password_secret": VALUES["global"]["postgresqlSecretName"]}
    )


def test_a_run_is_one_pod_of_the_account_without_a_key() -> None:
    from dagster_k8s.job import DagsterK8sJobConfig, UserDefinedDagsterK8sConfig, construct_dagster_k8s_job
    from kubernetes.client import ApiClient

    config = _launcher_config()
    allowed = {"job_image", "dagster_home", "image_pull_policy", "service_account_name", "instance_config_map"}
    job = construct_dagster_k8s_job(
        DagsterK8sJobConfig(
            **{key: value for key, value in config.items() if key in allowed}
            | {"job_image": "x", "postgres_password_secret": config["postgres_password_secret"]}
        ),
        ["dagster", "api", "execute_run"],
        "run",
        user_defined_k8s_config=UserDefinedDagsterK8sConfig.from_dict(
            {key: value for key, value in config["run_k8s_config"].items() if value}
        ),
    )
    pod = ApiClient().sanitize_for_serialization(job)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (pod["serviceAccountName"], pod["terminationGracePeriodSeconds"]) == ("megacpp", 120)
    assert container["resources"]["limits"] == {"memory": "32Gi"}
    (password,) = [each for each in container["env"] if each["name"] == "DAGSTER_PG_PASSWORD"]
    assert password["valueFrom"]["secretKeyRef"] == {"name": "megacpp-postgres", "key": "postgresql-password"}


def test_the_log_manager_is_one_that_dagster_accepts() -> None:
    from dagster_gcp.gcs import GCSComputeLogManager

    settings = VALUES["computeLogManager"]["config"]["gcsComputeLogManager"]
    assert "json_credentials_envvar" not in _accepted(GCSComputeLogManager, {_snake(k): v for k, v in settings.items()})


def test_every_part_has_the_same_image_and_the_name_under_which_commands_record_runs() -> None:
    images = [part["image"] for part in (VALUES["dagsterWebserver"], VALUES["dagsterDaemon"], DEPLOYMENT)]
    assert images[0] == images[1] == images[2]
    (server,) = VALUES["dagsterWebserver"]["workspace"]["servers"]
    assert server == {"name": CODE_LOCATION, "host": DEPLOYMENT["name"], "port": DEPLOYMENT["port"]}
    assert CODE_LOCATION in DEPLOYMENT["codeServerArgs"]
    assert {each["name"]: each["value"] for each in DEPLOYMENT["env"]}[DATA_ROOT_VARIABLE].startswith("gs://")


def test_no_key_and_no_password_is_in_a_file_and_nothing_is_open() -> None:
    text = "".join(path.read_text() for path in FOLDER.iterdir())
    assert not re.search(
        r"(?i)private_key|BEGIN |postgresqlPassword:|json_credentials|: *(Secret|LoadBalancer)\b", text
    )
    assert VALUES["ingress"] == {"enabled": False} and VALUES["dagsterWebserver"]["service"]["type"] == "ClusterIP"
    assert VALUES["generatePostgresqlPasswordSecret"] is False and VALUES["postgresql"]["enabled"] is False
    assert {VALUES["serviceAccount"]["name"], VALUES["dagster-user-deployments"]["serviceAccount"]["name"]} == {
        manifest["metadata"]["name"] for manifest in MANIFESTS if manifest["kind"] == "ServiceAccount"
    }


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: str(manifest["kind"]))
def test_each_manifest_has_only_keys_that_the_kubernetes_api_knows(manifest: dict[str, Any]) -> None:
    """The client drops an unknown key when it reads one."""
    from kubernetes.client import ApiClient

    client = ApiClient()
    read = client.deserialize(SimpleNamespace(data=json.dumps(manifest)), f"V1{manifest['kind']}")
    assert client.sanitize_for_serialization(read) == manifest
