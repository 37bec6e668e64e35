"""The settings of embedders, one kind each."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from askonce_server.config.fields import MS, Between, Count, EnvName, FilePath, Section, Text, Time
from askonce_server.config.web import WebAddress

PACKAGED_WINDOW = 256
"""How many tokens the packaged MiniLM reads."""

MaxText = Annotated[Count, Field(ge=1, le=1_000_000)]
Dimensions = Annotated[Count, Field(ge=1, le=65536)]


class OnnxEmbedder(Section):
    """A model that runs in this process."""

    kind: Literal["onnx"]
    """Runs a model in this process, on onnxruntime."""
    path: FilePath | None = None
    """The folder with `model.onnx` and `tokenizer.json`; left out, the packaged MiniLM."""
    pooling: Literal["mean", "cls", "none"] = "mean"
    """Whether a vector is the mean of its tokens', the first token's, or `none`: the model pools itself."""
    max_text: MaxText | None = None
    """The greatest text that is embedded, in tokens; left out, what the model was made for."""

    @field_validator("pooling", "max_text")
    @classmethod
    def _fits_the_packaged(cls, value: str | int | None, checked: ValidationInfo) -> str | int | None:
        if "path" not in checked.data or checked.data["path"] is not None:
            return value
        if isinstance(value, str) and value != "mean":
            raise ValueError("must be mean without path: the packaged model was made for it")
        if isinstance(value, int) and value > PACKAGED_WINDOW:
            raise ValueError(
                f"must be at most {PACKAGED_WINDOW} without path: the packaged model reads no more"
            )
        return value


class StaticEmbedder(Section):
    """A table of word vectors in this process."""

    kind: Literal["static"]
    """Looks words up in a table, in this process."""
    path: FilePath | None = None
    """The folder of a model2vec model; this or `package` is required."""
    package: Text | None = None
    """The name of an installed package that holds the table (`wordllama`); this or `path` is required."""
    max_text: MaxText | None = None
    """The greatest text that is embedded, in tokens; left out, what the model was made for."""

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
    url: Annotated[Text, AfterValidator(WebAddress("https://embeddings.internal/v1/embeddings"))]
    """The full URL of its embeddings endpoint."""
    model: Text
    """The model that it is asked for."""
    api_key_env: EnvName | None = None
    """The name of the environment variable that holds its API key."""
    timeout: Annotated[Time, AfterValidator(Between(MS, timedelta(seconds=60)))] = timedelta(seconds=2)
    """How long one call may take."""
    retries: Annotated[Count, Field(ge=0, le=10)] = 2
    """How many calls may follow one that found no connection or was answered 429 or 5xx, if time is left."""
    dim: Dimensions | None = None
    """How many dimensions its vectors have; left out, as many as the first one."""
    max_text: MaxText | None = None
    """The greatest text that is embedded, in tokens; one less than its window if the service cuts texts."""
    price_per_million_tokens: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)] | None = None
    """Its price in USD; left out, what it costs is unknown."""


class ProvidedEmbedder(Section):
    """Vectors that the gateway sends along."""

    kind: Literal["provided"]
    """Takes the vector that the gateway sends."""
    dim: Dimensions
    """How many dimensions a vector has."""


Embedder = Annotated[
    OnnxEmbedder | StaticEmbedder | HttpEmbedder | ProvidedEmbedder, Field(discriminator="kind")
]
