"""`torch.version`: this package's version, and those of what it was built with."""

__version__ = "0.1.0"

cuda: str | None = None
hip: str | None = None
