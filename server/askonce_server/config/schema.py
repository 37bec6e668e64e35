"""The JSON Schema of the configuration, for editors."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from askonce_server.config.model import Config
from askonce_server.config.quantities import format_time


class _Generator(GenerateJsonSchema):
    """Writes defaults as operators do, and leaves out titles that only repeat a name."""

    def encode_default(self, dft: Any) -> Any:
        """Return the default `dft` as JSON."""
        return format_time(dft) if isinstance(dft, timedelta) else super().encode_default(dft)

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's shape
        """Say that no setting needs a title."""
        return False


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the configuration (draft 2020-12)."""
    return {
        "$schema": _Generator.schema_dialect,
        **Config.model_json_schema(schema_generator=_Generator),
        "title": "AskOnce configuration",
    }
