"""Request bodies of the Anthropic API."""

from __future__ import annotations

from collections.abc import Mapping

from askonce_server.dialects.layout import Layout

LAYOUTS: Mapping[str, Layout] = {
    "messages": Layout(messages="messages", system="system", tools="tools"),
}
