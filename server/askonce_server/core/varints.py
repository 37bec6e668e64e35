"""Small numbers as few bytes: seven bits a byte, the lowest first, the eighth for more to come."""

from __future__ import annotations

_MOST_BYTES = 9


def put(written: bytearray, *numbers: int) -> None:
    """Append `numbers`, none of them negative."""
    for number in numbers:
        rest = number
        while rest > 0x7F:
            written.append(rest & 0x7F | 0x80)
            rest >>= 7
        written.append(rest)


def put_bytes(written: bytearray, value: bytes) -> None:
    """Append `value` behind its length."""
    put(written, len(value))
    written += value


class Reader:
    """Reads from the front of what was written. Raises ValueError where it was cut or changed."""

    def __init__(self, written: bytes) -> None:
        self._written = written
        self._at = 0

    def number(self, *, most: int = 1 << 62) -> int:
        """Take a number of at most `most`."""
        value = 0
        for place in range(_MOST_BYTES):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * place)
            if byte <= 0x7F:
                if value > most:
                    raise ValueError(f"{value} is more than {most}")
                return value
        raise ValueError("a number does not end")

    def value(self) -> bytes:
        """Take what stands behind its length."""
        return self.take(self.number())

    def take(self, size: int) -> bytes:
        """Take `size` bytes."""
        taken = self._written[self._at : self._at + size]
        if len(taken) < size:
            raise ValueError("it was cut")
        self._at += size
        return taken

    def end(self) -> None:
        """Make sure that nothing is left."""
        if self._at != len(self._written):
            raise ValueError("something follows the end")
