"""The embedders: one adapter a kind, and the queue before them."""

from __future__ import annotations

from askonce_server.embed.factory import build, build_queued
from askonce_server.embed.http import HttpEmbedder, HttpSettings
from askonce_server.embed.onnx import OnnxEmbedder
from askonce_server.embed.provided import ProvidedEmbedder
from askonce_server.embed.queue import EmbedQueue
from askonce_server.embed.static import StaticEmbedder

__all__ = [
    "EmbedQueue",
    "HttpEmbedder",
    "HttpSettings",
    "OnnxEmbedder",
    "ProvidedEmbedder",
    "StaticEmbedder",
    "build",
    "build_queued",
]
