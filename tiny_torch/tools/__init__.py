"""What a person starts: `where`, `apps`, `profile`."""
