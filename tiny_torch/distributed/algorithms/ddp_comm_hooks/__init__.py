"""Communication hooks of DistributedDataParallel: default_hooks.py."""
