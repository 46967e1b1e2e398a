"""Ops: random draws."""
