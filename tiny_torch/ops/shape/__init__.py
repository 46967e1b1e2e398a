"""Ops: the same elements in other shapes."""
