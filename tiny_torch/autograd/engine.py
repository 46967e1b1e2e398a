"""Backward: runs the nodes behind some outputs, youngest first, and delivers gradients to leaves.

A node is younger than all that it was made from, so falling sequence numbers are an order in which
every node has all of its gradient before it runs. No recursion: a graph may be 100,000 ops deep.
Gradients are arrays, or Terms, which are added to an array later (term.py). Under ``create_graph``
they are tensors, and the same formulas are recorded. What a user has seen stays a tensor (seen.py).
The engine holds no state between or during calls: a backward may run inside another, in a signal's
handler or a hook, or beside it in another thread. It changes the thread's modes only around what
may be a user's code, so that such a handler sees those of the program.
"""

from __future__ import annotations

import weakref
from operator import attrgetter

from tiny_torch import _core
from tiny_torch.autograd.accumulate import accumulate, add_to_grad, call_post_hooks
from tiny_torch.autograd.anomaly_mode import check_nan, explain
from tiny_torch.autograd.grad_mode import RECORDING, UNRECORDED
from tiny_torch.autograd.graph import (
    EMPTY,
    FREED,
    FRESH,
    SOLE,
    Identity,
    Node,
    TensorBase,
    anchored,
    check_saved,
    edge_of,
)
from tiny_torch.autograd.hooks import AFTER, BEFORE, OF_TENSOR, by_turn, checked, replaced
from tiny_torch.autograd.op_mode import backward_through_modes
from tiny_torch.autograd.record import enter_accumulation, enter_node, leave
from tiny_torch.autograd.seen import hidden, passed_on, shown
from tiny_torch.autograd.term import NDArray, Term, settled
from tiny_torch.base.devices import side_streams, wait_for_streams
from tiny_torch.base.modes import ANOMALY, INFERENCE, RECORDED, WATCHED, Setting, modes, thread
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


class Run:
    """One call of backward: the buffers of gradients that are on their way."""

    def __init__(self, retain_graph, create_graph, inputs, accumulate):
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.mode = RECORDING if create_graph else UNRECORDED
        self.inputs = inputs
        self.wanted = None if inputs is None else frozenset(inputs)
        self.accumulate = accumulate
        self.buffers = {}  # node: its gradient, or a list of them if it has several outputs
        self.waiting = {}  # leaf: how many gradients it still awaits
        self.leaf_grads = {}
        self.ready = []  # leaves that have all of it
        self.found = {}  # gradients of the inputs that were asked for

    def run(self, roots, gradients):
        order = self.collect(roots)
        leading = None if self.inputs is None else self.leading_to_inputs(order)
        self.order, self.leading = order, leading
        wanted = self.wanted
        for edge, gradient in zip(roots, gradients, strict=True):
            self.deliver(edge, shown(gradient) if self.create_graph else gradient)
        self.finish_leaves()
        retain_graph = self.retain_graph
        careful = self.create_graph or modes.bits & (ANOMALY | WATCHED)
        recorded = modes.bits & RECORDED
        buffers = self.buffers
        for node in order:
            grad = buffers.pop(node, None)
            if grad is None:
                if leading is None:
                    self.skip(node, node.edges)
                elif node in leading:
                    self.skip(node, leading[node])
                continue
            plain = type(grad) is NDArray
            if not plain and type(grad) is Term:
                grad = grad.value()
            op, edges = node.op, node.edges
            hooks = node.hooks
            if hooks:
                grad, plain = within(self.mode, self.call_hooks, hooks, grad), False
            if wanted:
                self.capture(node, grad, wanted)
            if leading is None:
                needs = edges  # truthy where an input wants its gradient, as backward asks
            elif node not in leading:
                continue
            else:
                needs = leading[node]
            row = enter_node(node, grad) if recorded else None
            saved = node.saved
            state = EMPTY  # FRESH and SOLE need no unpack, no release: 4 % of a small step
            if careful or hooks is not None:
                results = within(self.mode, self.call_carefully, node, grad, needs)
            else:
                if type(saved) is tuple and saved and saved is not FREED:
                    state = check_saved(saved, node.sequence)
                if saved and state < FRESH:
                    thread.backward = weakref.ref(self)
                    if type(saved) is tuple:
                        saved = node.unpack(False)
                    else:  # what hooks make for this call alone may be written over, too
                        saved = within(UNRECORDED, node.unpack, False)
                        state = check_saved(saved, NO_WRITE)
                seen = None
                if not plain:
                    seen, grad = grad, hidden(grad)
                if state == SOLE and op.overwrites and not retain_graph:
                    results = op.backward(saved, grad, needs, True)
                else:
                    results = op.backward(saved, grad, needs)
                if seen is not None:
                    results = passed_on(results, grad, seen)
            saved = grad = seen = None
            if not retain_graph:
                if state >= FRESH:
                    node.saved = FREED
                elif node.saved:
                    node.release()
            if type(results) is not tuple:
                results = (results,)
            shapes = node.inputs
            for i, edge in enumerate(edges):
                if edge is None or not needs[i]:
                    continue
                result = results[i]
                if result is not None and shapes is not None and shapes[i] is not None:
                    result = self.sum_to(result, *shapes[i])
                target = edge[0]
                if isinstance(target, Node) and target not in buffers and target.op.outputs == 1:
                    if result is not None:  # deliver's most common case: 2 % of a small step
                        buffers[target] = result
                else:
                    self.deliver(edge, result)  # which may be where it is computed
            if row is not None:
                leave(row)
            results = result = None  # their references would make a gradient look shared
            if self.ready:
                self.finish_leaves()
        self.finish_leaves()
        if self.inputs is not None and not self.accumulate:
            return [self.found.get(edge) for edge in self.inputs]
        return None

    def sum_to(self, gradient, shape, dtype):
        if type(gradient) is NDArray:
            return sum_to(gradient, shape, dtype)
        return within(self.mode, sum_to, gradient, shape, dtype)

    def call_carefully(self, node, grad, needs):
        """A node's backward under create_graph, with hooks of its own, or in a mode."""
        if not modes.bits & ANOMALY:
            return self.call(node, grad, needs)
        return within(Setting(thread, "running", node), self.call_checked, node, grad, needs)

    def call_checked(self, node, grad, needs):
        try:
            results = self.call(node, grad, needs)
            if thread.check_nan:
                check_nan(node, results)
        except Exception:
            explain(node)
            raise
        return results

    def call(self, node, grad, needs):
        own = node.hooks and [h for _, h in node.hooks.values() if h.turn >= BEFORE]
        if own:
            return self.call_between(node, grad, needs, own)
        return self.backward_of(node, tuple(grad) if type(grad) is list else grad, needs)

    def backward_of(self, node, grad, needs):
        if modes.bits & WATCHED:
            return backward_through_modes(self.backward_of, node, grad, needs)
        thread.backward = weakref.ref(self)
        if self.create_graph:
            # An op that has not saved its input, or not all of them, has a backward that can be
            # differentiated itself.
            op = node.op
            if op.composite is not None and 0 in op.saves and not op.used_by:
                return through_composite(node, grad, needs)
            saved = node.unpack(True) if node.saved else ()
            results = settled(op.backward(saved, grad, needs))
            return anchored(results, node.edges[0]) if op.piecewise else results
        saved = node.unpack(False) if node.saved else ()
        if node.op.takes_tensors:
            return node.op.backward(saved, shown(grad), needs)
        values = hidden(grad)
        return passed_on(settled(node.op.backward(saved, values, needs)), values, grad)

    def call_between(self, node, grad, needs, own):
        """A node's backward between the hooks of its own, which see tuples."""
        several = type(grad) is list
        grads = shown(tuple(grad) if several else (grad,))
        for hook in own:
            if hook.turn == BEFORE:
                grads = replaced(hook, grads)
        results = (None,) * len(needs)
        if any(grad is not None for grad in grads):
            results = self.backward_of(node, grads if several else grads[0], needs)
            results = results if type(results) is tuple else (results,)
        shapes = node.inputs or (None,) * len(needs)
        whole = node.op.takes_tensors  # of a user's Function, hooks see what no input wants, too
        results = [
            sum_to(r, *like) if r is not None and need and like else r if need or whole else None
            for r, need, like in zip(results, needs, shapes, strict=False)
        ]
        results = shown(tuple(results))
        for hook in own:
            if hook.turn == AFTER:
                results = replaced(hook, results, grads)
        return results

    def collect(self, roots):
        """All nodes behind the roots, youngest first; counts what each leaf will receive."""
        waiting = self.waiting
        order = []
        seen = set()
        stack = list(roots)
        for target, _ in stack:
            if isinstance(target, Node):
                if target not in seen:
                    seen.add(target)
                    order.append(target)
            else:
                waiting[target] = waiting.get(target, 0) + 1
        for node in order:
            for edge in node.edges:
                if edge is None:
                    continue
                target = edge[0]
                if isinstance(target, Node):
                    if target not in seen:
                        seen.add(target)
                        order.append(target)
                else:
                    waiting[target] = waiting.get(target, 0) + 1
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
        if not isinstance(target, Node):
            if type(gradient) is Term and target._grad is not None and self.accumulate:
                gradient = None if add_to_grad(target, gradient) else gradient
            if gradient is not None:
                if target in self.leaf_grads:
                    self.add(self.leaf_grads, target, gradient)
                else:
                    term = type(gradient) is Term
                    self.leaf_grads[target] = gradient.value() if term else gradient
            awaited = self.waiting[target] = self.waiting[target] - 1
            if awaited == 0:
                self.ready.append(target)
        elif gradient is not None:
            if target.op.outputs == 1:
                self.add(self.buffers, target, gradient)
            else:
                outputs = self.buffers.get(target)
                if outputs is None:
                    outputs = self.buffers[target] = [None] * target.op.outputs
                self.add(outputs, output, settled(gradient))

    def add(self, sums, key, gradient):
        """Adds to a gradient that may be there, in its memory if that is ours alone."""
        so_far, sole = take(sums, key)
        if so_far is None:
            sums[key] = gradient
            return
        if not self.create_graph:
            if type(so_far) is not NDArray:
                so_far = hidden(so_far)
            if type(gradient) is not NDArray:
                gradient = hidden(gradient)
        if type(so_far) is Term:
            so_far, sole = so_far.value(), True
        if type(gradient) is Term:
            if sole and gradient.add_to(so_far):
                sums[key] = so_far
                return
            gradient = gradient.value()
        if sole and gradient.dtype is so_far.dtype:
            sums[key] = so_far.add(gradient, so_far)
        else:
            sums[key] = so_far + gradient

    def skip(self, node, needs):
        """A node that got no gradient sends none: the leaves behind it must not wait for it."""
        if node.hooks:
            within(self.mode, self.call_hooks_without_gradient, node)
        for edge, need in zip(node.edges, needs, strict=True):
            if need:
                self.deliver(edge, None)

    def call_hooks(self, hooks, grad):
        several = type(grad) is list
        for output, hook in sorted(hooks.values(), key=lambda entry: entry[1].turn):
            if hook.turn >= BEFORE:
                break
            tensor = shown(grad[output] if several else grad)
            thread.backward = weakref.ref(self)
            answer = checked(hook, tensor)
            tensor = tensor if answer is None else answer
            if several:
                grad[output] = tensor
            else:
                grad = tensor
        return grad

    def call_hooks_without_gradient(self, node):
        grads = (None,) * node.op.outputs
        self.call_hooks(node.hooks, list(grads))
        for _, hook in list(node.hooks.values()):
            if hook.turn == BEFORE:
                replaced(hook, grads)
        results = (None,) * len(node.edges)
        for _, hook in list(node.hooks.values()):
            if hook.turn == AFTER:
                replaced(hook, results, grads)

    def call_leaf_hooks(self, leaf):
        for hook in sorted(leaf._hooks.values(), key=by_turn):
            gradient = self.leaf_grads.get(leaf)
            if gradient is not None:
                gradient = self.leaf_grads[leaf] = shown(gradient)
            thread.backward = weakref.ref(self)
            if hook.turn == OF_TENSOR:
                answer = checked(hook, gradient)
                self.leaf_grads[leaf] = gradient if answer is None else answer
            elif self.accumulate:
                (self.leaf_grads[leaf],) = replaced(hook, (gradient,))

    def reaches(self, target):
        """Whether the gradient of what a node or leaf stands for is among those computed."""
        if not isinstance(target, Node):
            return target in self.waiting and (self.wanted is None or (target, 0) in self.wanted)
        if self.leading is None:
            return target in self.order
        outputs = range(target.op.outputs)
        return target in self.leading or any((target, j) in self.wanted for j in outputs)

    def capture(self, node, grad, wanted):
        outputs = grad if type(grad) is list else [grad]
        for j, value in enumerate(outputs):
            if (node, j) in wanted and value is not None:
                self.found[(node, j)] = shown(value)

    def finish_leaves(self):
        ready, self.ready = self.ready, []
        for leaf in ready:
            if self.wanted is not None and (leaf, 0) not in self.wanted:
                continue
            if getattr(leaf, "_hooks", None):
                within(self.mode, self.call_leaf_hooks, leaf)
            gradient, sole = take(self.leaf_grads, leaf)  # a hook may have kept it: asked after
            if not self.accumulate:
                if gradient is not None:
                    self.found[(leaf, 0)] = shown(gradient)
                continue
            post_hooks = getattr(leaf, "_post_hooks", None)
            row = enter_accumulation() if modes.bits & RECORDED else None
            seen = None
            if gradient is not None:
                if post_hooks and any(hook.turn == AFTER for hook in post_hooks.values()):
                    seen, sole = shown(gradient), False
                if not self.create_graph and isinstance(gradient, TensorBase):
                    held = [gradient.array]
                    gradient = None  # if nobody else has the tensor, its array is now ours alone
                    gradient, sole = take(held, 0)
                accumulate(leaf, gradient, sole, self.create_graph)
            if post_hooks:
                within(self.mode, call_post_hooks, leaf, seen)
            leave(row)


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
    values = settled(
        op.backward(
            tuple([v.array if isinstance(v, TensorBase) else v for v in saved]), hidden(grad), needs
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
