"""Client for AskOnce, the cache-decision sidecar for LLM gateways."""
