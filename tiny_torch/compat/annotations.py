"""`torch.jit.annotations`: typing's names, as old programs import them."""

from typing import Dict, List, Optional, Tuple  # noqa: UP035

__all__ = ["Dict", "List", "Optional", "Tuple"]
