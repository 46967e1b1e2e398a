"""Ops: many elements to one."""
