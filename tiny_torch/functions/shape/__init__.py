"""Functions: the same elements in other shapes."""
