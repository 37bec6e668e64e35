"""Request bodies of the OpenAI API and of the many servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping

from askonce_server.dialects.layout import Layout

LAYOUTS: Mapping[str, Layout] = {
    # System turns stay among the messages: their place matters.
    "chat": Layout(messages="messages", tools="tools"),
    # What the provider keeps may hold the input; such a request is stateful, which is not for here to judge.
    "responses": Layout(
        messages="input",
        system="instructions",
        tools="tools",
        messages_instead=("prompt", "conversation", "previous_response_id"),
    ),
    "embeddings": Layout(messages="input", generating=False),
}
