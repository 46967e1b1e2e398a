"""Styles: how the weights of a layer are cut, and what that asks of its input and output.

For x of shape (..., in), A of shape (hidden, in) and B of shape (out, hidden), over two ranks:

    ColwiseParallel    A = [A0; A1]     rank r has  h_r = f(x A_r')   a part of the columns of h
    RowwiseParallel    B = [B0, B1]     rank r has  h_r B_r'          a summand of the output

One after the other needs one all_reduce forward (the output) and one backward (the gradient of x).
Between such pairs, SequenceParallel lets each rank have a part of the tokens: in the place of the
all_reduce there is a reduce_scatter behind the pair, and an all_gather before it.

Shoeybi and others, 2019: https://arxiv.org/abs/1909.08053
Korthikanti and others, 2022: https://arxiv.org/abs/2205.05198
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.device_mesh import DeviceMesh
from tiny_torch.distributed.pieces import Piece, mark, mark_gradient, mark_parts
from tiny_torch.distributed.tensor.parallel.moves import all_reduce, own_part, redistribute
from tiny_torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from tiny_torch.nn.modules import Module
from tiny_torch.nn.parameter import Parameter

Tensor = torch.Tensor
nn = torch.nn


class ParallelStyle:
    """What `parallelize_module` does with a module."""

    src_data_rank: int | None = 0

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        raise NotImplementedError(f"{type(self).__name__}._apply")

    def distribute(self, module: Module, name: str, placement: Placement, mesh: DeviceMesh) -> None:
        """Gives the module its part of a parameter, as rank `src_data_rank` of the group has it."""
        group, parameter = mesh.get_group(), module._parameters[name]
        assert parameter is not None
        whole = parameter.detach()
        if self.src_data_rank is not None:
            torch.distributed.broadcast(whole, group=group, group_src=self.src_data_rank)
        part, piece = whole, None
        if isinstance(placement, Shard):
            part = own_part(whole, placement.dim, group).clone(
                memory_format=torch.contiguous_format
            )
            offset = [0] * whole.ndim
            offset[placement.dim] = group.rank() * part.shape[placement.dim]
            piece = Piece(tuple(whole.shape), tuple(offset), group)
        module.register_parameter(name, Parameter(part, parameter.requires_grad))
        made = module._parameters[name]
        assert made is not None
        mark(made, piece)
        if piece is not None and made.requires_grad:
            made.register_post_accumulate_grad_hook(mark_gradient)

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in vars(self).items())
        return f"{type(self).__name__}({options})"


def placement_of(tensor: Tensor, layout: Placement) -> Placement:
    """How a tensor is held: as SequenceParallel has said of it, else as the layout says."""
    found: Placement = tensor.__dict__.get("_placement", layout)
    return found


def take_input(module: Module, take: Callable[[Tensor], Tensor]) -> None:
    """Lets a function see the first argument before forward does."""
    module.register_forward_pre_hook(lambda _, args: (take(args[0]), *args[1:]))


def add_gradients(parameter: Tensor | None, group: Any) -> None:
    """Adds up a parameter's gradients, of which each rank has a summand."""
    if parameter is not None and parameter.requires_grad:
        parameter.register_hook(lambda grad: all_reduce(grad, group))


def refuse_dtensor(style: object, use_local_output: bool) -> None:
    if not use_local_output:
        raise NotImplementedError(
            f"{type(style).__name__}: use_local_output=False: DTensor is not in tiny_torch"
        )


class ColwiseParallel(ParallelStyle):
    """Cuts the outputs of a Linear or the features of an Embedding.

    The input is gathered if it is not whole; the output is a part of the last dim, or as
    `output_layouts` says. NotImplementedError for other modules and `use_local_output=False`.
    https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        refuse_dtensor(self, use_local_output)
        self.input_layouts = (input_layouts or Replicate(),)
        self.output_layouts = (output_layouts or Shard(-1),)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        group = device_mesh.get_group()
        if isinstance(module, nn.Linear):
            dim = 0
        elif isinstance(module, nn.Embedding):
            check_embedding(module)
            dim = 1
        else:
            raise NotImplementedError(
                "ColwiseParallel currently only support nn.Linear and nn.Embedding!"
            )
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                self.distribute(module, name, Shard(dim), device_mesh)
        (layout,), (output,) = self.input_layouts, self.output_layouts
        take_input(
            module,
            lambda x: redistribute(x, placement_of(x, layout), Replicate(), group, Partial()),
        )
        module.register_forward_hook(lambda _, args, y: redistribute(y, Shard(-1), output, group))
        module.register_state_dict_post_hook(mark_parts)
        return module


class RowwiseLinear(nn.Linear):
    """A Linear of which each rank has some columns: a summand of the output, then the bias."""

    _finish: Callable[[Tensor], Tensor]  # adds the summands up

    def forward(self, input: Tensor) -> Tensor:
        y = self._finish(nn.functional.linear(input, self.weight))
        return y if self.bias is None else y + self.bias


class RowwiseEmbedding(nn.Embedding):
    """An Embedding of which each rank has some rows: zeros for the tokens of others."""

    _finish: Callable[[Tensor], Tensor]
    _start: int

    def forward(self, input: Tensor) -> Tensor:
        rows = input - self._start
        elsewhere = (rows < 0) | (rows >= len(self.weight))
        rows = rows.masked_fill(elsewhere, 0)
        padding = None if self.padding_idx is None else self.padding_idx - self._start
        if padding is not None and 0 <= padding < len(self.weight):
            y = nn.functional.embedding(rows, self.weight, padding)
        else:
            y = nn.functional.embedding(rows, self.weight)
        return self._finish(y.masked_fill(elsewhere.unsqueeze(-1), 0.0))


def check_embedding(module: nn.Embedding) -> None:
    for name in ("max_norm", "scale_grad_by_freq", "sparse"):
        if getattr(module, name):
            raise NotImplementedError(f"tensor parallelism: an Embedding with {name}")


class RowwiseParallel(ParallelStyle):
    """Cuts the inputs of a Linear or the rows of an Embedding.

    Its input is a part of the last dim (an Embedding's is whole), or as `input_layouts` says; the
    outputs of all ranks are added. NotImplementedError as for ColwiseParallel.
    https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        refuse_dtensor(self, use_local_output)
        self.input_layouts = (input_layouts or Shard(-1),)
        self.output_layouts = (output_layouts or Replicate(),)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        group = device_mesh.get_group()
        (layout,), (output,) = self.input_layouts, self.output_layouts
        wanted: Placement
        kind: Any
        if type(module) is nn.Linear:
            wanted, dim, kind = Shard(-1), 1, RowwiseLinear
        elif type(module) is nn.Embedding:
            check_embedding(module)
            wanted, dim, kind = Replicate(), 0, RowwiseEmbedding
        else:
            raise NotImplementedError(
                "RowwiseParallel currently only support nn.Linear and nn.Embedding!"
            )
        self.distribute(module, "weight", Shard(dim), device_mesh)
        if module._parameters.get("bias") is not None:
            self.distribute(module, "bias", Replicate(), device_mesh)
            if output != Replicate():  # each rank adds it to a part of the rows
                add_gradients(module._parameters["bias"], group)
        module.__class__ = kind
        module.__dict__["_finish"] = lambda y: redistribute(y, Partial(), output, group)
        module.__dict__["_start"] = group.rank() * len(module._parameters["weight"])  # type: ignore[arg-type]
        take_input(module, lambda x: redistribute(x, placement_of(x, layout), wanted, group))
        module.register_state_dict_post_hook(mark_parts)
        return module


class SequenceParallel(ParallelStyle):
    """A norm or dropout of which each rank computes a part of the tokens, with all parameters.

    Input and output are parts along `sequence_dim`. What comes out is an ordinary tensor whatever
    `use_local_output` says; a style that gets it directly knows how it is held.
    https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        group, part = device_mesh.get_group(), Shard(self.sequence_dim)
        for parameter in module.parameters():
            add_gradients(parameter, group)

        def tell(_: Module, args: Any, output: Tensor) -> None:
            if not self.use_local_output:
                output.__dict__["_placement"] = part

        take_input(module, lambda x: redistribute(x, placement_of(x, part), part, group))
        module.register_forward_hook(tell)
        return module


__all__ = ["ColwiseParallel", "ParallelStyle", "RowwiseParallel", "SequenceParallel"]
