"""`torch.backends.mps`: Apple's GPUs, which this build does not use."""


def is_built() -> bool:
    """False: this build has no MPS."""
    return False


def is_available() -> bool:
    """False: this build has no MPS."""
    return False
