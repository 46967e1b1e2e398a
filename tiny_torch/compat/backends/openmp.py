"""`torch.backends.openmp`: the threads of this build's kernels."""


def is_available() -> bool:
    """True: the kernels run in OpenMP's threads."""
    return True
