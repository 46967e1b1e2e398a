"""`GradScaler`: the loss times a large number, so that gradients do not vanish in float16."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.base.modes import outside_of_program
from tiny_torch.functions.foreach import scale_in_one_call
from tiny_torch.tensor import Tensor

__all__ = ["GradScaler", "OptState"]

SMALLEST_HALF = 2.0**-24  # above 0 in float16
LARGEST = 2.0**128 - 2.0**104  # finite float32


class OptState(Enum):
    """What has been done for an optimizer since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _new_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses, unscales gradients, skips steps that would write inf or NaN into parameters.

    The scale is multiplied by `backoff_factor` after a step with inf or NaN in a gradient, and by
    `growth_factor` after `growth_interval` steps without. Not `enabled`, it does nothing, and so it
    does for "cuda" where there is none, with a warning. `skipped_steps` counts the steps that were
    not taken; with `log`, `underflow_share` tells how much of the gradients vanished.
    https://pytorch.org/docs/stable/amp.html#torch.amp.GradScaler

    >>> import tiny_torch as torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.25)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> loss = (w * w).sum()
    >>> scaler.scale(loss).backward()
    >>> w.grad
    tensor([16.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
        *,
        log: bool = False,
    ) -> None:
        if enabled and device == "cuda" and not torch.cuda.is_available():
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
            )
            enabled = False
        self._device = device
        self._enabled = enabled
        self._skipped = 0
        self._log = log
        self._small = self._seen = 0
        self._read: tuple[int, int] | None = None
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._init_growth_tracker = 0
        self._scale: Tensor | None = None  # made by the first scale(), on the loss's device
        self._growth_tracker: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._per_optimizer_states: defaultdict[int, dict] = defaultdict(_new_state)

    # ---- one iteration: scale, unscale_, step, update -----------------------------------------

    def scale(self, outputs: Any) -> Any:
        """The outputs times the scale: a tensor, or tensors in lists and other iterables.

        Raises ValueError for anything else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._make_scale(outputs.device)
            scale, _ = self._require_scale("scale")
            return outputs * scale.to(device=outputs.device)
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of the optimizer's parameters by the scale, and looks for inf.

        `step` does so itself; it is called before it where gradients are clipped or looked at.
        Raises RuntimeError for a second call before update(), ValueError for float16 gradients.
        """
        if not self._enabled:
            return
        if _core.is_recording():
            return outside_of_program(self.unscale_, optimizer)
        scale, _ = self._require_scale("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, False)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(*args, **kwargs) of unscaled gradients; skipped if one is inf or NaN.

        Answers what that answers, None if it was skipped. Raises RuntimeError for a second call
        before update() and for a closure, AssertionError without gradients.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if _core.is_recording():
            return outside_of_program(self.step, optimizer, *args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._require_scale("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_by_itself(optimizer, state, args, kwargs)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Sets the scale for the next iteration: from what was found, or to `new_scale`.

        Raises AssertionError where nothing was scaled, or no gradient was looked at, before.
        """
        if not self._enabled:
            return
        if _core.is_recording():
            return outside_of_program(self.update, new_scale)
        scale, tracker = self._require_scale("update")
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
        elif new_scale is not None:
            if (
                new_scale.device.type != self._device
                or new_scale.numel() != 1
                or new_scale.requires_grad
            ):
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                    "torch.FloatTensor with requires_grad=False."
                )
            scale.copy_(new_scale)
        else:
            states = [s for s in self._per_optimizer_states.values() if s["found_inf_per_device"]]
            if not states:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(scale, tracker, any(_found_inf(state) for state in states))
        self._per_optimizer_states = defaultdict(_new_state)

    # ---- its parts ----------------------------------------------------------------------------

    def _make_scale(self, device: Any) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        options = {"device": device}
        self._scale = torch.full((), self._init_scale, dtype=torch.float32, **options)
        self._growth_tracker = torch.full(
            (), self._init_growth_tracker, dtype=torch.int32, **options
        )
        self._read = None

    def _require_scale(self, function: str) -> tuple[Tensor, Tensor]:
        if self._scale is None or self._growth_tracker is None:
            missing = "_scale" if self._scale is None else "_growth_tracker"
            raise AssertionError(
                f"Attempted {function} but {missing} is None.  This may indicate your script did "
                "not use scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    def _unscale_grads_(self, optimizer: Any, inverse: Tensor, allow_fp16: bool) -> dict:
        """Multiplies the gradients by `inverse`; {device: 1 where one is inf or NaN, else 0}."""
        grads: dict[Any, list[Tensor]] = {}
        for grad in _gradients(optimizer, allow_fp16):
            grads.setdefault(grad.device, []).append(grad)
        found: dict[Any, Tensor] = {}
        with torch.no_grad():
            for device, there in grads.items():
                if self._log:
                    self._small += sum(int((grad.abs() < SMALLEST_HALF).sum()) for grad in there)
                    self._seen += sum(grad.numel() for grad in there)
                found[device] = unscale_grads(there, inverse.to(device))
        return found

    def _check_inf_per_device(self, optimizer: Any) -> dict:
        """Looks for inf and NaN, for an optimizer that unscales by itself."""
        scale, _ = self._require_scale("_check_inf_per_device")
        state = self._per_optimizer_states[id(optimizer)]
        found = self._unscale_grads_(optimizer, torch.ones_like(scale), True)
        state["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    def _maybe_opt_step(self, optimizer: Any, state: dict, *args: Any, **kwargs: Any) -> Any:
        if _found_inf(state):
            self._skipped += 1
            return None
        return optimizer.step(*args, **kwargs)

    def _step_by_itself(self, optimizer: Any, state: dict, args: tuple, kwargs: dict) -> Any:
        """The step of an optimizer that reads its `grad_scale` and `found_inf`."""
        scale, _ = self._require_scale("step")
        own = getattr(optimizer, "grad_scale", None)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
            own = scale if own is None else scale * own
        found = [x.to(scale.device) for x in state["found_inf_per_device"].values()]
        optimizer.grad_scale, optimizer.found_inf = own, sum(found)
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            state["stage"] = OptState.STEPPED
            self._skipped += _found_inf(state)
            del optimizer.grad_scale, optimizer.found_inf

    def _adapt(self, scale: Tensor, tracker: Tensor, found_inf: bool) -> None:
        old_scale, steps = self._numbers(scale, tracker)
        new_scale, steps = next_scale(
            old_scale,
            steps,
            found_inf,
            self._growth_factor,
            self._backoff_factor,
            self._growth_interval,
        )
        if new_scale != old_scale:
            scale.fill_(new_scale)
            new_scale = torch.tensor(new_scale, dtype=torch.float32).item()
        tracker.fill_(steps)
        self._read, self._held = (scale._version, tracker._version), (new_scale, steps)

    def _numbers(self, scale: Tensor, tracker: Tensor) -> tuple[float, int]:
        """What the two tensors hold; it is kept, as reading them waits for their device."""
        versions = scale._version, tracker._version
        if self._read != versions:
            self._read, self._held = versions, (scale.item(), int(tracker.item()))
        return self._held

    # ---- what it is set to --------------------------------------------------------------------

    @property
    def skipped_steps(self) -> int:
        """How many steps were skipped because a gradient had inf or NaN."""
        return self._skipped

    @property
    def underflow_share(self) -> float:
        """The share of all gradients' elements that were 0 in float16, though scaled.

        Elements that are 0 for another reason count too. RuntimeError unless made with `log=True`.
        """
        if not self._log:
            raise RuntimeError("underflow_share is counted by GradScaler(..., log=True)")
        return self._small / max(self._seen, 1)

    def get_scale(self) -> float:
        """The scale; 1 if disabled."""
        if not self._enabled:
            return 1.0
        if self._scale is None or self._growth_tracker is None:
            return self._init_scale
        return self._numbers(self._scale, self._growth_tracker)[0]

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by after `growth_interval` steps without inf."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what `get_growth_factor` answers."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after a step with inf or NaN."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what `get_backoff_factor` answers."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many steps without inf let the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets what `get_growth_interval` answers."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        if self._scale is None or self._growth_tracker is None:
            return self._init_growth_tracker
        return self._numbers(self._scale, self._growth_tracker)[1]

    def is_enabled(self) -> bool:
        """Whether it scales at all."""
        return self._enabled

    # ---- saving -------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The scale, the factors and the counter, to be saved after update(); {} if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what state_dict() answered; RuntimeError where that is empty."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            state |= {"_init_scale": self.get_scale(), "_scale": None}
            state |= {"_init_growth_tracker": self._get_growth_tracker(), "_growth_tracker": None}
        return state


def next_scale(
    scale: float, steps: int, found_inf: bool, growth: float, backoff: float, interval: int
) -> tuple[float, int]:
    """The scale for the next iteration, and how many steps without inf there have been.

    It is shrunk after inf, and grows after `interval` steps without, unless it would be inf.
    """
    if found_inf:
        return scale * backoff, 0
    if steps + 1 != interval:
        return scale, steps + 1
    return (scale * growth if scale * growth <= LARGEST else scale), 0


def _found_inf(state: dict[str, Any]) -> bool:
    """Whether a gradient had inf or NaN. It waits for the devices, once for each answer."""
    found = state["found_inf_per_device"]
    if state.get("read") is not found:
        state["read"] = found
        state["found_inf"] = any(x.item() for x in found.values())
    return state["found_inf"]


def unscale_grads(grads: list[Tensor], factor: Tensor) -> Tensor:
    """Multiplies gradients of one device by `factor`; 1 where one had inf or NaN before, else 0.

    The host waits for none of it.
    """
    found = torch.zeros((), dtype=torch.float32, device=factor.device)
    for grad in scale_in_one_call(grads, factor, found):
        found.copy_(found.maximum(grad.isfinite().all().logical_not()))
        grad.mul_(factor)
    return found


def _gradients(optimizer: Any, allow_fp16: bool) -> Iterable[Tensor]:
    for group in optimizer.param_groups:
        for param in group["params"]:
            if not isinstance(param, Tensor):
                raise AssertionError(
                    f"expected param to be torch.Tensor, got {type(param).__name__}"
                )
            if param.grad is None:
                continue
            if not allow_fp16 and param.grad.dtype is torch.float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            yield param.grad
