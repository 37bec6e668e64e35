"""Makes the embedder that a configuration describes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from askonce_server.calls.errors import KeyUnusable
from askonce_server.calls.headers import api_key
from askonce_server.config import embedders as config
from askonce_server.embed.breaker import BreakerEmbedder
from askonce_server.embed.http import HttpEmbedder, HttpSettings
from askonce_server.embed.onnx import OnnxEmbedder
from askonce_server.embed.provided import ProvidedEmbedder
from askonce_server.embed.queue import EmbedQueue
from askonce_server.embed.static import StaticEmbedder
from askonce_server.ports import Embedder, EmbedderUnavailable

MAX_IN_FLIGHT = 8
"""How many calls to a service may be under way at once."""


def build_queued(
    name: str,
    section: config.Embedder,
    *,
    environ: Mapping[str, str] = os.environ,
    max_in_flight: int = MAX_IN_FLIGHT,
) -> Embedder:
    """Return the embedder `name` behind its queue, except where the gateway sends the vectors.

    A model in this process has one thread: a second would take the processor from the first. A service stands
    behind a breaker too. Raises EmbedderUnavailable.
    """
    embedder = build(name, section, environ=environ, max_in_flight=max_in_flight)
    if isinstance(embedder, ProvidedEmbedder):
        return embedder
    if isinstance(embedder, HttpEmbedder):
        return EmbedQueue(BreakerEmbedder(embedder), threads=max_in_flight)
    return EmbedQueue(embedder)


def build(
    name: str,
    section: config.Embedder,
    *,
    environ: Mapping[str, str] = os.environ,
    max_in_flight: int = MAX_IN_FLIGHT,
) -> Embedder:
    """Return the embedder `name`, loaded. Raises EmbedderUnavailable, whose message begins with the name."""
    try:
        if isinstance(section, config.HttpEmbedder):
            return _http(name, section, environ=environ, max_in_flight=max_in_flight)
        return _local(name, section)
    except EmbedderUnavailable as unavailable:
        raise EmbedderUnavailable(f"embedder {name}: {unavailable}") from unavailable


def _local(
    name: str, section: config.OnnxEmbedder | config.StaticEmbedder | config.ProvidedEmbedder
) -> Embedder:
    if isinstance(section, config.OnnxEmbedder):
        return OnnxEmbedder(name, folder=section.path, pooling=section.pooling, max_text=section.max_text)
    if isinstance(section, config.StaticEmbedder):
        return StaticEmbedder(name, folder=section.path, package=section.package, max_text=section.max_text)
    return ProvidedEmbedder(name, dim=section.dim)


def _http(
    name: str, section: config.HttpEmbedder, *, environ: Mapping[str, str], max_in_flight: int
) -> Embedder:
    try:
        key = api_key(section.api_key_env, environ)
    except KeyUnusable as unusable:
        raise EmbedderUnavailable(str(unusable)) from unusable
    settings = HttpSettings(
        url=section.url,
        model=section.model,
        api_key=key,
        timeout_seconds=section.timeout.total_seconds(),
        retries=section.retries,
        connections=max_in_flight,
        dim=section.dim,
        max_text=section.max_text,
        price_per_million_tokens=section.price_per_million_tokens,
    )
    return HttpEmbedder(name, settings)
