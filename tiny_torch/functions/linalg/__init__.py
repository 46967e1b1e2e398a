"""Functions: matrices."""
