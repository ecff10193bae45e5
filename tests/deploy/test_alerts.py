"""The alerts: every metric and label that they name is there, and each has its paragraph in the manual."""

import re
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from server.metrics import Metrics
from server.settings import rows as settings_rows
from server.settings import variable
from tests.services import ROOT

RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((ROOT / "deploy/alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
MANUAL = (ROOT / "docs/operations.md").read_text()
OF_PROMETHEUS = {"instance", "job"}  # labels that the scrape adds

alerts = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])


def _series() -> dict[str, set[str]]:
    """Every series of a process, by name with its labels."""
    found: dict[str, set[str]] = {"up": set()}
    for metric in _collectors(Metrics().registry):
        name, labels = metric._name, set(metric._labelnames)
        endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(metric._type, [""])
        for ending in endings:
            found[name + ending] = labels | ({"le"} if ending == "_bucket" else set())
    return found


def _collectors(registry: CollectorRegistry) -> list[Any]:
    return [it for it in registry._collector_to_names if hasattr(it, "_labelnames")]


def _metrics(text: str) -> set[str]:
    return set(re.findall(r"\brankcast_[a-z_]+", text))


@alerts
def test_an_alert_names_only_metrics_that_there_are(rule: dict[str, Any]) -> None:
    named = _metrics(rule["expr"]) | set(re.findall(r"\bup\b", rule["expr"]))

    assert named
    assert named <= _series().keys()


@alerts
def test_an_alert_names_only_labels_that_its_metrics_have(rule: dict[str, Any]) -> None:
    series = _series()
    labels = set().union(*(series[name] for name in _metrics(rule["expr"]) | {"up"})) | OF_PROMETHEUS
    for name, selectors in re.findall(r"(\w+)\{([^}]*)\}", rule["expr"]):
        assert set(re.findall(r"(\w+)\s*[=!]", selectors)) <= series[name] | OF_PROMETHEUS
    for grouping in re.findall(r"\b(?:by|on) \(([^)]*)\)", rule["expr"]):
        assert {word.strip() for word in grouping.split(",")} <= labels
    assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= labels


@alerts
def test_an_alert_says_how_bad_it_is_what_it_is_and_where_to_read_on(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"]["summary"]
    page, anchor = rule["annotations"]["runbook"].split("#")
    assert page == "docs/operations.md"
    assert anchor in {heading.lower() for heading in re.findall(r"^### (\w+)$", MANUAL, re.MULTILINE)}


def test_the_manual_has_one_paragraph_an_alert_and_none_too_many() -> None:
    headings = re.findall(r"^### (\w+)$", MANUAL, re.MULTILINE)

    assert headings == [rule["alert"] for rule in RULES]
    assert all(len(part.split()) >= 20 for part in re.split(r"^### \w+$", MANUAL, flags=re.MULTILINE)[1:])


def test_the_manual_names_only_metrics_and_settings_that_there_are() -> None:
    known = {row.variable for row in settings_rows()}

    assert _metrics(MANUAL) <= _series().keys()
    assert set(re.findall(r"\bRANKCAST_[A-Z_]+", MANUAL)) <= known | {variable("log_json")}


def test_the_example_of_a_scrape_configuration_reads_the_rules_under_the_name_that_they_know() -> None:
    example = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text())
    [job] = example["scrape_configs"]

    assert example["rule_files"] == ["alerts.yml"]
    assert any(f'job="{job["job_name"]}"' in rule["expr"] for rule in RULES)
    assert set(job["dns_sd_configs"][0]["names"]) == {"web", "ingest", "persist", "keeper"}
