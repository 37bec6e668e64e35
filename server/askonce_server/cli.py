"""The askonce console script."""


def main() -> None:
    """Run."""
