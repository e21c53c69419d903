"""The image, the containers, the dashboard and the manual pages: held to the code (contract: Operations)."""

from __future__ import annotations

import ast
import configparser
import ipaddress
import json
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sift.app import create_app
from sift.config import CLIENT_VARIABLES, Config, all_settings
from sift.metrics import families
from sift.metrics.families import CACHE_USES, CLASSES, FETCH_STATES, ITEM_STATES, OUTCOMES, PAGE_USES, STATUSES, Family
from sift.sources import DECLARED
from tests.metrics.scraping import PROMTOOL, needs_promtool
from tests.service import ROOT

DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
BOARD: dict[str, Any] = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
EXPRESSIONS = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
UID = "10001"
LABELS = {
    "caller_class": set(CLASSES),
    "cache": {*CACHE_USES, *PAGE_USES},
    "status": set(STATUSES.values()),
    "outcome": set(OUTCOMES),
    "state": {*FETCH_STATES, *ITEM_STATES},
    "source": {each.name for each in DECLARED},
    "version": set(),
    "le": set(),
}
METRICS = {value.name for value in vars(families).values() if isinstance(value, Family)} | {
    families.CREDITS_USED[0],
    families.CREDITS_LIMIT[0],
}


def settings() -> set[str]:
    """Return the names of all settings."""
    return {each.name for each in all_settings(DECLARED)}


# --- the image


def test_image_runs_as_nobody_in_particular_and_serves_its_health() -> None:
    """contract: Operations: uid 10001, a Python that Sift allows, and a check of a path that exists."""
    config = configparser.RawConfigParser()
    config.read(ROOT / "setup.cfg")
    assert f"USER {UID}:{UID}" in DOCKERFILE
    (python,) = re.findall(r"^ARG PYTHON=\S*python:(3\.\d+)-", DOCKERFILE, re.MULTILINE)
    assert f"Programming Language :: Python :: {python}" in config["metadata"]["classifiers"]
    (extras,) = re.findall(r"'\.\[([a-z,]+)\]'", DOCKERFILE)
    assert set(extras.split(",")) <= set(config["options.extras_require"])
    assert re.search(r"HEALTHCHECK.*\n.*http://127\.0\.0\.1:8787/healthz", DOCKERFILE)
    assert set(re.findall(r"SIFT_[A-Z_]+", DOCKERFILE)) <= settings()
    (port,) = re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE)
    assert f"SIFT_BIND=0.0.0.0:{port}" in DOCKERFILE
    for copied in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        for name in copied.split()[:-1]:
            assert (ROOT / name).exists()


def test_health_check_of_the_image_is_a_program_that_fails_when_the_service_does() -> None:
    """contract: Operations: no port answers: it exits with an error."""
    (command,) = re.findall(r"CMD (\[\"python\", \"-c\".*\])", DOCKERFILE)
    python, *rest = ast.literal_eval(command)
    broken = [each.replace("127.0.0.1:8787", "127.0.0.1:9") for each in rest]
    assert python == "python"
    done = subprocess.run([sys.executable, *broken], capture_output=True, check=False)
    assert done.returncode != 0
    assert SERVICES["sift"]["healthcheck"]["test"] == ["CMD", python, *rest]


def test_make_image_uses_what_is_there_and_says_so_when_nothing_is(tmp_path: Path) -> None:
    """README, Containers: podman, buildah or docker, in this order."""
    make = shutil.which("make") or "make"
    shell = shutil.which("sh") or "sh"
    (tmp_path / "sh").symlink_to(shell)
    command = [make, f"SHELL={shell}", "image"]
    environ = {"PATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "podman, buildah or docker" in done.stderr
    for tool, form in (("docker", ""), ("buildah", " --format docker")):  # without it there is no health check
        script = tmp_path / tool
        script.write_text(f'#!{shell}\necho {tool} "$@"\n')
        script.chmod(0o755)
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
        assert f"{tool} build{form} -f deploy/Dockerfile -t sift ." in done.stdout


# --- the containers


@pytest.mark.parametrize("name", SERVICES)
def test_container_has_no_right_that_it_does_not_need(name: str) -> None:
    """contract: Operations: no root, no capability, nothing to write but what is mounted, a health check."""
    service = SERVICES[name]
    assert service["user"] == f"{UID}:{UID}"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["healthcheck"]["test"]
    for mounted in service["volumes"]:
        place, *_ = mounted.split(":")
        assert mounted.endswith(":ro") or place in COMPOSE["volumes"]


def test_containers_fit_the_settings_and_each_other() -> None:
    """contract: Operations: names, ports and paths are those of the code, of nginx.conf and of SearXNG's files."""
    environ = SERVICES["sift"]["environment"]
    assert set(environ) <= settings() - CLIENT_VARIABLES
    config = Config.from_env(environ, DECLARED)
    (source,) = config.sources
    nginx = (DEPLOY / "nginx.conf").read_text()
    assert set(re.findall(r"proxy_pass http://([\d.:]+);", nginx)) == set(config.bind)
    assert SERVICES["nginx"]["network_mode"] == "service:sift"
    assert source.url.startswith("http://searxng:8080")
    searxng = yaml.safe_load((DEPLOY / "searxng/settings.yml").read_text())
    assert searxng["server"]["port"] == 8080
    assert "json" in searxng["search"]["formats"]
    limiter = tomllib.loads((DEPLOY / "searxng/limiter.toml").read_text())
    (network,) = COMPOSE["networks"]["inside"]["ipam"]["config"]
    assert limiter["botdetection"]["ip_lists"]["pass_ip"] == [network["subnet"]]
    assert ipaddress.ip_network(network["subnet"]).is_private
    for mounted in SERVICES["nginx"]["volumes"]:
        _, inside, *_ = mounted.split(":")
        assert inside in nginx or inside == "/etc/nginx/conf.d/default.conf"
    assert f"state:{config.state_dir}" in SERVICES["sift"]["volumes"]
    (log,) = {str(Path(each).parent) for each in re.findall(r"(?:access|error)_log (\S+) ", nginx)}
    written = [each.split(":")[0] for each in SERVICES["nginx"]["tmpfs"]]
    assert {log, "/run", "/tmp"} <= set(written)
    assert "/healthz" in {rule.rule for rule in create_app(replace(config, auth=False)).url_map.iter_rules()}
    unit = (DEPLOY / "sift.service").read_text()
    (seconds,) = re.findall(r"TimeoutStopSec=(\d+)", unit)
    assert SERVICES["sift"]["stop_grace_period"] == f"{seconds}s"
    assert SERVICES["sift"]["ulimits"]["nofile"] == int(re.findall(r"LimitNOFILE=(\d+)", unit)[0])


# --- the dashboard


def test_every_metric_is_on_the_dashboard_and_nothing_else() -> None:
    """contract: Metrics: the names are those of the code."""
    found = {re.sub(r"_bucket$", "", name) for each in EXPRESSIONS for name in re.findall(r"sift_\w+", each)}
    assert found == METRICS


def test_labels_of_the_dashboard_exist() -> None:
    """contract: Metrics: in what is grouped by, and in what is shown."""
    shown = {label for panel in BOARD["panels"] for each in panel["targets"] for label in _named(each)}
    assert shown <= set(LABELS)
    assert {"source", "outcome", "cache"} <= shown


def _named(target: dict[str, str]) -> set[str]:
    grouped = re.findall(r"by \(([\w, ]+)\)", target["expr"])
    return {label.strip() for each in grouped for label in each.split(",")} | set(
        re.findall(r"{{(\w+)}}", target["legendFormat"])
    )


def test_panels_do_not_overlap() -> None:
    """contract: Metrics: three in a row, each with a title, ids and letters of its own."""
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in BOARD["panels"]]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in BOARD["panels"]})
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in BOARD["panels"])
    for panel in BOARD["panels"]:
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


@needs_promtool
def test_expressions_of_the_dashboard_are_promql(tmp_path: Path) -> None:
    """contract: Metrics: promtool reads each of them."""
    rules = [
        {"record": f"check:{number}", "expr": each.replace("$__rate_interval", "5m")}
        for number, each in enumerate(EXPRESSIONS)
    ]
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run([str(PROMTOOL), "check", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(EXPRESSIONS)} rules found" in done.stdout
