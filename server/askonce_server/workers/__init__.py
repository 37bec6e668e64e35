"""Several processes that serve as one: what they share, and how they are watched."""
