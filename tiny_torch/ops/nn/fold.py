"""Images as columns, one per window, and back: each is the other's gradient."""

from __future__ import annotations

from tiny_torch.autograd.graph import Op, run
from tiny_torch.base.devices import array_module

# `windows` is (kernel, dilation, padding, stride), two numbers each.


class Im2Col(Op):
    """(N, C, H, W) -> (N, C * taps, windows)"""

    aten = "im2col"

    @staticmethod
    def forward(x, windows):
        module = array_module(x.device)
        if not hasattr(module, "unfold_image"):
            raise NotImplementedError(f"[unfold] is not implemented on {x.device}")
        return module.unfold_image(x, *windows), (x.shape[2:], windows)

    @staticmethod
    def backward(saved, grad, needs):
        return run(Col2Im, grad, *saved)


class Col2Im(Op):
    """(N, C * taps, windows) -> (N, C, *size), where columns that show a pixel add up."""

    aten = "col2im"

    @staticmethod
    def forward(x, size, windows):
        module = array_module(x.device)
        if not hasattr(module, "fold_image"):
            raise NotImplementedError(f"[fold] is not implemented on {x.device}")
        return module.fold_image(x, size, *windows), (windows,)

    @staticmethod
    def backward(saved, grad, needs):
        return run(Im2Col, grad, *saved)
