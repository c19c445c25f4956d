"""Prometheus finds the service, and what alerts and the dashboard ask for is there."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
import yaml
from conftest import PATIENCE, Served, free_port, run, served, started, wait_for
from deployment import CONTAINER, DEPLOY, POD, ROOT

from axiscast.wire.problems import PROBLEM_KINDS

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
    from axiscast_service.metrics import Metrics

    metrics = Metrics(lambda: 0, 1)
    metrics.began("GET")
    metrics.ended("GET")
    metrics.answered("GET", "/v1/check", 200, 0.1)
    given = set(re.findall(r"(?m)^(\w+)", metrics.exposition().decode()))
    wanted = set(re.findall(r"\b(?:http_server|axiscast)_\w+(?={)", " ".join(rule["expr"] for rule in ALERTS)))
    assert len(wanted) == 5
    assert wanted <= given
    codes = set(re.findall(r'code="([a-z-]+)"', " ".join(rule["expr"] for rule in ALERTS)))
    assert codes <= set(PROBLEM_KINDS)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_each_alert_fires_when_it_should_and_not_before() -> None:
    tested = re.findall(r"alertname: (\w+)", (PROMETHEUS / "alerts_test.yaml").read_text())
    assert {rule["alert"] for rule in ALERTS} == set(tested)
    command = ["promtool", "test", "rules", "alerts_test.yaml"]
    done = run(command, cwd=PROMETHEUS)
    assert (done.returncode, "SUCCESS" in done.stdout) == (0, True), done.stdout + done.stderr


def test_the_operators_page_has_a_runbook_for_each_alert() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    assert "| alert | meaning | look at | usual causes | what to do |" in page
    rows = [re.split(r" (?<!\\)\| ", row) for row in re.findall(r"(?m)^\| (Axiscast\w+ .*) \|$", page)]
    assert [row[0] for row in rows] == [rule["alert"] for rule in ALERTS]
    assert {(len(row), all(row)) for row in rows} == {(5, True)}


def test_the_limits_of_the_alert_for_slow_requests_are_bounds_of_buckets() -> None:
    """Otherwise the quantile near a limit would be a guess between two bounds."""
    pytest.importorskip("prometheus_client")
    from axiscast_service.metrics import BUCKETS

    (rule,) = (rule for rule in ALERTS if rule["alert"] == "AxiscastSlow")
    assert {float(limit) for limit in re.findall(r"\) > (\S+)", rule["expr"])} == {0.25, 10.0} <= {*BUCKETS}


# --- Grafana ---

DASHBOARD = json.loads((DEPLOY / "grafana" / "axiscast.json").read_text())


@contextmanager
def prometheus_of(service: Served, folder: Path, rule_files: Sequence[str] = ()) -> Iterator[httpx.Client]:
    """A real Prometheus that asks the service each second."""
    (job,) = yaml.safe_load((PROMETHEUS / "prometheus.yaml").read_text())["scrape_configs"]
    targets = [{"targets": [f"127.0.0.1:{service.port}"]}]
    scraped = {"job_name": job["job_name"], "scrape_interval": "1s", "static_configs": targets}
    (folder / "prometheus.yaml").write_text(
        yaml.safe_dump(
            {"global": {"evaluation_interval": "1s"}, "rule_files": [*rule_files], "scrape_configs": [scraped]}
        )
    )
    address = f"127.0.0.1:{free_port()}"
    options = ["--config.file=prometheus.yaml", "--storage.tsdb.path=data", f"--web.listen-address={address}"]
    with (
        started(["prometheus", *options], cwd=folder, stderr=subprocess.DEVNULL),
        httpx.Client(base_url=f"http://{address}", timeout=PATIENCE) as client,
    ):
        assert wait_for(lambda: _is_ready(f"http://{address}/-/ready"))
        yield client


def _is_ready(url: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(url).status_code == 200
    return False  # it has not begun to listen


def filled(query: str) -> str:
    """Return a query of the dashboard with the values that Grafana would insert for its variables."""
    variables = {variable["name"]: variable.get("allValue") for variable in DASHBOARD["templating"]["list"]}
    for name, value in {**variables, "__rate_interval": "1m"}.items():
        query = query.replace(f"${name}", value or "")
    return query


def test_each_panel_shows_the_selected_namespaces_and_instances() -> None:
    names = [variable["name"] for variable in DASHBOARD["templating"]["list"]]
    assert names == ["datasource", "namespace", "instance"]
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            assert 'job="axiscast", namespace=~"$namespace", instance=~"$instance"' in target["expr"]
            assert "$" not in filled(target["expr"])


def test_a_panel_with_metrics_of_one_process_says_so() -> None:
    of_one = [panel for panel in DASHBOARD["panels"] if "process_" in panel["targets"][0]["expr"]]
    assert len(of_one) == 2
    for panel in of_one:
        assert panel["title"].endswith("(one worker)")
        assert panel["description"].startswith("Only a service with one worker reports this metric.")


def test_each_alert_names_its_runbook() -> None:
    for rule in ALERTS:
        assert rule["annotations"]["runbook"] == "docs/operations.md#alerts"


def test_the_alert_for_slow_requests_covers_every_route_once(http: httpx.Client) -> None:
    (rule,) = (rule for rule in ALERTS if rule["alert"] == "AxiscastSlow")
    selectors = re.findall(r"\{[^}]*\}", rule["expr"])
    assert len(selectors) == 2
    sized = {"/v1/broadcast", "/v1/backprop", "/v1/check/batch", "/v1/check/columns"}
    for route in (path for path in http.get("/openapi.json").json()["paths"] if path.startswith("/v1/")):
        matching = [
            all(
                bool(re.fullmatch(pattern, route)) is (operator == "=~")
                for operator, pattern in re.findall(r'http_route(=~|!~)"([^"]*)"', selector)
            )
            for selector in selectors
        ]
        assert matching == [route not in sized, route in sized], route


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
            answer = prometheus.get("/api/v1/query", params={"query": filled(query)})
            assert answer.status_code == 200, answer.text
            return [float(series["value"][1]) for series in answer.json()["data"]["result"]]

        for query in queries:
            assert wait_for(lambda query=query: any(value >= 0 for value in values(query))), query  # NaN is neither
        assert values('up{job="axiscast"}') == [1]


FAULTY = """
import time
from axiscast_service.endpoints import check
from axiscast.cli import main
check_to_dict = check.check_to_dict
def faulty(message, *arguments):
    if len(message.inputs) == 1:
        raise RuntimeError("induced")
    time.sleep(0.3)
    return check_to_dict(message, *arguments)
check.check_to_dict = faulty
main()
"""
"""A program that runs a service in which checks of one input fail, and all others take 0.3 s."""


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")
def test_failing_and_slow_checks_fire_their_alerts_in_a_real_prometheus(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    rules = (PROMETHEUS / "alerts.yaml").read_text()
    (tmp_path / "alerts.yaml").write_text(rules.replace("[5m]", "[10s]").replace("for: 5m", "for: 2s"))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-c", FAULTY, "serve", "--port", str(port)]
    with started(command, stderr=subprocess.DEVNULL) as process:
        assert wait_for(lambda: _is_ready(f"{url}/readyz"))
        with prometheus_of(Served(url, process), tmp_path, ["alerts.yaml"]) as prometheus:

            def firing() -> set[str]:
                posted = [
                    httpx.post(f"{url}/v1/check", json={"inputs": inputs, "explain": True})
                    for inputs in ([[3]], [[3], [1]])
                ]
                assert [answer.status_code for answer in posted] == [500, 200]
                alerts = prometheus.get("/api/v1/alerts").json()["data"]["alerts"]
                return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

            assert not firing()
            assert wait_for(lambda: firing() >= {"AxiscastFailing", "AxiscastSlow"})
            assert not firing() & {"AxiscastDown", "AxiscastNotReady", "AxiscastOverloaded", "AxiscastTimingOut"}
