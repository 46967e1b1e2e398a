"""Ops: layers of neural networks."""
