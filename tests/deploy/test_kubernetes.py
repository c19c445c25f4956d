"""The Kubernetes base and its overlays agree with the image and with the service."""

from __future__ import annotations

import re
import shutil

import httpx
import pytest
import yaml
from conftest import run
from deployment import CONTAINER, DEPLOY, ENVIRONMENTS, KUBERNETES, MANIFEST, POD, argument_of

from axiscast_service.settings import Settings


def test_the_selectors_match_the_pods() -> None:
    labels = POD["metadata"]["labels"].items()
    selectors = [
        MANIFEST["Deployment"]["spec"]["selector"]["matchLabels"],
        MANIFEST["Service"]["spec"]["selector"],
        MANIFEST["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        *(spread["labelSelector"]["matchLabels"] for spread in POD["spec"]["topologySpreadConstraints"]),
    ]
    for selector in selectors:
        assert selector
        assert selector.items() <= labels


def test_the_probes_ask_what_the_service_answers(http: httpx.Client) -> None:
    probes = {name: CONTAINER[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startupProbe": "/livez",
        "livenessProbe": "/livez",
        "readinessProbe": "/readyz",
    }
    assert {http.get(probe["path"]).status_code for probe in probes.values()} == {200}
    assert {probe["port"] for probe in probes.values()} == {"http"}


def test_every_port_is_the_one_that_the_service_listens_on() -> None:
    (port,) = CONTAINER["ports"]
    assert port == {"name": "http", "containerPort": int(argument_of("EXPOSE"))}
    assert {port["targetPort"] for port in MANIFEST["Service"]["spec"]["ports"]} == {"http"}
    given = Settings.from_environment(ENVIRONMENTS["kubernetes"])
    assert given.port == port["containerPort"]


def test_kubernetes_does_not_set_the_services_own_variables() -> None:
    """A Service named axiscast would put AXISCAST_PORT=tcp://... into every pod."""
    assert POD["spec"]["enableServiceLinks"] is False


def test_the_pod_is_restricted() -> None:
    user, group = (int(number) for number in argument_of("USER").split(":"))
    assert POD["spec"]["automountServiceAccountToken"] is False
    assert POD["spec"]["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": user,
        "runAsGroup": group,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert CONTAINER["resources"]["limits"].keys() == {"memory"}
    assert CONTAINER["resources"]["requests"].keys() == {"cpu", "memory"}
    assert not {"hostNetwork", "hostPID", "hostIPC", "volumes"} & POD["spec"].keys()


def test_a_rolling_update_never_has_fewer_replicas() -> None:
    spec = MANIFEST["Deployment"]["spec"]
    assert spec["replicas"] >= 2
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


COMPONENTS = {
    path.parent.name: yaml.safe_load(path.read_text())
    for name in ("autoscaler", "policy")
    for path in sorted((KUBERNETES / "components").glob(f"*/{name}.yaml"))
}
OVERLAYS = {
    "hpa-cpu": {"HorizontalPodAutoscaler"},
    "hpa-custom": {"HorizontalPodAutoscaler"},
    "network-policy": {"NetworkPolicy"},
}


def test_every_component_has_an_overlay_of_the_base() -> None:
    assert COMPONENTS.keys() == OVERLAYS.keys()
    for name in OVERLAYS:
        overlay = yaml.safe_load((KUBERNETES / "overlays" / name / "kustomization.yaml").read_text())
        assert overlay == {"resources": ["../../base"], "components": [f"../../components/{name}"]}


@pytest.mark.parametrize("name", [name for name in COMPONENTS if name.startswith("hpa")])
def test_an_autoscaler_scales_the_deployment_and_never_below_its_replicas(name: str) -> None:
    spec, deployment = COMPONENTS[name]["spec"], MANIFEST["Deployment"]
    assert spec["scaleTargetRef"] == {
        "apiVersion": deployment["apiVersion"],
        "kind": deployment["kind"],
        "name": deployment["metadata"]["name"],
    }
    assert spec["minReplicas"] == deployment["spec"]["replicas"] < spec["maxReplicas"]
    cpu = next(metric["resource"] for metric in spec["metrics"] if metric["type"] == "Resource")
    assert cpu["name"] == "cpu"
    assert CONTAINER["resources"]["requests"]["cpu"] == "250m"
    assert cpu["target"]["averageUtilization"] * 250 / 100 < 1000, "a process has one core"


def test_the_autoscaler_asks_for_a_metric_that_the_adapter_gives() -> None:
    (metric,) = (metric["pods"] for metric in COMPONENTS["hpa-custom"]["spec"]["metrics"] if metric["type"] == "Pods")
    (rule,) = yaml.safe_load((DEPLOY / "prometheus" / "adapter.yaml").read_text())["rules"]
    assert rule["seriesQuery"].startswith(metric["metric"]["name"] + "{")
    (job,) = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yaml").read_text())["scrape_configs"]
    targets = {relabeled.get("target_label") for relabeled in job["relabel_configs"]}
    assert rule["resources"]["overrides"].keys() == {"namespace", "pod"} <= targets
    assert re.fullmatch(r"0?\.\d+|\d+m", metric["target"]["averageValue"])


def test_the_network_policy_lets_in_what_asks_the_services_port_and_nothing_out() -> None:
    spec = COMPONENTS["network-policy"]["spec"]
    assert spec["podSelector"]["matchLabels"].items() <= POD["metadata"]["labels"].items()
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["ingress"] == [{"ports": [{"port": CONTAINER["ports"][0]["name"], "protocol": "TCP"}]}]
    assert spec["egress"] == []


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("name", ["base", *OVERLAYS])
def test_kustomize_renders_it_and_the_schemas_admit_it(name: str) -> None:
    folder = KUBERNETES / ("base" if name == "base" else f"overlays/{name}")
    done = run(["kubectl", "kustomize", str(folder)])
    assert (done.returncode, done.stderr) == (0, "")
    rendered = {part["kind"]: part for part in yaml.safe_load_all(done.stdout)}
    assert rendered.keys() == MANIFEST.keys() | OVERLAYS.get(name, set())
    scaled = "HorizontalPodAutoscaler" in rendered
    assert ("replicas" in rendered["Deployment"]["spec"]) is not scaled, "each apply would undo what it scaled"
    assert rendered["Deployment"]["spec"]["template"] == POD
    schemas = pytest.importorskip("kubernetes_validate")
    for part in rendered.values():
        schemas.validate(part, schemas.latest_version(), strict=True)
