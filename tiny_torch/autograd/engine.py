"""Backward: runs the nodes behind some outputs, youngest first, and delivers gradients to leaves.

A node has a higher number than all nodes that it was made from. So in the order of falling numbers
every node has its whole gradient before it runs. No recursion: a graph may be 100,000 ops deep.

A gradient on its way is an array, or a Term, which is added to an array later (term.py). Under
``create_graph`` it is a tensor, and the same formulas are recorded. A gradient that a hook has seen
stays the tensor that the hook saw (seen.py).

All state is in one Run; which Runs are calling users' code, the thread knows. A backward may run
inside another, in a hook or a signal's handler, or beside it in another thread. A Run changes the
thread's modes only around code that may be a user's, so that a signal's handler finds the modes of
the program.

Not here: the error of a second backward (Node.unpack in graph.py); hooks (hooks.py), anomaly
detection, modes that see ops, the profiler's record. These are called where a node has hooks, or
by modes.module_of where their bit is set.
"""

from __future__ import annotations

from operator import attrgetter

from tiny_torch import _core
from tiny_torch.autograd.accumulate import accumulate, add_to_grad
from tiny_torch.autograd.grad_mode import RECORDING, UNRECORDED
from tiny_torch.autograd.graph import (
    EMPTY,
    FRESH,
    SOLE,
    Identity,
    Node,
    TensorBase,
    anchor,
    check_saved,
    edge_of,
)
from tiny_torch.autograd.seen import as_formulas_see, as_users_see, passed_on
from tiny_torch.autograd.term import NDArray, Term, compute_all
from tiny_torch.base.devices import side_streams, wait_for_streams
from tiny_torch.base.modes import ANOMALY, INFERENCE, RECORDED, WATCHED, modes, module_of, thread
from tiny_torch.tensor import wrap

# take(dict or list, key): removes it; (value or None, whether that may be written: nobody else
# holds it or its memory, and it has an address for each element)
take = _core.take
by_sequence = attrgetter("sequence")
NO_WRITE = 2**63 - 1  # a stamp that no write is later than
within = _core.within


def run_backward(
    roots,
    gradients,
    *,
    retain_graph: bool,
    create_graph: bool,
    inputs=None,
    accumulate: bool = True,
):
    """Runs the graph behind `roots` (edges) from `gradients` (tensors, or arrays of our own).

    Leaves get theirs in ``.grad`` if `accumulate`, of `inputs` (edges) only if any are given. Else
    answers the gradients of `inputs`, None where the graph does not lead to one. On a GPU it runs
    in the current stream, after all that the forward may have been given to others.
    """
    if side_streams:
        wait_for_streams()
    create_graph = create_graph and not modes.bits & INFERENCE
    call = Run(retain_graph, create_graph, inputs, accumulate)
    if create_graph:
        return within(RECORDING, call.run, roots, gradients)
    return call.run(roots, gradients)


def is_watched():
    """Whether a mode has a say in a node's backward: autocast has none."""
    return bool(modes.bits & WATCHED) and module_of[WATCHED].sees_backward()


class Run:
    """One call of backward: the buffers of gradients that are on their way."""

    callbacks = ()  # what queue_callback (hooks.py) has put behind its end

    def __init__(self, retain_graph, create_graph, inputs, accumulate):
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.mode = RECORDING if create_graph else UNRECORDED
        self.inputs = inputs
        self.wanted = None if inputs is None else frozenset(inputs)
        self.accumulate = accumulate
        # whether more is to be done around a node's backward than to call it
        self.careful = create_graph or bool(modes.bits & ANOMALY) or is_watched()
        self.record = module_of[RECORDED] if modes.bits & RECORDED else None
        self.buffers = {}  # node: its gradient, or a list of them if it has several outputs
        self.waiting = {}  # leaf: how many gradients it still awaits
        self.leaf_grads = {}
        self.ready = []  # leaves that have all of it
        self.found = {}  # gradients of the inputs that were asked for

    def run(self, roots, gradients):
        self.order = order = self.collect(roots)
        self.leading = leading = None if self.inputs is None else self.leading_to_inputs(order)
        for edge, gradient in zip(roots, gradients, strict=True):
            self.deliver(edge, as_users_see(gradient) if self.create_graph else gradient)
        self.finish_leaves()
        buffers = self.buffers
        for node in order:
            grad = buffers.pop(node, None)
            # truthy where an input wants its gradient; None if none does
            needs = node.edges if leading is None else leading.get(node)
            if grad is None:
                self.skip(node, needs)
                continue
            if type(grad) is Term:
                grad = grad.value()
            if node.hooks:
                grad = within(self.mode, node.hooks.see, self, grad)
            if self.wanted:
                self.capture(node, grad)
            if needs is None:
                continue
            row = None if self.record is None else self.record.enter_node(node, grad)
            results = self.gradients_of_inputs(node, grad, needs)
            grad = None
            shapes = node.inputs
            for i, edge in enumerate(node.edges):
                if edge is None or not needs[i]:
                    continue
                result = results[i]
                if shapes is not None and shapes[i] is not None and result is not None:
                    result = self.sum_to(result, *shapes[i])
                self.deliver(edge, result)
            if row is not None:
                _core.leave(row)
            results = result = None  # their references would make a gradient look shared
            if self.ready:
                if node.op.last_first and edge and self.ready[-1] is edge[0]:
                    self.ready.insert(0, self.ready.pop())
                self.finish_leaves()
        self.finish_leaves()
        for callback in self.callbacks:
            within(self.mode, callback)
        if self.inputs is not None and not self.accumulate:
            return [self.found.get(edge) for edge in self.inputs]
        return None

    def gradients_of_inputs(self, node, grad, needs):
        """A tuple of what a node's backward answers; frees what the node has saved."""
        if self.careful or node.hooks is not None:
            results = within(self.mode, self.call_carefully, node, grad, needs)
            state = EMPTY
        else:
            saved, state = node.saved, EMPTY
            if saved and type(saved) is tuple:
                state = check_saved(saved, node.sequence)
            if saved and state < FRESH:
                saved, state = self.unpack(node, state)
            values = grad if type(grad) is NDArray else as_formulas_see(grad)
            if state == SOLE and node.op.overwrites and not self.retain_graph:
                results = node.op.backward(saved, values, needs, True)
            else:
                results = node.op.backward(saved, values, needs)
            if values is not grad:
                results = passed_on(results, values, grad)
        if not self.retain_graph and node.saved:
            node.release()
        return results if type(results) is tuple else (results,)

    def unpack(self, node, state):
        """What a node has saved if that is not just arrays, and what check_saved says of it."""
        thread.enter_backward(self)
        if type(node.saved) is tuple:
            return node.unpack(False), state
        saved = within(UNRECORDED, node.unpack, False)
        return saved, check_saved(saved, NO_WRITE)  # what hooks make for this call is its own

    def sum_to(self, gradient, shape, dtype):
        if type(gradient) is NDArray:
            return sum_to(gradient, shape, dtype)
        return within(self.mode, sum_to, gradient, shape, dtype)

    def call_carefully(self, node, grad, needs):
        """A node's backward under create_graph, with hooks of its own, or in a mode."""
        if modes.bits & ANOMALY:
            return module_of[ANOMALY].call_watched(self.call, node, grad, needs)
        return self.call(node, grad, needs)

    def call(self, node, grad, needs):
        if node.hooks:
            return node.hooks.call_between(self.backward_of, node, grad, needs)
        return self.backward_of(node, tuple(grad) if type(grad) is list else grad, needs)

    def backward_of(self, node, grad, needs):
        if is_watched():
            return module_of[WATCHED].backward_through_modes(self.backward_of, node, grad, needs)
        thread.enter_backward(self)
        if self.create_graph:
            # An op that has not saved its input, or not all of them, has a backward that can be
            # differentiated itself.
            op = node.op
            if op.composite is not None and 0 in op.saves and not op.used_by:
                return through_composite(node, grad, needs)
            saved = node.unpack(True) if node.saved else ()
            results = compute_all(op.backward(saved, grad, needs))
            return anchor(results, node.edges[0]) if op.piecewise else results
        saved = node.unpack(False) if node.saved else ()
        if node.op.takes_tensors:
            return node.op.backward(saved, as_users_see(grad), needs)
        values = as_formulas_see(grad)
        return passed_on(compute_all(node.op.backward(saved, values, needs)), values, grad)

    def collect(self, roots):
        """All nodes behind the roots, youngest first; counts what each leaf will receive."""
        waiting = self.waiting
        order = []
        seen = set()
        edges = list(roots)
        for target, _ in edges:  # which grow
            if not isinstance(target, Node):
                waiting[target] = waiting.get(target, 0) + 1
            elif target not in seen:
                seen.add(target)
                order.append(target)
                edges += filter(None, target.edges)
        order.sort(key=by_sequence, reverse=True)
        return order

    def leading_to_inputs(self, order):
        """{node: needs} of the nodes through which an input is reached."""
        wanted = self.wanted
        leading = {}
        for node in reversed(order):
            needs = tuple(
                [edge is not None and (edge in wanted or edge[0] in leading) for edge in node.edges]
            )
            if True in needs:
                leading[node] = needs
        for node in order:  # leaves now await only what those nodes send
            needs = leading.get(node)
            for i, edge in enumerate(node.edges):
                if (
                    edge is not None
                    and not isinstance(edge[0], Node)
                    and (not needs or not needs[i])
                ):
                    self.waiting[edge[0]] -= 1
        return leading

    def deliver(self, edge, gradient):
        """Adds to what an edge's target has so far; a leaf that has all gets it."""
        target, output = edge
        if isinstance(target, Node):
            if gradient is None:
                return
            if target.op.outputs == 1:
                self.add(self.buffers, target, gradient)
            else:
                outputs = self.buffers.setdefault(target, [None] * target.op.outputs)
                self.add(outputs, output, compute_all(gradient))
            return
        if type(gradient) is Term and target._grad is not None and self.accumulate:
            gradient = None if add_to_grad(target, gradient) else gradient
        if type(gradient) is Term and target not in self.leaf_grads:
            gradient = gradient.value()
        if gradient is not None:
            self.add(self.leaf_grads, target, gradient)
        awaited = self.waiting[target] = self.waiting[target] - 1
        if awaited == 0:
            self.ready.append(target)

    def add(self, sums, key, gradient):
        """Adds to a gradient that may be there, in its memory if that is ours alone."""
        so_far, sole = take(sums, key)
        if so_far is None:
            sums[key] = gradient
            return
        if not self.create_graph:
            if type(so_far) is not NDArray:
                so_far = as_formulas_see(so_far)
            if type(gradient) is not NDArray:
                gradient = as_formulas_see(gradient)
        if type(so_far) is Term:
            so_far, sole = so_far.value(), True
        if type(gradient) is Term:
            if sole and gradient.add_to(so_far):
                sums[key] = so_far
                return
            gradient = gradient.value()
        if sole and type(gradient) is NDArray and gradient.dtype is so_far.dtype:
            sums[key] = so_far.add(gradient, so_far)
        elif type(so_far) is NDArray and type(gradient) is not NDArray:
            sums[key] = gradient + so_far  # a sparse one, which knows how
        else:
            sums[key] = so_far + gradient

    def skip(self, node, needs):
        """A node that got no gradient sends none: the leaves behind it must not wait for it."""
        if needs is None:
            return
        if node.hooks:
            within(self.mode, node.hooks.call_without_gradient, self, node)
        for edge, need in zip(node.edges, needs, strict=True):
            if need:
                self.deliver(edge, None)

    def reaches(self, target):
        """Whether the gradient of what a node or leaf stands for is among those computed."""
        if not isinstance(target, Node):
            return target in self.waiting and (self.wanted is None or (target, 0) in self.wanted)
        if self.leading is None:
            return target in self.order
        outputs = range(target.op.outputs)
        return target in self.leading or any((target, j) in self.wanted for j in outputs)

    def capture(self, node, grad):
        """Keeps a node's gradient where it was asked for."""
        outputs = grad if type(grad) is list else [grad]
        for j, value in enumerate(outputs):
            if (node, j) in self.wanted and value is not None:
                self.found[(node, j)] = as_users_see(value)

    def finish_leaves(self):
        """Gives leaves that have all of their gradient to ``.grad``, or to who asked for it."""
        ready, self.ready = self.ready, []
        for leaf in ready:
            if self.wanted is not None and (leaf, 0) not in self.wanted:
                continue
            if leaf._hooks:
                within(self.mode, leaf._hooks.see, self, leaf)
            gradient, sole = take(self.leaf_grads, leaf)  # a hook may have kept it: asked after
            if not self.accumulate:
                if gradient is not None:
                    self.found[(leaf, 0)] = as_users_see(gradient)
                continue
            post_hooks = leaf._post_hooks
            row = None if self.record is None else self.record.enter_accumulation()
            seen = None
            if gradient is not None:
                if post_hooks and post_hooks.want_gradient():
                    seen, sole = as_users_see(gradient), False
                if not self.create_graph and isinstance(gradient, TensorBase):
                    held = [gradient.array]
                    gradient = None  # if nobody else has the tensor, its array is now ours alone
                    gradient, sole = take(held, 0)
                accumulate(leaf, gradient, sole, self.create_graph)
            if post_hooks:
                within(self.mode, post_hooks.call_after, leaf, seen)
            _core.leave(row)


def sum_to(gradient, shape, dtype):
    """A gradient of a broadcast result, taken back to the input's shape and dtype."""
    if gradient.shape != shape:
        lead = gradient.ndim - len(shape)
        dims = tuple(range(lead)) + tuple(
            lead + i for i, n in enumerate(shape) if n == 1 and gradient.shape[lead + i] != 1
        )
        if dims:
            gradient = gradient.sum(dims, True)
        if lead:
            gradient = gradient.reshape(shape)
    if gradient.dtype is dtype:
        return gradient
    return gradient.to(dtype) if hasattr(gradient, "array") else gradient.astype(dtype)


def through_composite(node, grad, needs):
    """A fused op's gradient: its values are backward's, its history that of the simple ops."""
    op = node.op
    saved = node.unpack(True)
    inputs = [None] * len(node.edges)
    marks = [None] * len(node.edges)  # where this gradient ends: before hooks, and once per input
    for place, value in zip(op.saves, saved, strict=False):
        if place is not None and place >= 0 and value is not None:
            inputs[place] = value
            edge = edge_of(value)
            if edge is not None:
                marks[place] = (Node(Identity, (edge,), ()), 0)
                inputs[place] = wrap(value.array, marks[place])
    outputs = within(RECORDING, op.composite, *inputs, *node.constants)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    grads = grad if isinstance(grad, tuple) else (grad,)
    pairs = [
        (edge_of(output), g)
        for output, g in zip(outputs, grads, strict=False)
        if g is not None and edge_of(output) is not None
    ]
    wanted = [mark for mark, need in zip(marks, needs, strict=True) if need]
    found = run_backward(
        [edge for edge, _ in pairs],
        [g for _, g in pairs],
        retain_graph=True,
        create_graph=True,
        inputs=wanted,
        accumulate=False,
    )
    values = compute_all(
        op.backward(
            tuple([v.array if isinstance(v, TensorBase) else v for v in saved]),
            as_formulas_see(grad),
            needs,
        )
    )
    values = values if type(values) is tuple else (values,)
    results = iter(found)
    return tuple(
        [
            of_history(value, next(results)) if need else None
            for value, need in zip(values, needs, strict=False)
        ]
    )


def of_history(value, gradient):
    """The value, with the history of a gradient that was computed in another way."""
    if value is None or gradient is None:
        return gradient if value is None else wrap(value)
    like = gradient.array
    return wrap(sum_to(value, like.shape, like.dtype), edge_of(gradient))
