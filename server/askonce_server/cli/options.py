"""The options of `askonce lookup` and `askonce store`, by the panel of the help that they stand in."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

REQUEST = "The request: a descriptor or a provider's body, in JSON. `-`: standard input."


class Mode(StrEnum):
    """What the cache may do for one request; named as in the contract."""

    DEFAULT = "default"
    BYPASS = "bypass"
    REFRESH = "refresh"
    READ_ONLY = "read-only"


def _describing(help_text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel="Describing the request", **more)


def _pairs(help_text: str) -> Any:
    return _describing(f"{help_text}. May be repeated.", metavar="NAME=VALUE")


def _asking(help_text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel="What is asked", **more)


def _answer(help_text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel="What the provider answered", **more)


def _talking(help_text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel="Talking to the server", **more)


Dialect = Annotated[str | None, _describing("The API dialect, such as openai or anthropic.")]
Endpoint = Annotated[str | None, _describing("Such as chat, responses, messages or embeddings.")]
Provider = Annotated[str | None, _describing("The provider that is called; else a body's dialect.")]
Model = Annotated[str | None, _describing("The model that is called; else a body's own.")]
Scope = Annotated[list[str] | None, _pairs("A scope dim, as in tenant=acme")]
Stream = Annotated[bool | None, _describing("Whether a stream is wanted.", "--stream/--no-stream")]
VersionPin = Annotated[list[str] | None, _pairs("A version that changes answers, as in guardrail=7")]
Header = Annotated[list[str] | None, _pairs("A header that changes answers, as in anthropic-beta=x")]
Attribute = Annotated[list[str] | None, _pairs("A fact for matching rules, as in app=support")]
Personalized = Annotated[bool, _describing("The answer depends on who asks.", "--personalized")]
Namespace = Annotated[str, _describing("Splits the scope further.", show_default=False)]

CacheMode = Annotated[Mode, _asking("What the cache may do.", "--mode")]
Ttl = Annotated[str | None, _asking("How long the answer may be served, as in 15m.")]
MaxAge = Annotated[str | None, _asking("The greatest age that is accepted, as in 1h.")]
MinFresh = Annotated[str | None, _asking("How long it must stay fresh, as in 30s.")]
OmitBody = Annotated[bool, _asking("Leave the body out.", "--omit-body")]
Trace = Annotated[bool, _asking("Show the steps to the decision.", "--trace")]
Anchor = Annotated[bool, _asking("Show the conversation anchor.", "--anchor")]

AnswerBody = Annotated[str, _answer("The answer's body. `-`: standard input.", "--body", metavar="FILE")]
Status = Annotated[int, _answer("The provider's HTTP status.")]
ContentType = Annotated[str, _answer("The media type of the body.")]
FinishReason = Annotated[list[str] | None, _answer("That of a choice, as in stop. May be repeated.")]
StreamComplete = Annotated[bool, _answer("The stream came to its end.", "--stream-complete")]
InputTokens = Annotated[int | None, _answer("Input tokens as reported.", min=0)]
OutputTokens = Annotated[int | None, _answer("Output tokens as reported.", min=0)]
CostUsd = Annotated[float | None, _answer("What it cost, in US dollars.", min=0)]
ToolCalls = Annotated[bool, _answer("The answer calls tools.", "--tool-calls")]
Refused = Annotated[bool, _answer("The model refused.", "--refused")]
SourceRequestId = Annotated[str, _answer("The request in the gateway's words.", show_default=False)]

Target = Annotated[
    str | None,
    _talking(
        "unix:///path or host:port; if left out, the socket in the user's folder, else 127.0.0.1:50051.",
        envvar="ASKONCE_TARGET",
        show_default=False,
    ),
]
TlsCa = Annotated[
    str | None,
    _talking("Talk TLS to a server that these authorities vouch for, in PEM.", metavar="FILE"),
]
TlsCert = Annotated[str | None, _talking("The certificate to show, in PEM.", metavar="FILE")]
TlsKey = Annotated[str | None, _talking("Its private key, in PEM.", metavar="FILE")]
TlsServerName = Annotated[
    str,
    _talking("The name in the server's certificate; else the target's.", metavar="NAME", show_default=False),
]
Timeout = Annotated[str, _talking("How long to wait for the answer.")]
AsJson = Annotated[bool, _talking("Print the message as JSON.", "--json")]
