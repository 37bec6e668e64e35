"""Metrics in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from askonce_server.telemetry.metrics import BOUNDS_SECONDS, Labels, Metric, Reading

_UNITS = {"s": "seconds", "By": "bytes", "{USD}": "usd"}
Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


class Text(NamedTuple):
    """What a scrape is answered with."""

    content_type: str
    body: bytes


class Scrapes(Collector):
    """Answers scrapes from what `reading` reads."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def describe(self) -> list[Family]:
        """Return nothing: what there is depends on what was counted."""
        return []

    def collect(self) -> Iterator[Family]:
        """Yield every metric."""
        return map(_family, self._reading())

    def text(self, accept: str) -> Text:
        """Return what to answer a scraper that accepts `accept`."""
        encode, content_type = choose_encoder(accept)
        return Text(content_type, encode(self._registry))


def _family(metric: Metric) -> Family:
    name = metric.name.replace(".", "_")
    unit = _UNITS.get(metric.unit, "")
    name = f"{name}_{unit}" if unit else name
    if metric.distributions or metric.name.endswith(".duration"):
        keys = _keys([one.labels for one in metric.distributions])
        histogram = HistogramMetricFamily(name, metric.help, labels=keys)
        for one in metric.distributions:
            histogram.add_metric(_values(one.labels), _cumulative(one.buckets), one.sum_seconds)
        return histogram
    kind = CounterMetricFamily if metric.grows else GaugeMetricFamily
    family = kind(name, metric.help, labels=_keys([point.labels for point in metric.points]))
    for point in metric.points:
        family.add_metric(_values(point.labels), point.value)
    return family


def _cumulative(buckets: tuple[int, ...]) -> list[tuple[str, float]]:
    """Return each bound with how many do not exceed it, as the format has it."""
    told, passed = [], 0
    for bound, inside in zip((*map(digits, BOUNDS_SECONDS), "+Inf"), buckets, strict=True):
        passed += inside
        told.append((bound, float(passed)))
    return told


def digits(seconds: float) -> str:
    """Return a bound in the shortest digits: 0.00015, not 0.00015000000000000001."""
    return f"{seconds:.6g}"


def _keys(labels: list[Labels]) -> list[str]:
    return [name for name, _ in labels[0]] if labels else []


def _values(labels: Labels) -> list[str]:
    return [value for _, value in labels]
