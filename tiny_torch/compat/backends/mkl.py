"""`torch.backends.mkl`: Intel's library, which this build does not use."""


def is_available() -> bool:
    """False: matrix products and random numbers are computed by kernels of our own."""
    return False
