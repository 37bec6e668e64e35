"""The settings of embedders, one kind each."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from askonce_server.config.fields import MS, Between, Count, EnvName, FilePath, Section, Text, Time


def web_address(value: str) -> str:
    """Return `value`. Raises ValueError unless it is an http(s) URL without credentials."""
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be a URL such as https://embeddings.internal/v1/embeddings")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold credentials: name their environment variable in api_key_env")
    return value


class OnnxEmbedder(Section):
    """A model that runs in this process."""

    kind: Literal["onnx"]
    """Runs a model in this process, on onnxruntime."""
    path: FilePath | None = None
    """The folder with `model.onnx` and `tokenizer.json`; left out, the packaged MiniLM."""


class StaticEmbedder(Section):
    """A table of word vectors in this process."""

    kind: Literal["static"]
    """Looks words up in a table, in this process."""
    path: FilePath | None = None
    """The folder of a model2vec model; this or `package` is required."""
    package: Text | None = None
    """The name of an installed package that holds the table; this or `path` is required."""

    @field_validator("package")
    @classmethod
    def _one_source(cls, value: str | None, checked: ValidationInfo) -> str | None:
        if "path" in checked.data and (value is None) == (checked.data["path"] is None):
            raise ValueError("needs exactly one of path and package")
        return value


class HttpEmbedder(Section):
    """A service that speaks the OpenAI embeddings API."""

    kind: Literal["http"]
    """Asks a service that speaks the OpenAI embeddings API."""
    url: Annotated[Text, AfterValidator(web_address)]
    """The full URL of its embeddings endpoint."""
    model: Text
    """The model that it is asked for."""
    api_key_env: EnvName | None = None
    """The name of the environment variable that holds its API key."""
    timeout: Annotated[Time, AfterValidator(Between(MS, timedelta(seconds=60)))] = timedelta(seconds=2)
    """How long one call may take."""


class ProvidedEmbedder(Section):
    """Vectors that the gateway sends along."""

    kind: Literal["provided"]
    """Takes the vector that the gateway sends."""
    dim: Annotated[Count, Field(ge=1, le=65536)]
    """How many dimensions a vector has."""


Embedder = Annotated[
    OnnxEmbedder | StaticEmbedder | HttpEmbedder | ProvidedEmbedder, Field(discriminator="kind")
]
