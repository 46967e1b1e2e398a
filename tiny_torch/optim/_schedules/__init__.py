"""The schedules of learning rates, by kind: `base.py` is what they share."""
