"""CUDA graphs: work that is recorded once, and then done again at the cost of one launch.

What runs on the host is not recorded: numbers that Python reads, shapes, branches. A replay works
on the memory that the recording used; its inputs are copied there before. Random numbers of the
default generator are drawn anew; NotImplementedError for draws that the host makes.
https://pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
"""

from __future__ import annotations

import gc
import warnings
from typing import Any, NoReturn

from tiny_torch.base.devices import has_cuda
from tiny_torch.base.modes import checks_of_steps
from tiny_torch.cuda import device_management, memory, streams

MODES = "global", "thread_local", "relaxed"


def is_current_stream_capturing() -> bool:
    """Whether what the current stream is given is being recorded. RuntimeError without CUDA."""
    check_built("_cuda_isCurrentStreamCapturing")
    return device_management.is_initialized() and device_management.table().is_capturing()


def graph_pool_handle() -> tuple[int, int]:
    """A new pool, from which graphs that never run at one time may share memory."""
    check_built("_graph_pool_handle")
    return 0, device_management.table().new_pool()


def check_built(name: str) -> None:
    if not has_cuda():
        raise RuntimeError(f"Tried to instantiate dummy base class {name}")


class CUDAGraph:
    """A recording of work on the GPU; `graph` records it, `replay` does it again.

    NotImplementedError for `keep_graph`, which shows other libraries the graph itself.
    https://pytorch.org/docs/stable/generated/torch.cuda.CUDAGraph.html
    """

    def __init__(self, keep_graph: bool = False) -> None:
        check_built("CUDAGraph")
        if keep_graph:
            raise NotImplementedError("CUDAGraph(keep_graph=)")
        self._graph = 0  # none
        self._pool: tuple[int, int] | None = None

    def capture_begin(
        self,
        pool: tuple[int, int] | None = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        """Records what the current stream is given from now on, instead of doing it.

        Raises RuntimeError in the default stream, for another mode than PyTorch's, and where there
        is a recording already.
        """
        if check_input_liveness:
            raise NotImplementedError("CUDAGraph.capture_begin(check_input_liveness=)")
        if capture_error_mode not in MODES:
            raise RuntimeError(
                "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got "
                + capture_error_mode
            )
        if self._graph:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, "
                "create a new instance."
            )
        accelerator = device_management.table()
        if accelerator.current_stream() == 0:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, "
                "it's ok to replay them on the default stream.)"
            )
        self._pool = graph_pool_handle() if pool is None else pool
        self._release = accelerator.release_graph
        accelerator.begin_capture(self._pool[1])

    def capture_end(self) -> None:
        """Ends the recording, which `replay` does from now on."""
        self._graph = device_management.table().end_capture()

    def replay(self) -> None:
        """Does what was recorded, in the current stream, on the memory of the recording."""
        if not self._graph:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        device_management.table().replay(self._graph)

    def reset(self) -> None:
        """Forgets the recording, whose memory is free again."""
        if self._graph:
            self._release(self._graph)
            self._graph = 0

    def pool(self) -> tuple[int, int]:
        """The pool that the memory is from, for another graph's recording."""
        if self._pool is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._pool

    def __del__(self) -> None:
        if getattr(self, "_graph", 0):
            self._release(self._graph)

    def instantiate(self) -> NoReturn:
        """NotImplementedError: `capture_end` has made the graph ready."""
        raise NotImplementedError("CUDAGraph.instantiate")

    def enable_debug_mode(self) -> NoReturn:
        """NotImplementedError: graphs are not written to files."""
        raise NotImplementedError("CUDAGraph.enable_debug_mode")

    def debug_dump(self, debug_path: str) -> NoReturn:
        """NotImplementedError: graphs are not written to files."""
        raise NotImplementedError("CUDAGraph.debug_dump")

    def raw_cuda_graph(self) -> NoReturn:
        """NotImplementedError: other libraries do not see the graph."""
        raise NotImplementedError("CUDAGraph.raw_cuda_graph")

    def raw_cuda_graph_exec(self) -> NoReturn:
        """NotImplementedError: other libraries do not see the graph."""
        raise NotImplementedError("CUDAGraph.raw_cuda_graph_exec")


class graph:
    """`with torch.cuda.graph(g):` records the work of a block, in a stream of its own, into g.

    `pool`: of another graph, whose memory this one may use, too; `stream`: to record in.
    NotImplementedError for `enable_annotations` and `check_input_liveness`.
    https://pytorch.org/docs/stable/generated/torch.cuda.graph.html
    """

    default_capture_stream: streams.Stream | None = None

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: tuple[int, int] | None = None,
        stream: streams.Stream | None = None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        check_input_liveness: bool = False,
    ) -> None:
        if enable_annotations or check_input_liveness:
            name = "enable_annotations" if enable_annotations else "check_input_liveness"
            raise NotImplementedError(f"graph({name}=)")
        if stream is None and graph.default_capture_stream is None:
            graph.default_capture_stream = streams.Stream()
        self.pool = pool
        self.capture_stream = graph.default_capture_stream if stream is None else stream
        self.stream_ctx = streams.StreamContext(self.capture_stream)
        self.cuda_graph = cuda_graph
        self.capture_error_mode = capture_error_mode

    def __enter__(self) -> None:
        device_management.synchronize()
        gc.collect()  # what only cycles keep would be the graph's for good
        memory.empty_cache()
        self.stream_ctx.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self.stream_ctx.__exit__()
            raise

    def __exit__(self, *exception: object) -> None:
        try:
            self.cuda_graph.capture_end()
        except RuntimeError:
            if exception[0] is None:  # else that is the cause, and goes on
                raise
        finally:
            self.stream_ctx.__exit__(*exception)


def check_capture(optimizer: Any) -> None:
    """Raises RuntimeError while a CUDA graph is recorded, unless the optimizer is capturable.

    One without that option keeps no count of steps that a replay would have to go on with.
    """
    if not device_management.is_initialized() or "capturable" not in optimizer.defaults:
        return
    capturable = all(group.get("capturable") for group in optimizer.param_groups)
    capturing = device_management.table().is_capturing()
    if capturing and not capturable:
        raise RuntimeError(
            "Attempting CUDA graph capture of step() for an instance of "
            f"{type(optimizer).__name__} but param_groups' capturable is False."
        )
    if capturable and not capturing and not getattr(optimizer, "_warned_capturable", False):
        optimizer._warned_capturable = True
        warnings.warn(
            "This instance was constructed with capturable=True or some of all the param_groups "
            "came with capturable=True, but step() is running without CUDA graph capture. If you "
            "never intend to graph-capture this instance, capturable=True can impair performance, "
            "and you should set capturable=False.",
            stacklevel=3,
        )


checks_of_steps.append(check_capture)
