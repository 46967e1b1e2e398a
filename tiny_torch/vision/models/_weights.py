"""Arguments that say where weights come from: here they are always drawn."""

from __future__ import annotations

from typing import Any


def check_weights(model: str, weights: Any, options: dict[str, Any]) -> None:
    """Raises NotImplementedError for weights; takes `pretrained` off the options."""
    pretrained = options.pop("pretrained", False)
    if weights is not None or pretrained:
        asked = f"weights={weights!r}" if weights is not None else f"pretrained={pretrained!r}"
        raise NotImplementedError(
            f"{model}({asked}): tiny_torch fetches no weights; "
            "model.load_state_dict(torch.load(path)) reads a file of torchvision's"
        )
