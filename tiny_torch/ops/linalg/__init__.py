"""Ops: matrices."""
