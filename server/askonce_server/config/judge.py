"""The settings of the judge."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from askonce_server.config.fields import MS, Between, Count, EnvName, Section, Text, Time
from askonce_server.config.web import WebAddress


class JudgeSection(Section):
    """A chat model that decides between `low_threshold` and `threshold` for rules with `verifier: judge`.

    It is shown both texts, so these rules need `store_text: true`, and a `budget` that it can answer in.
    """

    url: Annotated[Text, AfterValidator(WebAddress("https://llm.internal/v1/chat/completions"))]
    """The full URL of a service that speaks the OpenAI chat API."""
    model: Text
    """The model that it is asked for, which should answer at once, without reasoning at length."""
    api_key_env: EnvName | None = None
    """The name of the environment variable that holds its API key."""
    timeout: Annotated[Time, AfterValidator(Between(MS, timedelta(seconds=60)))] = timedelta(seconds=2)
    """How long one call may take; it ends with the rule's `budget` if that is sooner."""
    max_in_flight: Annotated[Count, Field(ge=1, le=64)] = 8
    """How many calls may be under way at once."""
    response_format: Literal["json_object", "json_schema", "text"] = "json_object"
    """How the service is told to answer in JSON; `text` leaves it to the prompt."""
