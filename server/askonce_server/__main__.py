"""`python -m askonce_server`: the same as `askonce`."""

from __future__ import annotations

import sys

from askonce_server.cli import main

if __name__ == "__main__":
    sys.exit(main())
