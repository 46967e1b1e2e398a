"""Functions: one element after the other."""
