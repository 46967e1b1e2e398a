"""A function of tensors as programs: recorded once per kind of arguments, then run again.

A call with arguments of a new kind (shapes, strides, dtypes, numbers, modes) runs the function
itself, while its launches are recorded; so does the first backward through it. Later calls run the
recorded launches over the memory of the new arguments, and have the same bits: the same kernels do
the same work. Where nothing can be recorded (an element is read by Python, a hook, two devices),
the function runs as it is, and `Compiled.refusals` says why.
"""

from __future__ import annotations

import functools
import threading
import types
import weakref
from collections.abc import Callable, Mapping
from operator import is_
from typing import Any

from tiny_torch import _core
from tiny_torch.amp.state import OwnCasts
from tiny_torch.autograd.graph import Node, edge_of
from tiny_torch.base.arguments import is_tensor
from tiny_torch.base.devices import side_streams, wait_for_streams
from tiny_torch.base.modes import INFERENCE, NO_GRAD, WATCHED, modes, thread
from tiny_torch.base.pytree import tree_flatten, tree_unflatten
from tiny_torch.program.gradients import Gradients, Graph, laid_out, share_memory
from tiny_torch.program.kinds import HISTORY, TENSORS, histories_of, is_flat, kind_of
from tiny_torch.program.numbers import Tape, with_values
from tiny_torch.program.recorder import CHANGES, Recorder, is_capturing
from tiny_torch.program.show import text_of
from tiny_torch.program.stance import stance
from tiny_torch.program.steps import Refusal, StepGradients, StepRun, has_hooks
from tiny_torch.program.values import PLAIN
from tiny_torch.tensor import Tensor, wrap

LIMIT = 8  # recordings of a function; what comes then runs as it is
FULL = f"has {LIMIT} recordings: calls of other kinds run as they are"
RECOMPILES = "Detected recompile when torch.compile stance is 'fail_on_recompile'"
NOTHING = _core.full((0,), 0, _core.float32, "cpu")  # in the place of an array that no launch uses


every: weakref.WeakSet[Any] = weakref.WeakSet()  # what has recordings, or kin, to forget


def reset() -> None:
    """All functions forget their recordings."""
    for function in list(every):
        function.forget()


class Compiled:
    """`function`, of which recordings are run instead where one fits.

    With `fullgraph`, RuntimeError where it cannot be recorded; of a first call that changes what it
    reads, such as a cache, only if the next one does so, too. With `steps` the function may be a
    whole step of a training: `record`. `passes` says which of `_core.Passes.names` run, by name.
    With `graphs` a program of CUDA's is one CUDA graph, where it can be captured. Floats among the
    arguments are inputs of a program from their second value on; at once with `dynamic`, and never
    if that is False.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        fullgraph: bool = False,
        steps: bool = False,
        passes: Mapping[str, bool] | None = None,
        graphs: bool = False,
        dynamic: bool | None = None,
    ) -> None:
        self.function = function
        self.dynamic = dynamic
        self.graphs = graphs
        self.choices = dict(passes or {})
        self.passes = _core.Passes(self.choices)
        self.fullgraph = fullgraph
        self.steps = steps
        self.forget()
        every.add(self)

    def forget(self) -> None:
        """Drops all recordings."""
        self.cases: dict[Any, list[Case]] = {}
        self.refusals: list[str] = []
        self.recorded = 0
        self.lost = self.waits = 0  # recordings without a backward, and calls until the next

    def programs(self) -> list[tuple[str, Any, list]]:
        """Of each program: what it is ("forward", "backward", "step"), itself, its lines."""
        cases = [case for of_kind in self.cases.values() for case in of_kind]
        return [program for case in cases for program in case.programs]

    def show(self) -> None:
        """Prints the programs: their launches, what each uses, and where its memory lies."""
        for what, program, places in self.programs():
            print(text_of(what, program, places))
        for why in self.refusals:
            print(f"refused: the function {why}")

    def __reduce__(self) -> tuple:
        options: dict[str, Any] = {
            "fullgraph": self.fullgraph, "steps": self.steps, "passes": self.choices,
            "graphs": self.graphs, "dynamic": self.dynamic,
        }  # fmt: skip
        return functools.partial(Compiled, **options), (self.function,)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Of a class, its objects' method: the object is an argument, and has its own programs."""
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (
            modes.bits & ~(NO_GRAD | INFERENCE | WATCHED)
            or stance.name == "force_eager"
            or thread.in_transform
            or _core.is_recording()
        ):
            return self.function(*args, **kwargs)
        leaves, spec = (args, None) if is_flat(args, kwargs) else tree_flatten((args, kwargs))
        numbers: list[float] = []
        key = kind_of(leaves, spec, numbers)
        if key is None:
            return self.function(*args, **kwargs)
        inputs = [x for x in leaves if is_tensor(x)]
        if self.steps:  # which store gradients in leaves
            key = key, *[x.is_leaf for x in inputs]
        cases = self.cases.setdefault(key, [])
        for case in cases:
            values = case.tape.values_for(numbers) if numbers else ()
            if values is not None and case.holds(inputs):
                done = case.run(inputs, values)
                return self.function(*args, **kwargs) if done is None else done[0]
        if stance.name == "fail_on_recompile":
            raise RuntimeError(RECOMPILES)
        self.drop_lost(cases)
        if self.recorded >= LIMIT or self.waits or stance.name == "eager_on_recompile":
            if self.recorded >= LIMIT and FULL not in self.refusals:
                self.refusals.append(FULL)
            self.waits -= self.waits > 0
            return self.function(*args, **kwargs)
        recorder = Recorder(self.steps, function=self.function)
        try:
            if not recorder.start():
                return self.function(*args, **kwargs)
            self.recorded += 1
            tape = Tape(numbers, self.varying(numbers, cases))
            case = Case(inputs, self.steps, self.passes, tape)
            case.uncaptured = ["forward", "backward", "step"] if self.graphs else []
            case.note = self.refusals.append
            case.objects = [x for x in leaves if not is_tensor(x)]
            case.objects += [x for t in inputs for x in vars(t).values()]
            call = functools.partial(tape.call, self.function, args, kwargs, recorder.note)
            result = case.record(recorder, call)
        finally:
            recorder.close()
        fills = not cases and case.refusal.startswith(CHANGES)  # perhaps caches, once
        cases.append(case)
        if case.refusal:
            self.refusals.append(case.refusal)
            if self.fullgraph and not fills:
                raise RuntimeError(f"torch.compile(fullgraph=True): the function {case.refusal}")
        return result

    def drop_lost(self, cases: list[Case]) -> None:
        """Those whose results were dropped, as in a validation: the next comes ever later."""
        kept = [case for case in cases if not case.is_lost()]
        if lost := len(cases) - len(kept):
            cases[:] = kept
            self.recorded -= lost
            self.lost = min(self.lost + lost, 10)
            self.waits = (1 << self.lost) - 2

    def varying(self, numbers: list[float], cases: list[Case]) -> set[int]:
        """Which of the numbers a recording is to follow."""
        if self.dynamic is not None:
            return set(range(len(numbers))) if self.dynamic else set()
        if any(case.refusal and not case.refusal.startswith(CHANGES) for case in cases):
            return set()  # what it answers might hold one
        pairs = [pair for case in cases for pair in enumerate(case.tape.given)]
        return {i for i, x in pairs if repr(x) != repr(numbers[i])}


class Case:
    """One recording of a function, with that of its gradients once they have been asked for."""

    def __init__(self, inputs: list[Tensor], steps: bool, passes: Any, tape: Tape) -> None:
        self.tape = tape
        self.steps = steps
        self.passes = passes
        self.step: Any = None  # the StepGradients, if it is one
        self.layouts: list[tuple] = []  # of outputs
        self.inputs = len(inputs)
        self.everything = inputs  # and what it reads beside; the inputs only while it is recorded
        self.program: Any = None
        self.gradients: Any = None
        self.programs: list[tuple[str, Any, list]] = []  # with places of launches, to be shown
        self.refusal = ""
        self.guards: tuple = ()
        self.bound: list[tuple[int, Tensor]] = []  # arguments that the code reads elsewhere, too
        self.offsets: list[tuple[int, int]] = []  # of arguments, where they count
        self.wants: list[int] = []  # which of everything get a gradient
        self.histories: Any = None  # of arguments, where the code may ask for them
        self.objects: list[Any] = []  # among the arguments: their ids stay their own
        self.uncaptured: list[str] = []  # of the programs, those that may become CUDA graphs
        self.note: Any = None  # takes why one has not
        self.graph: Any = None  # a weak reference: the recorded graph, until its gradients are

    # ---- recording ------------------------------------------------------------------------------

    def record(self, watch: Recorder, call: Callable[[], Any]) -> Any:
        """The function's result, computed while it is recorded."""
        inputs = self.everything
        histories = histories_of(inputs)
        watch.recording.follow(self.tape)
        watch.is_following = bool(self.tape.varying)
        try:
            with watch:
                watch.given = {id(t) for t in inputs}
                for t in inputs:
                    watch.take(t)
                with OwnCasts():
                    result = call()
        finally:
            self.tape.close(watch.recording)
        watch.recording.synchronize()  # so that what kernels found wrong is the call's own error
        self.beside = [t for t in watch.tensors.values() if id(t) not in watch.given]
        self.bound = [(i, t) for i, t in enumerate(inputs) if id(t) in watch.bound]
        at = [(i, t.array) for i, t in enumerate(inputs)]
        self.offsets = [(i, x.offset) for i, x in at if x.storage_id in watch.offsets]
        self.arrays = [t.array for t in self.beside]
        self.required = [t.requires_grad for t in self.beside]
        self.guards = watch.finish()
        self.histories = histories if HISTORY & watch.names.keys() else None
        try:
            if watch.effect:
                raise Refusal(watch.effect)
            result = self.keep(watch, [*inputs, *self.beside], result)
        except (Refusal, RuntimeError) as why:
            self.program, self.refusal = None, str(why)
        self.everything = []
        return result

    def keep(self, watch: Recorder, everything: list[Tensor], result: Any) -> Any:
        """Makes the program; answers the result, with the history that it has from a program."""
        recording = watch.recording
        if any(type(t) not in TENSORS or type(t.array) is not _core.NDArray for t in everything):
            raise Refusal("reads a tensor of another class or device")
        leaves = ([result], None) if is_tensor(result) else tree_flatten(result)
        self.results: list[Any] = leaves[0]
        self.spec: Any = leaves[1]
        self.places = [k for k, r in enumerate(self.results) if is_tensor(r)]
        outputs = [self.results[k] for k in self.places]
        ids = [id(t) for t in outputs]
        self.twins = {j: ids.index(i) for j, i in enumerate(ids) if ids.index(i) < j}
        self.results = [None if is_tensor(r) else r for r in self.results]
        if not all(isinstance(r, PLAIN) for r in self.results):
            raise Refusal("answers what is neither tensor nor number")
        if self.steps:
            return self.keep_step(watch, everything, outputs, result)
        if not outputs:
            raise Refusal("answers no tensor")
        if any(type(t) is not Tensor or vars(t) or t.retains_grad for t in outputs):
            raise Refusal("answers a tensor of another class, or with attributes of its own")
        if any(not recording.made(t.array) for t in outputs):
            raise Refusal("answers one of its arguments, or a view of one")
        arrays = [t.array for t in everything]
        found = [t.array for t in outputs]
        written = watch.writes(arrays)
        program = _core.Program(recording, arrays, written, found, None, self.passes)
        if not program.follows(self.tape.values) or not program.repeats(arrays, found):
            raise Refusal("has other results when it is run again")
        self.layouts = [(t.array.shape, t.array.dtype, t.array.device) for t in outputs]
        self.differentiable = [t.requires_grad for t in outputs]
        if True in self.differentiable:
            if share_memory([t.array for t in outputs]):
                raise Refusal("answers two tensors that share memory")
            ids = [id(t) for t in everything]  # of one that is given twice, the first has all
            wants = [i for i, t in enumerate(everything) if t.requires_grad]
            self.wants = [i for i in wants if ids.index(ids[i]) == i]
            if not wants or any(t.requires_grad and t.is_leaf for t in outputs):
                raise Refusal("answers what requires grad by a tensor that it has made")
        if any(program.writes(i) for i in self.wants):
            raise Refusal("writes a tensor that requires grad")
        if any(has_hooks(everything[i]) for i in self.wants):
            raise Refusal("has hooks on tensors that it is given")
        self.program = program
        self.programs.append(("forward", program, watch.places))
        node = None
        if self.wants:
            self.op = Gradients(self)
            graph = Graph(self, everything, outputs)
            self.graph = weakref.ref(graph)
            node = Node(self.op, graph.edges, (graph, None, None, graph.edges))
        return self.answer([t.array for t in outputs], node)

    def keep_step(
        self, watch: Recorder, everything: list[Tensor], outputs: list[Tensor], result: Any
    ) -> Any:
        """Makes the program of a step, which also stores gradients; answers the result itself."""
        if any(r is not None for r in self.results):
            raise Refusal("answers a number, which another step may change")
        if any(not watch.recording.made(t.array) for t in outputs):
            raise Refusal("answers what it does not compute")
        self.step = StepGradients(watch, everything)
        arrays = [t.array for t in everything]
        held, made = self.step.take_arrays()
        written = watch.writes(arrays) + [True] * len(held)
        arrays += held
        found = [*[t.array for t in outputs], *made]
        program = _core.Program(watch.recording, arrays, written, found, None, self.passes)
        believed = watch.is_plan or watch.launches
        if not program.follows(self.tape.values) or not (
            believed or program.repeats(arrays, found)
        ):
            raise Refusal("has other results when it is run again")
        self.step.uses = [program.uses(i) for i in range(len(arrays) - len(held), len(arrays))]
        self.program = program
        self.programs.append(("step", program, watch.places))
        return result

    def record_gradients(self, graph: Graph, seeds: list) -> list:
        """The gradients of what wants them, computed by the recorded graph; and their program."""
        watch = Recorder()
        try:
            if not watch.start():
                return graph.differentiate(seeds)
            watch.recording.follow(self.tape)
            watch.is_following = bool(self.tape.varying)
            self.tape.thread = threading.get_ident()
            with watch:
                found = graph.differentiate(seeds)
        finally:
            self.tape.close(watch.recording)
            watch.close()
        self.guards += watch.finish()
        self.found = [k for k, g in enumerate(found) if g is not None]
        externals = [*graph.arrays, *graph.outputs, *seeds]
        try:
            if watch.effect:
                raise Refusal(watch.effect)
            arrays = [found[k] for k in self.found]
            if any(type(array) is not _core.NDArray for array in arrays):
                raise Refusal("has sparse gradients")
            written = watch.writes(externals)
            gradients = _core.Program(
                watch.recording, externals, written, arrays, self.program, self.passes
            )
            if not gradients.follows(self.tape.values):
                raise Refusal("has other results when it is run again")
            self.program.keep_for(gradients)
        except (Refusal, RuntimeError) as why:
            self.program, self.refusal = None, f"{why}, in its gradients"
            self.note(self.refusal)
        else:
            self.used = [i for i in range(len(externals) - len(seeds)) if gradients.uses(i)]
            self.seeds = [(s.shape, s.strides) for s in seeds]
            self.gradients = gradients
            self.programs.append(("backward", gradients, watch.places))
        return found

    # ---- running --------------------------------------------------------------------------------

    def holds(self, inputs: list[Tensor]) -> bool:
        """Whether all that the recording rests on is as it was."""
        return (
            _core.guards_hold(self.guards)
            and all(map(is_, [t.array for t in self.beside], self.arrays))
            and [t.requires_grad for t in self.beside] == self.required
            and all(inputs[i] is t for i, t in self.bound)
            and (self.histories is None or self.histories == histories_of(inputs))
            and all(inputs[i].array.offset == offset for i, offset in self.offsets)
            and not self.is_lost()
            and (
                self.program is None
                or not self.steps
                or bool(self.step.before)
                or self.step.find([*inputs, *self.beside]) is not None
            )
        )

    def is_lost(self) -> bool:
        """Whether its graph is gone before its gradients were asked for."""
        return self.graph is not None and self.gradients is None and self.graph() is None

    def run(self, inputs: list[Tensor], values: Any) -> Any:
        """(result,) of the program, with the tape's values; None where the function is to run."""
        if self.program is None or (self.wants and self.gradients is None):
            return None
        if self.steps:
            return self.run_step(inputs, values)
        everything = [*inputs, *self.beside]
        arrays = [t.array for t in everything]
        if self.uncaptured:
            self.capture("forward", self.program, arrays)
        done = self.program.run(arrays, None, values)
        if done is None:
            return None
        outputs, kept = done
        node = None
        if self.wants:
            both = [*arrays, *outputs]
            saved = [both[i] for i in self.used]
            edges = tuple([edge_of(t) for t in everything])
            node = Node(self.op, edges, (None, kept, values, edges, *saved))
        return (self.answer(outputs, node),)

    def run_step(self, inputs: list[Tensor], values: Any) -> Any:
        """As `run`; stores gradients, and makes the calls that stand between the launches."""
        if side_streams and self.program.device == "cuda":
            wait_for_streams()  # as backward does
        fill = functools.partial(with_values, tape=self.tape, values=values)
        for call in self.step.before:
            fill(call)()
        everything = [*inputs, *self.beside]
        held = self.step.find(everything)
        if held is None:
            return None
        arrays = [t.array for t in everything]
        arrays += [a if used else NOTHING for a, used in zip(held, self.step.uses, strict=True)]
        if self.uncaptured:
            self.capture("step", self.program, arrays)
        run = StepRun(self.step, everything, held, len(self.places), fill)
        done = self.program.run(arrays, run.advance, values)
        if done is None:
            return None
        run.advance(done[0])
        return (self.answer(done[0][: len(self.places)], None),)

    def capture(self, what: str, program: Any, arrays: list) -> None:
        """Makes the program one CUDA graph, if it can be captured; tried once."""
        if what not in self.uncaptured or program.device != "cuda" or is_capturing():
            return
        self.uncaptured.remove(what)
        first = self.inputs + len(self.beside)
        fixed = [self.inputs <= i < first for i in range(len(arrays))]  # parameters and buffers
        results = range(first, first + len(self.places)) if what == "backward" else ()
        try:
            program.capture(arrays, fixed, [i in results for i in range(len(arrays))])
        except RuntimeError as why:
            self.note(f"is no CUDA graph: {what}: {why}")

    def answer(self, arrays: list, node: Node | None) -> Any:
        results = list(self.results)
        for j, (k, array) in enumerate(zip(self.places, arrays, strict=True)):
            has_edge = node is not None and self.differentiable[j]
            results[k] = wrap(array, (node, j)) if has_edge else wrap(array)
        for j, first in self.twins.items():
            results[self.places[j]] = results[self.places[first]]
        return results[0] if self.spec is None else tree_unflatten(results, self.spec)

    def run_gradients(self, saved: tuple, seeds: list) -> list:
        """Gradients by the program, from what the forward has kept."""
        seeds = [
            g if (g.shape, g.strides) == layout else laid_out(g, layout)
            for g, layout in zip(seeds, self.seeds, strict=True)
        ]
        count = self.gradients.externals
        arrays = [seeds[0]] * count
        for i, array in zip(self.used, saved[4:], strict=True):
            arrays[i] = array
        arrays[self.inputs + len(self.beside) + len(self.places) :] = [
            *seeds, saved[1] if saved[1] is not None else seeds[0],
        ]  # fmt: skip
        if self.uncaptured:
            self.capture("backward", self.gradients, arrays)
        done = self.gradients.run(arrays, None, saved[2])
        if done is None:
            raise RuntimeError(
                "torch.compile: a check within backward has failed that held when it was recorded"
            )
        return done[0]
