"""Functions: random draws."""
