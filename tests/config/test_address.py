import pytest

from askonce_server.config.address import TcpAddress, UnixAddress, parse_address


@pytest.mark.parametrize(
    ("text", "address", "private"),
    [
        ("unix:///run/a.sock", UnixAddress("/run/a.sock"), True),
        ("unix:/run/a.sock", UnixAddress("/run/a.sock"), True),
        ("127.0.0.1:50051", TcpAddress("127.0.0.1", 50051), True),
        ("127.8.9.1:0", TcpAddress("127.8.9.1", 0), True),
        ("localhost:1", TcpAddress("localhost", 1), True),
        ("[::1]:50051", TcpAddress("::1", 50051), True),
        ("0.0.0.0:50051", TcpAddress("0.0.0.0", 50051), False),
        ("[::]:50051", TcpAddress("::", 50051), False),
        ("localhost.evil.example:1", TcpAddress("localhost.evil.example", 1), False),
        ("127.0.0.1.nip.io:1", TcpAddress("127.0.0.1.nip.io", 1), False),
        ("[::ffff:10.0.0.1]:1", TcpAddress("::ffff:10.0.0.1", 1), False),
    ],
)
def test_addresses(text, address, private):
    assert parse_address(text) == address
    assert parse_address(text).private is private
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "a b:1",
        "host:",
        "host:-1",
        "host:+1",
        "host:1.0",
        "host:\u0661",
        "unix:",
        "unix://",
        "unix://host/x",
        "unix:///a\0b",
    ],
)
def test_what_is_no_address(text):
    with pytest.raises(ValueError):
        parse_address(text)
