"""Styles that move what goes into a module, or comes out of it, from one placement to another."""

from __future__ import annotations

from typing import Any

from tiny_torch.distributed.device_mesh import DeviceMesh
from tiny_torch.distributed.tensor.parallel.moves import redistribute
from tiny_torch.distributed.tensor.parallel.style import ParallelStyle, placement_of, refuse_dtensor
from tiny_torch.distributed.tensor.placement_types import Placement
from tiny_torch.nn.modules import Module

Layouts = Placement | tuple[Placement | None, ...] | None


class PrepareModuleInput(ParallelStyle):
    """Moves a module's arguments from `input_layouts` to `desired_input_layouts`.

    None leaves an argument as it is. NotImplementedError for layouts of keywords.
    https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
    """

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        input_kwarg_layouts: Any = None,
        desired_input_kwarg_layouts: Any = None,
        use_local_output: bool = False,
    ) -> None:
        if input_kwarg_layouts is not None or desired_input_kwarg_layouts is not None:
            raise NotImplementedError(
                "PrepareModuleInput: input_kwarg_layouts is not in tiny_torch"
            )
        self.input_layouts, self.desired_input_layouts = check_layouts(
            input_layouts, desired_input_layouts, "input"
        )
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        group = device_mesh.get_group()
        module.register_forward_pre_hook(
            lambda _, args: move_arguments(
                args, self.input_layouts, self.desired_input_layouts, group
            )
        )
        return module


class PrepareModuleOutput(ParallelStyle):
    """Moves what a module answers from `output_layouts` to `desired_output_layouts`.

    https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
    """

    def __init__(
        self,
        *,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_output: bool = True,
    ) -> None:
        refuse_dtensor(self, use_local_output)
        self.output_layouts, self.desired_output_layouts = check_layouts(
            output_layouts, desired_output_layouts, "output"
        )
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        group = device_mesh.get_group()

        def answer(_: Module, args: Any, output: Any) -> Any:
            outputs = output if isinstance(output, tuple) else (output,)
            found = move_arguments(outputs, self.output_layouts, self.desired_output_layouts, group)
            return found if isinstance(output, tuple) else found[0]

        module.register_forward_hook(answer)
        return module


def check_layouts(layouts: Layouts, desired: Layouts, what: str) -> Any:
    pair = [(each,) if isinstance(each, Placement) else each for each in (layouts, desired)]
    if pair[0] is not None:
        if pair[1] is None:
            raise AssertionError(f"desired module {what}s should not be None!")
        if len(pair[0]) != len(pair[1]):
            raise AssertionError(
                f"{what}_layouts and desired_{what}_layouts should have same length!"
            )
    return pair


def move_arguments(args: Any, layouts: Any, desired: Any, group: Any) -> Any:
    if layouts is None:
        return args
    if len(args) != len(layouts):
        raise ValueError("module inputs and input_layouts should have same length!")
    return tuple(
        x if layout is None else redistribute(x, placement_of(x, layout), wanted or layout, group)
        for x, layout, wanted in zip(args, layouts, desired, strict=True)
    )


__all__ = ["PrepareModuleInput", "PrepareModuleOutput"]
