"""AskOnce server: the cache-decision sidecar."""
