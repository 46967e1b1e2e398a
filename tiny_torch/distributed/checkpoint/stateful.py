"""`Stateful`: what checkpoints ask for its state dict, and give it back."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """An object with `state_dict()` and `load_state_dict(state_dict)`.

    https://docs.pytorch.org/docs/stable/distributed.checkpoint.html#torch.distributed.checkpoint.stateful.Stateful
    """

    def state_dict(self) -> dict[str, Any]:
        """What is saved."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what was saved."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)

__all__ = ["Stateful", "StatefulT"]
