"""Whether compiled functions record, run or do neither, in a thread."""

from __future__ import annotations

import threading


class Stance(threading.local):
    """What `torch.compiler.set_stance` has set, for this thread."""

    name = "default"


stance = Stance()
