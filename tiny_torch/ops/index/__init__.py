"""Ops: by positions and masks."""
