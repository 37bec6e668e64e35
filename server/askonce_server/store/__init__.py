"""Adapters of the EntryStore port."""
