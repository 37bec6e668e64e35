"""Names, traces and metrics."""
