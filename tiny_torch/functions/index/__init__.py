"""Functions: by positions and masks."""
