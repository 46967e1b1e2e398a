"""torch.signal: the windows of signals.

https://pytorch.org/docs/stable/signal.html
"""

from tiny_torch.functions.creation import signal_windows as windows

__all__ = ["windows"]
