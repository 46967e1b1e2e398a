"""Distributions of real numbers, one at a time."""
