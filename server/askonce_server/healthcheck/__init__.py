"""Asks a server for its health: one gRPC call, by hand.

A probe starts a process every few seconds beside every gateway. Importing grpc takes more than 100 ms of CPU
and `socket` alone some 20, so this speaks just enough HTTP/2 (RFC 9113) over the C module beneath `socket`,
and imports nothing else that the interpreter has not loaded by itself.
"""

from __future__ import annotations

import _socket
import os
import sys
import time

from askonce_server.config.places import default_target

TYPE_CHECKING = False  # `typing` is heavy, and type checkers know what this means
if TYPE_CHECKING:
    from askonce_server.healthcheck.tls import SecuredConnection

    Connection = _socket.socket | SecuredConnection

USAGE = """\
Usage: askonce healthcheck [TARGET] [--service NAME] [--timeout SECONDS] [--tls-ca FILE ...]

Asks the server at TARGET (unix:///path or host:port) whether it is serving, and exits with 0 if it is, with 1
if not. Without TARGET it asks $ASKONCE_TARGET, else the socket in the user's folder if there is one, else
127.0.0.1:50051. The connection is in plain text unless --tls-ca is given.

Options:
  --service NAME          ask for one service, such as askonce.store, instead of the server as a whole
  --timeout SECONDS       give up after so long (default: 2)
  --tls-ca FILE           talk TLS to a server that these authorities vouch for, in PEM
  --tls-cert FILE         the certificate to show, in PEM
  --tls-key FILE          its private key, in PEM
  --tls-server-name NAME  the name in the server's certificate; else the target's

Examples:
  askonce healthcheck
  askonce healthcheck unix:///run/askonce/askonce.sock
  askonce healthcheck 127.0.0.1:50051 --service askonce.store --timeout 0.5
  askonce healthcheck 10.0.0.7:50051 --tls-ca ca.pem --tls-server-name askonce
"""

TLS_OPTIONS = ("--tls-ca", "--tls-cert", "--tls-key", "--tls-server-name")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, ACK, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8
MAX_FRAME_BYTES = 16384
"""What a peer may send that was told nothing else."""
STATUS_FIELD = b"\x08"
"""The tag of HealthCheckResponse.status. The message has no other field, and leaves it out when it is 0."""
STATUSES = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
SERVING = 1


class NoAnswer(Exception):
    """The server did not say how it is; the message says why."""


class Misused(Exception):
    """The command line makes no sense."""


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code: 0 serving, 1 not serving or no answer, 2 misused."""
    if "--help" in arguments or "-h" in arguments:
        sys.stdout.write(USAGE)
        return 0
    try:
        target, service, timeout, tls = parse(arguments)
    except Misused as error:
        sys.stderr.write(f"askonce healthcheck: {error}\n")
        return 2
    try:
        status = check(target, service=service, timeout_seconds=timeout, tls=tls)
    except NoAnswer as error:
        sys.stderr.write(f"{target}: {error}\n")
        return 1
    name = STATUSES[status] if status < len(STATUSES) else f"status {status}"
    (sys.stdout if status == SERVING else sys.stderr).write(f"{target}: {name}\n")
    return 0 if status == SERVING else 1


def parse(arguments: list[str]) -> tuple[str, str, float, dict[str, str]]:
    """Return target, service, timeout in seconds, and what is said of TLS, if anything. Raises Misused."""
    options = {"--service": "", "--timeout": "2", **dict.fromkeys(TLS_OPTIONS, "")}
    targets = []
    rest = list(arguments)
    while rest:
        name, joined, value = rest.pop(0).partition("=")
        if name in options:
            if not joined and not rest:
                raise Misused(f"{name} needs a value")
            options[name] = value if joined else rest.pop(0)
        elif name.startswith("-"):
            raise Misused(f"there is no option {name}; see askonce healthcheck --help")
        else:
            targets.append(name + joined + value)
    if len(targets) > 1:
        raise Misused(f"one target at a time, not {len(targets)}")
    if len(os.fsencode(options["--service"])) > 127:
        raise Misused("--service must have at most 127 bytes")
    try:
        timeout = float(options["--timeout"].removesuffix("s"))
    except ValueError:
        timeout = 0
    if not 0 < timeout <= 3600:
        raise Misused("--timeout must be a number of seconds above 0")
    target = targets[0] if targets else default_target(os.environ)
    return target, options["--service"], timeout, _tls(options, target)


def _tls(options: dict[str, str], target: str) -> dict[str, str]:
    tls = {name: options[name] for name in TLS_OPTIONS if options[name]}
    if tls and "--tls-ca" not in tls:
        raise Misused("--tls-cert, --tls-key and --tls-server-name go with --tls-ca")
    if ("--tls-cert" in tls) != ("--tls-key" in tls):
        raise Misused("--tls-cert and --tls-key go together")
    if tls and target.startswith("unix:"):
        raise Misused(f"{target} is a socket, which is served without TLS: leave --tls-ca out")
    return tls


def check(target: str, *, service: str, timeout_seconds: float, tls: dict[str, str] | None = None) -> int:
    """Return the status that the server at `target` gives `service` (grpc.health.v1). Raises NoAnswer.

    `tls` are options by name; without any the connection is in plain text.
    """
    deadline = time.monotonic() + timeout_seconds
    try:
        plain = _connect(target, deadline)
        connection = _secured(plain, target, tls, deadline) if tls else plain
    except TimeoutError:
        raise NoAnswer(f"no connection within {timeout_seconds:g} s") from None
    except OSError as error:
        raise NoAnswer(f"cannot connect: {error.strerror or error}") from None
    try:
        connection.sendall(_request(service, b"https" if tls else b"http"))
        return _answer(connection, deadline)
    except TimeoutError:
        raise NoAnswer(f"no answer within {timeout_seconds:g} s") from None
    except OSError as error:
        raise NoAnswer(f"the connection broke: {error.strerror or error}") from None
    finally:
        connection.close()


class _Socket(_socket.socket):
    """What TLS can be put on: that refers to it weakly, as is not possible with the class itself."""


def _connect(target: str, deadline: float) -> _socket.socket:
    if target.startswith("unix:"):
        path = target.removeprefix("unix:").removeprefix("//")
        return _dial(_socket.AF_UNIX, path, deadline)
    host, _, port = target.rpartition(":")
    if not host or not port.isdigit():
        raise NoAnswer("is no address: use unix:///path or host:port")
    found = _socket.getaddrinfo(host.strip("[]"), int(port), 0, _socket.SOCK_STREAM)
    for family, _, _, _, address in found[:-1]:
        try:
            return _dial(family, address, deadline)
        except OSError:
            continue
    return _dial(found[-1][0], found[-1][4], deadline)


def _dial(family: int, address: object, deadline: float) -> _socket.socket:
    connection = _Socket(family, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_left(deadline))
        connection.connect(address)  # type: ignore[arg-type]
    except BaseException:
        connection.close()
        raise
    return connection


def _secured(plain: _socket.socket, target: str, tls: dict[str, str], deadline: float) -> SecuredConnection:
    from askonce_server.healthcheck import tls as module  # noqa: PLC0415 - others pay for none of it

    try:
        plain.settimeout(_left(deadline))
        host = target.rpartition(":")[0].strip("[]")
        return module.secured(
            plain,
            host=tls.get("--tls-server-name", host),
            ca=tls["--tls-ca"],
            pair=(tls["--tls-cert"], tls["--tls-key"]) if "--tls-cert" in tls else None,
        )
    except module.NotSecured as error:
        plain.close()
        raise NoAnswer(str(error)) from None
    except BaseException:
        plain.close()
        raise


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _request(service: str, scheme: bytes) -> bytes:
    """Return all that the client says: preface, settings, headers and the message."""
    name = os.fsencode(service)
    message = b"\x0a" + bytes([len(name)]) + name if name else b""
    # Fields of RFC 7541: indexed, then literals with an indexed name, then one with a name of its own.
    fields = [b"\x83", b"\x87" if scheme == b"https" else b"\x86"]  # :method POST, :scheme
    fields += [b"\x04", _text(b"/grpc.health.v1.Health/Check"), b"\x01", _text(b"localhost")]
    fields += [b"\x0f\x10", _text(b"application/grpc"), b"\x00", _text(b"te"), _text(b"trailers")]
    headers = b"".join(fields)
    return b"".join(
        (
            PREFACE,
            _frame(SETTINGS, 0, 0, b""),
            _frame(HEADERS, END_HEADERS, 1, headers),
            _frame(DATA, END_STREAM, 1, b"\0" + len(message).to_bytes(4, "big") + message),
        )
    )


def _text(text: bytes) -> bytes:
    return bytes([len(text)]) + text


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def _answer(connection: Connection, deadline: float) -> int:
    """Read frames until the status is there. Raises NoAnswer, TimeoutError and OSError."""
    message = b""
    while True:
        head = _read(connection, 9, deadline)
        size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        if size > MAX_FRAME_BYTES:
            raise NoAnswer("does not speak gRPC in plain text")
        payload = _read(connection, size, deadline)
        if kind == DATA:
            message += payload[1 : size - int.from_bytes(payload[:1], "big")] if flags & PADDED else payload
            if message[5:6] == STATUS_FIELD and len(message) >= 7:
                return message[6]  # the trailers can only agree
        elif kind == HEADERS and flags & END_STREAM:
            raise NoAnswer(_failure(payload))
        elif kind == RST_STREAM or (kind == GOAWAY and payload[:4] == b"\0\0\0\0"):
            raise NoAnswer("the server ended the call")
        elif kind in {SETTINGS, PING} and not flags & ACK:
            connection.sendall(_frame(kind, ACK, 0, payload if kind == PING else b""))


def _read(connection: Connection, size: int, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        connection.settimeout(_left(deadline))
        more = connection.recv(size - len(data))
        if not more:
            raise NoAnswer("the server closed the connection")
        data += more
    return data


def _failure(headers: bytes) -> str:
    """Say how the call failed. grpc writes these headers as plain literals, so no table is needed."""
    at = headers.find(b"grpc-status")
    status = headers[at + 12 : at + 12 + headers[at + 11]] if at >= 0 and at + 12 < len(headers) else b""
    if status == b"5":
        return "has no such service"
    if status == b"12":
        return "has no health service"
    if status in {b"", b"0"}:
        return "gave no status"
    return f"the call failed with gRPC status {status.decode('ascii', 'replace')}"
