"""The pure core: keys, rules and decisions, without I/O."""
