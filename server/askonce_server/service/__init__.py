"""One use case a file, driving the core against the ports."""
