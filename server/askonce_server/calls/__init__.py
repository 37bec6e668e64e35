"""Calls to what may be slow, hang or be down: models in this process, and services elsewhere."""
