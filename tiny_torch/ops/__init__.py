"""The ideas: forward and backward of each op, on one screen. Public names stand in functions/."""
