"""The Kubernetes base and its overlays agree with the image and with the service."""

from __future__ import annotations

import re
import shutil
from typing import Any

import httpx
import pytest
import yaml
from conftest import run
from deployment import CONTAINER, DEPLOY, ENVIRONMENTS, KUBERNETES, MANIFEST, POD, ROOT, argument_of

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


def test_pods_are_spread_over_nodes_and_zones_within_one_revision() -> None:
    """During a rollout, the pods of the old revision would otherwise count, and the new pods could share a node."""
    spreads = POD["spec"]["topologySpreadConstraints"]
    assert [spread["topologyKey"] for spread in spreads] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    for spread in spreads:
        assert spread["matchLabelKeys"] == ["pod-template-hash"]
        assert spread["whenUnsatisfiable"] == "ScheduleAnyway", "a cluster with one zone must run all pods"


def test_a_pod_never_uses_more_memory_than_it_requests() -> None:
    resources = CONTAINER["resources"]
    assert resources["requests"]["memory"] == resources["limits"]["memory"]


def test_a_pod_that_is_not_ready_does_not_block_the_drain_of_a_node() -> None:
    assert MANIFEST["PodDisruptionBudget"]["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


COMPONENTS = {
    path.parent.name: yaml.safe_load(path.read_text())
    for name in ("autoscaler", "ingress", "keys", "monitor", "policy")
    for path in sorted((KUBERNETES / "components").glob(f"*/{name}.yaml"))
}
OVERLAYS: dict[str, set[str]] = {
    "api-keys": set(),
    "hpa-cpu": {"HorizontalPodAutoscaler"},
    "hpa-custom": {"HorizontalPodAutoscaler"},
    "ingress": {"Ingress"},
    "network-policy": {"NetworkPolicy"},
    "pod-monitor": {"PodMonitor"},
}


PRODUCTION = {"HorizontalPodAutoscaler", "Ingress", "NetworkPolicy", "PodMonitor"}
"""The kinds that the overlay `production` adds to the base."""


def test_every_component_has_an_overlay_of_the_base() -> None:
    assert COMPONENTS.keys() == OVERLAYS.keys()
    assert {path.name for path in (KUBERNETES / "overlays").iterdir()} == {*OVERLAYS, "production"}
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


@pytest.mark.parametrize("name", [name for name in COMPONENTS if name.startswith("hpa")])
def test_the_operators_page_has_the_resources_at_the_ceiling(name: str) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    ceiling = COMPONENTS[name]["spec"]["maxReplicas"]
    assert f"Both overlays set `maxReplicas: {ceiling}`" in page
    found = re.search(
        r"request ([\d.]+) cores and (\d+) GiB of memory.*about 10 cores and (\d+) GiB", " ".join(page.split())
    )
    assert found is not None
    resources = CONTAINER["resources"]
    assert [float(amount) for amount in found.groups()] == [
        ceiling * int(resources["requests"]["cpu"].removesuffix("m")) / 1000,
        ceiling * int(resources["requests"]["memory"].removesuffix("Mi")) / 1024,
        ceiling * int(resources["limits"]["memory"].removesuffix("Mi")) / 1024,
    ]


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
    (rule,) = spec["ingress"]
    assert rule["ports"] == [{"port": CONTAINER["ports"][0]["name"], "protocol": "TCP"}]
    labels = {"matchLabels": {"axiscast-client": "true"}}
    assert rule["from"] == [{"podSelector": labels}, {"namespaceSelector": labels}]
    assert spec["egress"] == []


def test_the_pod_monitor_reads_the_metrics_of_the_pods_under_the_job_of_the_alerts(http: httpx.Client) -> None:
    spec, labels = COMPONENTS["pod-monitor"]["spec"], POD["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    (endpoint,) = spec["podMetricsEndpoints"]
    assert endpoint["port"] == CONTAINER["ports"][0]["name"]
    assert http.get(endpoint["path"]).status_code == 200
    (job,) = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yaml").read_text())["scrape_configs"]
    assert labels[spec["jobLabel"]] == job["job_name"]


def test_the_ingress_forwards_the_page_and_the_api_and_nothing_for_operators(http: httpx.Client) -> None:
    (rule,) = COMPONENTS["ingress"]["spec"]["rules"]
    paths = rule["http"]["paths"]
    (port,) = MANIFEST["Service"]["spec"]["ports"]
    backend = {"service": {"name": MANIFEST["Service"]["metadata"]["name"], "port": {"name": port["name"]}}}
    assert [path["backend"] for path in paths] == [backend] * len(paths)

    def forwarded(url: str) -> bool:
        return any(
            url == path["path"] or (path["pathType"] == "Prefix" and url.startswith(path["path"])) for path in paths
        )

    page = http.get("/")
    files = re.findall(r'(?:href|src)="(static/[^"]+)"', page.text)
    assert files
    assert all(forwarded(f"/{file}") for file in files)
    api = [path for path in http.get("/openapi.json").json()["paths"] if path.startswith("/v1/")]
    assert api
    assert all(map(forwarded, ["/", *api]))
    assert not any(map(forwarded, ["/metrics", "/livez", "/readyz", "/docs", "/ops", "/openapi.json"]))


def test_the_ingress_treats_requests_as_the_shipped_nginx_does() -> None:
    configuration = (DEPLOY / "proxies" / "nginx.conf").read_text()
    names = {"proxy-body-size": "client_max_body_size", "proxy-connect-timeout": "proxy_connect_timeout"}
    annotations = COMPONENTS["ingress"]["metadata"]["annotations"]
    assert len(annotations) == 6
    for key, value in annotations.items():
        name = key.removeprefix("nginx.ingress.kubernetes.io/")
        directive = names.get(name, name.replace("-", "_"))
        (shown,) = re.findall(rf"(?m)^\s*{directive}\s+([^;]+);", configuration)
        assert shown.removesuffix("s" if name == "proxy-connect-timeout" else "") == value
    assert annotations["nginx.ingress.kubernetes.io/proxy-body-size"] == f"{Settings().max_body_bytes // 2**20}m"


def test_the_keys_component_mounts_the_keys_file_of_the_setting_for_the_user_of_the_image() -> None:
    pod = COMPONENTS["api-keys"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["name"] == CONTAINER["name"]
    given = Settings.from_environment({one["name"]: one["value"] for one in container["env"]})
    (mount,), (volume,) = container["volumeMounts"], pod["volumes"]
    (item,) = volume["secret"]["items"]
    assert given.api_keys_file == f"{mount['mountPath']}/{item['path']}"
    assert (mount["name"], mount["readOnly"]) == (volume["name"], True)
    assert pod["securityContext"]["fsGroup"] == POD["spec"]["securityContext"]["runAsGroup"]
    assert volume["secret"]["defaultMode"] == 0o440


def rendered_overlay(name: str) -> dict[str, dict[str, Any]]:
    """Return the manifests that kubectl renders, by their kinds."""
    done = run(["kubectl", "kustomize", str(KUBERNETES / name)])
    assert (done.returncode, done.stderr) == (0, "")
    return {part["kind"]: part for part in yaml.safe_load_all(done.stdout)}


def validate(rendered: dict[str, dict[str, Any]]) -> None:
    """Validate manifests with the schemas of Kubernetes."""
    schemas = pytest.importorskip("kubernetes_validate")
    own_kinds = rendered.keys() - {"PodMonitor"}  # the Prometheus Operator defines it, not Kubernetes
    for part in (rendered[kind] for kind in own_kinds):
        schemas.validate(part, schemas.latest_version(), strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("name", ["api-keys", "production"])
def test_the_overlays_with_keys_require_keys_and_keep_the_restrictions(name: str) -> None:
    rendered = rendered_overlay(f"overlays/{name}")
    pod = rendered["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {one["name"] for one in container["env"]} == {*ENVIRONMENTS["kubernetes"], "AXISCAST_API_KEYS_FILE"}
    assert container["securityContext"] == CONTAINER["securityContext"]
    assert pod["securityContext"] == {**POD["spec"]["securityContext"], "fsGroup": 10001}
    if name == "production":
        assert rendered.keys() == MANIFEST.keys() | PRODUCTION
        assert "replicas" not in rendered["Deployment"]["spec"]
        assert container["image"] == "registry.example.org/axiscast:0.1.0"
        (endpoint,) = rendered["PodMonitor"]["spec"]["podMetricsEndpoints"]
        assert endpoint["authorization"] == {"credentials": {"name": "axiscast-keys", "key": "prometheus"}}
        assert endpoint["authorization"]["credentials"]["name"] == pod["volumes"][0]["secret"]["secretName"]
    validate(rendered)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("name", ["base", *(name for name in OVERLAYS if name != "api-keys")])
def test_kustomize_renders_it_and_the_schemas_admit_it(name: str) -> None:
    rendered = rendered_overlay("base" if name == "base" else f"overlays/{name}")
    assert rendered.keys() == MANIFEST.keys() | OVERLAYS.get(name, set())
    scaled = "HorizontalPodAutoscaler" in rendered
    assert ("replicas" in rendered["Deployment"]["spec"]) is not scaled, "each apply would undo what it scaled"
    assert rendered["Deployment"]["spec"]["template"] == POD
    validate(rendered)
