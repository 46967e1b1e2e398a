"""Distributions of counts and classes, and the relaxed ones that stand for them."""
