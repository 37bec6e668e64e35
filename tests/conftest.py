"""Settings of the property tests, chosen by `HYPOTHESIS_PROFILE`: `default`, or `thorough` for a long run.

And whichever test loads onnxruntime first, it reports nothing to its maker.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# A deadline would make a busy machine look like a slow program; a blob lets a failure be replayed anywhere.
_COMMON = settings(
    deadline=None,
    print_blob=True,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("default", _COMMON, max_examples=50)
settings.register_profile("thorough", _COMMON, max_examples=20_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
