"""The files that deploy the service agree with each other and with the service."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from conftest import PATIENCE, Served, free_port, run, served, started, unhurried, wait_for
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tensorcast.schema.problems import STATUS
from tensorcast_service.settings import PREFIX, Settings, variable_of
from tensorcast_service.web.drain import LEAVE_SECONDS

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["tensorcast"]
KUBERNETES = DEPLOY / "kubernetes"
MANIFEST = {part["kind"]: part for part in yaml.safe_load_all((KUBERNETES / "base/tensorcast.yaml").read_text())}
POD = MANIFEST["Deployment"]["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile and their arguments, comments and line breaks aside."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    split = (line.split(maxsplit=1) for line in joined.splitlines() if line.strip())
    return [(name, " ".join(rest.split())) for name, rest in split]


DOCKERFILE = instructions((ROOT / "Dockerfile").read_text())
LAST_STAGE = DOCKERFILE[max(i for i, (name, _) in enumerate(DOCKERFILE) if name == "FROM") :]


def said(name: str) -> str:
    """What the last stage of the Dockerfile says with the one instruction of this name."""
    (argument,) = (argument for given, argument in LAST_STAGE if given == name)
    return argument


def image_environment() -> dict[str, str]:
    pairs = [pair for name, argument in LAST_STAGE if name == "ENV" for pair in argument.split()]
    return dict(pair.split("=", 1) for pair in pairs)


def healthcheck_command() -> list[str]:
    command: list[str] = json.loads(said("HEALTHCHECK").partition(" CMD ")[2])
    return command


ENVIRONMENTS: dict[str, Mapping[str, str]] = {
    "Dockerfile": image_environment(),
    "compose.yaml": COMPOSE["environment"],
    "kubernetes": {variable["name"]: variable["value"] for variable in CONTAINER["env"]},
}


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_the_service_knows_every_setting_that_a_file_makes(environment: Mapping[str, str]) -> None:
    given = {name for name in environment if name.startswith(PREFIX)}
    assert given
    assert given <= {variable_of(name) for name in Settings.__dataclass_fields__}
    Settings.from_environment(environment)  # raises for a value that the service would refuse


# --- the image ---


def test_the_image_runs_as_a_numbered_user_and_stops_on_sigterm() -> None:
    assert said("USER") == "10001:10001"
    assert said("STOPSIGNAL") == "SIGTERM"
    assert json.loads(said("ENTRYPOINT")) == ["tensorcast"]
    assert json.loads(said("CMD")) == ["serve"]


def test_the_image_listens_where_it_says() -> None:
    settings = Settings.from_environment(image_environment())
    assert settings.host == "0.0.0.0"
    assert said("EXPOSE") == str(settings.port)


def test_the_base_image_is_a_choice_and_has_a_python_that_the_project_supports() -> None:
    assert DOCKERFILE[0][0] == "ARG"
    name, _, base = DOCKERFILE[0][1].partition("=")
    assert [argument.split()[0] for given, argument in DOCKERFILE if given == "FROM"] == [f"${{{name}}}"] * 2
    version = re.fullmatch(r"python:(\d+\.\d+)-slim-\w+", base)
    assert version
    assert Version(version[1]) in Requirement(f"python{PROJECT['project']['requires-python']}").specifier


def test_what_the_build_copies_is_there_and_is_let_through() -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line.removeprefix("!") for line in ignore if line.startswith("!")}
    copies = [argument.split()[:-1] for name, argument in DOCKERFILE if name == "COPY" and "--from" not in argument]
    copied = {source for sources in copies for source in sources}
    assert "*" in ignore
    assert copied == allowed
    assert all((ROOT / source).exists() for source in copied)


def test_no_package_index_and_no_certificate_is_named_in_the_dockerfile() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert "://" not in text
    assert not re.search(r"--(index-url|extra-index-url|trusted-host|find-links|cert)\b|PIP_(INDEX|CERT|TRUSTED)", text)


# --- the health check ---


def run_healthcheck(**environment: str) -> subprocess.CompletedProcess[str]:
    program, *options, script = healthcheck_command()
    assert (program, script) == ("python", "/opt/tensorcast/healthcheck.py")
    command = [sys.executable, *options, str(DEPLOY / "healthcheck.py")]
    return run(command, env=os.environ | environment)


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", ""])
def test_the_health_check_finds_the_service(service: Served, host: str) -> None:
    port = service.url.rpartition(":")[2]

    def ask(seconds: float) -> None:
        ran = run_healthcheck(TENSORCAST_HOST=host, TENSORCAST_PORT=port)
        assert (ran.returncode, ran.stderr) == (0, "")

    unhurried(ask, 2)  # of its own it gives up after 2 s


def test_the_health_check_fails_where_nothing_listens() -> None:
    ran = run_healthcheck(TENSORCAST_HOST="127.0.0.1", TENSORCAST_PORT=str(free_port()))
    assert ran.returncode == 1
    assert "no answer from 127.0.0.1" in ran.stderr


# --- the locks ---


def locked(path: Path) -> Iterator[tuple[Requirement, list[str]]]:
    """Each requirement of a lock, with its hashes."""
    text = re.sub(r"(?m)^\s*#.*\n?", "", path.read_text()).replace("\\\n", " ")
    for line in filter(str.strip, text.splitlines()):
        requirement, *hashes = line.split("--hash=")
        yield Requirement(requirement.strip()), [value.strip() for value in hashes]


EXTRAS = PROJECT["project"]["optional-dependencies"]
LOCKS = {
    "requirements.txt": PROJECT["project"]["dependencies"] + EXTRAS["service"] + EXTRAS["metrics"] + EXTRAS["otel"],
    "requirements-build.txt": PROJECT["build-system"]["requires"],
}


@pytest.mark.parametrize(("name", "wanted"), LOCKS.items(), ids=LOCKS)
def test_a_lock_has_a_hash_for_everything_that_the_project_wants(name: str, wanted: list[str]) -> None:
    versions = {}
    for requirement, hashes in locked(DEPLOY / name):
        assert hashes, f"{requirement} has no hash"
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", value) for value in hashes), requirement
        (pin,) = requirement.specifier
        assert pin.operator == "==", requirement
        versions[canonicalize_name(requirement.name)] = pin.version
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)], prereleases=True)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_place(name: str) -> None:
    text = (DEPLOY / name).read_text()
    assert "://" not in text
    assert not re.search(r"--(index-url|extra-index-url|find-links|trusted-host)(?: |=)\S*/", text)
    assert not re.search(r"(?m)(^|\s|=)/\w", text), "an absolute path"


# --- Kubernetes ---


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
    assert port == {"name": "http", "containerPort": int(said("EXPOSE"))}
    assert {port["targetPort"] for port in MANIFEST["Service"]["spec"]["ports"]} == {"http"}
    given = Settings.from_environment(ENVIRONMENTS["kubernetes"])
    assert given.port == port["containerPort"]


def test_kubernetes_does_not_set_the_services_own_variables() -> None:
    """A Service named tensorcast would put TENSORCAST_PORT=tcp://... into every pod."""
    assert POD["spec"]["enableServiceLinks"] is False


def test_the_pod_is_restricted() -> None:
    user, group = (int(number) for number in said("USER").split(":"))
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


# --- time to stop ---


@pytest.mark.parametrize(
    ("file", "grace"),
    [
        ("kubernetes", POD["spec"]["terminationGracePeriodSeconds"]),
        ("compose.yaml", int(COMPOSE["stop_grace_period"].removesuffix("s"))),
    ],
)
def test_there_is_time_to_drain_and_to_finish(file: str, grace: int) -> None:
    settings = Settings.from_environment(ENVIRONMENTS[file])
    assert settings.drain_seconds + settings.finish_seconds + LEAVE_SECONDS < grace
    assert settings.finish_seconds > Settings.finish_seconds, "as much of the grace period as there is"


def test_a_pod_is_not_ready_before_its_drain_ends() -> None:
    readiness: dict[str, Any] = CONTAINER["readinessProbe"]
    drain = Settings.from_environment(ENVIRONMENTS["kubernetes"]).drain_seconds
    assert readiness["periodSeconds"] * readiness["failureThreshold"] <= drain


# --- Prometheus ---

PROMETHEUS = DEPLOY / "prometheus"
ALERTS = [
    rule for group in yaml.safe_load((PROMETHEUS / "alerts.yaml").read_text())["groups"] for rule in group["rules"]
]


def test_prometheus_finds_the_pods_by_what_they_bear(http: httpx.Client) -> None:
    (job,) = yaml.safe_load((PROMETHEUS / "prometheus.yaml").read_text())["scrape_configs"]
    read = {label for rule in job["relabel_configs"] for label in rule["source_labels"]}
    borne = {
        "__meta_kubernetes_pod_" + re.sub(r"\W", "_", f"{kind}_{name}")
        for kind in ("label", "annotation")
        for name in POD["metadata"][f"{kind}s"]
    }
    assert borne < read
    assert all(f'job="{job["job_name"]}"' in rule["expr"] for rule in ALERTS)
    annotations = POD["metadata"]["annotations"]
    assert int(annotations["prometheus.io/port"]) == CONTAINER["ports"][0]["containerPort"]
    assert http.get(annotations["prometheus.io/path"]).status_code == 200


def test_alerts_ask_for_metrics_that_the_service_has() -> None:
    pytest.importorskip("prometheus_client")
    from tensorcast_service.web.metrics import Metrics

    metrics = Metrics()
    metrics.watch_memory(lambda: 0, 1)
    metrics.began("GET")
    metrics.ended("GET", "/v1/check", 200, 0.1)
    given = set(re.findall(r"(?m)^(\w+)", metrics.exposition().decode()))
    wanted = set(re.findall(r"\b(?:http_server|tensorcast)_\w+(?={)", " ".join(rule["expr"] for rule in ALERTS)))
    assert len(wanted) == 5
    assert wanted <= given
    codes = set(re.findall(r'code="([a-z-]+)"', " ".join(rule["expr"] for rule in ALERTS)))
    assert codes <= set(STATUS)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_each_alert_fires_when_it_should_and_not_before() -> None:
    tested = re.findall(r"alertname: (\w+)", (PROMETHEUS / "alerts_test.yaml").read_text())
    assert {rule["alert"] for rule in ALERTS} == set(tested)
    command = ["promtool", "test", "rules", "alerts_test.yaml"]
    done = run(command, cwd=PROMETHEUS)
    assert (done.returncode, "SUCCESS" in done.stdout) == (0, True), done.stdout + done.stderr


def test_the_operators_page_says_what_to_do_about_each_alert() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    rows = re.findall(r"(?m)^\| (Tensorcast\w+) \| \w", page)
    assert rows == [rule["alert"] for rule in ALERTS]


# --- Grafana ---

DASHBOARD = json.loads((DEPLOY / "grafana" / "tensorcast.json").read_text())


@contextmanager
def prometheus_of(service: Served, folder: Path) -> Iterator[httpx.Client]:
    """A real Prometheus that asks the service each second."""
    (job,) = yaml.safe_load((PROMETHEUS / "prometheus.yaml").read_text())["scrape_configs"]
    targets = [{"targets": [f"127.0.0.1:{service.port}"]}]
    scraped = {"job_name": job["job_name"], "scrape_interval": "1s", "static_configs": targets}
    (folder / "prometheus.yaml").write_text(yaml.safe_dump({"scrape_configs": [scraped]}))
    address = f"127.0.0.1:{free_port()}"
    options = ["--config.file=prometheus.yaml", "--storage.tsdb.path=data", f"--web.listen-address={address}"]
    with (
        started(["prometheus", *options], cwd=folder, stderr=subprocess.DEVNULL),
        httpx.Client(base_url=f"http://{address}", timeout=PATIENCE) as client,
    ):
        yield client


def test_a_panel_says_what_it_shows_and_stands_alone() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places) == 10
    for panel in DASHBOARD["panels"]:
        assert panel["description"].endswith(".")
        assert panel["targets"]
        assert panel["fieldConfig"]["defaults"]["unit"]


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")
def test_a_real_prometheus_answers_each_query_of_the_dashboard(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    queries = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    with served() as service, prometheus_of(service, tmp_path) as prometheus:

        def values(query: str) -> list[float]:
            httpx.get(f"{service.url}/v1/check?input=3&input=1")
            httpx.get(f"{service.url}/v1/nothing")  # a problem, and a connection that is refused
            with socket.create_connection(("127.0.0.1", service.port)) as connection:
                connection.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
                connection.recv(100)
            with suppress(httpx.TransportError):
                answer = prometheus.get("/api/v1/query", params={"query": query.replace("$__rate_interval", "1m")})
                assert answer.status_code == 200, answer.text
                return [float(series["value"][1]) for series in answer.json()["data"]["result"]]
            return []  # it has not begun to listen

        for query in queries:
            assert wait_for(lambda query=query: any(value >= 0 for value in values(query))), query  # NaN is neither
        assert values('up{job="tensorcast"}') == [1]


# --- proxies ---

PROXIES = {path.stem: path.read_text() for path in (DEPLOY / "proxies").iterdir()}


def directives(proxy: str, name: str) -> list[str]:
    """What the proxy's file says with the directives of this name."""
    return re.findall(rf"(?m)^\s*{name}\s+([^#;\n]*[^#;\s])", PROXIES[proxy])


class Backend(ThreadingHTTPServer):
    """A service that says whether it is ready only after so many seconds, and is busy for who asks for /busy."""

    daemon_threads = True

    def __init__(self, seconds: float = 0) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path == "/readyz":
                    time.sleep(seconds)
                self.send_response(503 if self.path == "/busy" else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


@contextmanager
def proxied(proxy: str, folder: Path, backends: list[int]) -> Iterator[httpx.Client]:
    """A client of the proxy with its file's configuration, in front of these ports."""
    if shutil.which(proxy) is None:
        pytest.skip(f"{proxy} is not installed")
    front, text = free_port(), PROXIES[proxy]
    for shown, ours in zip((8080, 8001, 8002), (front, *backends), strict=True):
        text = text.replace(f":{shown}", f":{ours}")
    configuration = folder / "proxy.conf"
    configuration.write_text(text)
    command = {
        "nginx": ["nginx", "-p", str(folder), "-c", str(configuration), "-g", "daemon off; pid nginx.pid;"],
        "haproxy": ["haproxy", "-db", "-f", str(configuration)],
    }[proxy]
    with (
        started(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL),
        httpx.Client(base_url=f"http://127.0.0.1:{front}", timeout=PATIENCE) as client,
    ):

        def answers() -> bool:
            with suppress(httpx.TransportError):
                return client.get("/livez").status_code > 0
            return False

        assert wait_for(answers)
        yield client


def test_no_proxy_takes_a_busy_service_for_a_dead_one() -> None:
    assert directives("nginx", r"server 127\.0\.0\.1:\d+") == ["max_fails=0"] * 2
    assert directives("nginx", "proxy_connect_timeout") == ["1s"]
    assert directives("haproxy", "timeout check") == ["3s"]
    assert directives("haproxy", "default-server") == ["check inter 500ms fall 2 rise 1"]
    assert directives("haproxy", "balance") == ["leastconn"]


def test_every_proxy_sends_a_request_that_was_refused_for_now_to_the_other_service() -> None:
    assert "http_503" in directives("nginx", "proxy_next_upstream")[0].split()
    assert "non_idempotent" in directives("nginx", "proxy_next_upstream")[0].split()
    assert "503" in directives("haproxy", "retry-on")[0].split()
    assert directives("haproxy", "option redispatch") == ["1"]


@pytest.mark.parametrize("proxy", PROXIES)
def test_an_honest_503_of_both_services_harms_nobody_else(proxy: str, tmp_path: Path) -> None:
    with Backend() as one, Backend() as other, proxied(proxy, tmp_path, [one.server_port, other.server_port]) as client:
        assert [client.get("/busy").status_code for _ in range(4)] == [503] * 4
        assert {client.get("/v1/ops").status_code for _ in range(20)} == {200}


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_service_that_is_slow_to_say_so_is_ready_all_the_same(proxy: str, tmp_path: Path) -> None:
    with (
        Backend(1) as one,
        Backend(1) as other,
        proxied(proxy, tmp_path, [one.server_port, other.server_port]) as client,
    ):
        end = time.monotonic() + 4  # several checks of each
        codes = set()
        while time.monotonic() < end:
            codes.add(client.get("/v1/ops").status_code)
            time.sleep(0.05)
    assert codes == {200}


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_service_that_is_gone_costs_nobody_an_answer(proxy: str, tmp_path: Path) -> None:
    with Backend() as one, proxied(proxy, tmp_path, [one.server_port, free_port()]) as client:
        assert {client.get("/v1/ops").status_code for _ in range(20)} == {200}


# --- Compose ---


def test_the_composed_container_is_confined() -> None:
    assert COMPOSE["user"] == said("USER")
    assert COMPOSE["read_only"] is True
    assert COMPOSE["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in COMPOSE["security_opt"]
    assert COMPOSE["mem_limit"]
    assert COMPOSE["pids_limit"]
    assert not {"privileged", "cap_add", "volumes", "network_mode"} & COMPOSE.keys()


def test_compose_publishes_the_services_port_on_this_machine_only() -> None:
    assert COMPOSE["ports"] == [f"127.0.0.1:8000:{said('EXPOSE')}"]


def test_compose_checks_health_as_the_image_does() -> None:
    assert COMPOSE["healthcheck"]["test"] == ["CMD", *healthcheck_command()]
