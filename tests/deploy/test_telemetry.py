"""What is deployed to watch AskOnce speaks of metrics, labels and values that a server really has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import urllib3
import yaml

from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Outcome, RefusalReason
from askonce_server.telemetry import names as declared
from askonce_server.telemetry.otlp import ENDPOINTS
from rpc.answers import answer
from rpc.harness import running
from rpc.requests import describe

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "deploy/grafana/askonce.json").read_text())
ALERTS = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text())
COLLECTOR = yaml.safe_load((ROOT / "deploy/otel/collector.yaml").read_text())
PAGE = (ROOT / "docs/telemetry.md").read_text()

RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
TARGETS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
VARIABLES = [one["query"]["query"] for one in DASHBOARD["templating"]["list"] if one["type"] == "query"]
EXPRESSIONS = [*(rule["expr"] for rule in RULES), *TARGETS, *VARIABLES]
OF_PROMETHEUS = {"job", "instance", "le"}


def lower(enum):
    return {one.name.lower() for one in enum}


REASONS = {
    "decisions": lower(DenyReason) | lower(BypassReason) | {"no_entry"},
    "refusals": lower(RefusalReason),
    "skipped": lower(BypassReason),
}
VALUES = {"outcome": lower(Outcome), "matcher": lower(Matcher), "kind": lower(Matcher)}


@pytest.fixture(scope="module")
def served():
    """Every name of a sample that a server tells, and the name of every metric."""
    with running(telemetry={"listen": "127.0.0.1:0"}) as server:
        server.gateway.fill(describe(), cost_usd=0.5)
        server.gateway.ask(describe())
        server.gateway.ask(describe(), mode=2)
        server.gateway.store(describe(), answer(status_code=500))
        url = f"http://127.0.0.1:{server.sidecar.web.port}/metrics"
        text = urllib3.request("GET", url, retries=False, timeout=30).data.decode()
    found = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    samples = {
        f"{name}{ending}"
        for name, kind in found.items()
        for ending in (("_bucket", "_sum", "_count") if kind == "histogram" else ("",))
    }
    return samples, set(found)


def selectors(expression):
    """Each metric in an expression with what is said of its labels: (metric, label, operator, value)."""
    for metric, labels in re.findall(r"\b(askonce_\w+)(?:\{([^}]*)\})?", expression):
        yield metric, re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', labels)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_speaks_of_what_there_is(expression, served):
    samples, _ = served
    found = list(selectors(expression))
    assert found
    for metric, labels in found:
        assert metric in samples
        for label, _, said in labels:
            known = VALUES.get(label)
            if label == "reason":
                known = REASONS[metric.removeprefix("askonce_").removesuffix("_total")]
            if known is None:
                assert label in OF_PROMETHEUS | {"rule"}
            else:
                assert set(said.split("|")) <= known
    grouped = re.findall(r"\b(?:by|on|without)\s*\(([^)]*)\)", expression)
    told = {name.strip() for names in grouped for name in names.split(",")}
    assert told <= OF_PROMETHEUS | {"rule", *VALUES, "reason"}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_is_balanced(expression):
    for opened, closed in ("()", "{}", "[]"):
        assert expression.count(opened) == expression.count(closed)
    assert expression.count('"') % 2 == 0


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert_says_what_is_the_matter_and_what_to_do(rule):
    assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"AskOnce[A-Za-z]+", rule["alert"])
    assert re.fullmatch(r"\d+[mh]", rule["for"])
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert set(rule["annotations"]) == {"summary", "description"}
    grouped = {
        name.strip() for names in re.findall(r"by \(([^)]*)\)", rule["expr"]) for name in names.split(",")
    }
    for text in rule["annotations"].values():
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= grouped


def test_alerts_have_names_of_their_own():
    assert len({rule["alert"] for rule in RULES}) == len(RULES)


def test_the_dashboard_can_be_imported():
    panels = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    for panel in panels:
        assert panel["title"]
        assert panel["targets"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
    variables = {one["name"] for one in DASHBOARD["templating"]["list"]}
    assert set(re.findall(r"\$(?!__)\{?(\w+)", " ".join(TARGETS))) <= variables


def test_the_dashboard_shows_every_metric(served):
    _, metrics = served
    shown = " ".join([*TARGETS, *VARIABLES])
    assert {name for name in metrics if name not in shown and not name.endswith("_created")} == set()


def test_the_page_names_every_metric(served):
    _, metrics = served
    assert {name for name in metrics if f"`{name}`" not in PAGE} == set()
    endings = ("", "_total", "_seconds", "_bytes", "_usd_total")
    dotted = [told for name, told in vars(declared).items() if name.isupper() and isinstance(told, str)]
    counted = [name for name in dotted if {name.replace(".", "_") + ending for ending in endings} & metrics]
    assert "askonce.decisions" in counted
    assert {name for name in counted if f"`{name}`" not in PAGE} == set()


def test_pipelines_of_the_collector_name_what_is_configured():
    for pipeline in COLLECTOR["service"]["pipelines"].values():
        for section, named in pipeline.items():
            assert set(named) <= set(COLLECTOR[section])
    assert COLLECTOR["receivers"]["otlp"]["protocols"]["http"]["endpoint"].endswith(":4318")


def test_the_page_names_the_environment():
    for name in (*ENDPOINTS, "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRICS_EXPORTER", "OTEL_SDK_DISABLED"):
        assert name in PAGE
