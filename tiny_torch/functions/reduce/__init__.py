"""Functions: many elements to one."""
