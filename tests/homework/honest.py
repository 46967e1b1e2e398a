"""Solutions as students write them, by task: from the contract alone, and by the rules.

Those of tasks that are not here are ours (solution_text), whose text needs nothing else.
"""

HONEST = {
    "1.1": """
def contiguous_strides(shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))
""",
    "1.3": """
def permute(self, dims):
    if len(dims) != self.ndim:
        raise RuntimeError("as many dims as the array has")
    for d in dims:
        if not -self.ndim <= d < self.ndim:
            raise IndexError(d)
    order = [d % self.ndim for d in dims]
    if len(set(order)) != len(order):
        raise RuntimeError("a dim twice")
    shape = tuple(self.shape[d] for d in order)
    return self.as_strided(shape, tuple(self.strides[d] for d in order), self.offset)
""",
    "1.4": """
def slice(self, dim, start, stop, step):
    if not -self.ndim <= dim < self.ndim:
        raise IndexError(dim)
    if step < 1:
        raise ValueError("step")
    dim %= self.ndim
    n = self.shape[dim]
    start = min(max(start + n if start < 0 else start, 0), n)
    stop = min(max(stop + n if stop < 0 else stop, start), n)
    count = (stop - start + step - 1) // step
    shape, strides = list(self.shape), list(self.strides)
    shape[dim] = count
    if count > 1:
        strides[dim] *= step
    offset = self.offset + start * self.strides[dim] if count else self.offset
    return self.as_strided(tuple(shape), tuple(strides), offset)
""",
    "1.5": """
def unfold(self, dim, size, step):
    if self.ndim == 0:
        if dim not in (0, -1):
            raise IndexError(dim)
        if not 0 <= size <= 1 or step < 1:
            raise RuntimeError(size)
        return self.as_strided((size,), (1,), self.offset)
    if not -self.ndim <= dim < self.ndim:
        raise IndexError(dim)
    dim %= self.ndim
    if size < 0 or size > self.shape[dim] or step < 1:
        raise RuntimeError(size, step)
    shape, strides = list(self.shape), list(self.strides)
    shape[dim] = (shape[dim] - size) // step + 1
    if shape[dim] > 1:
        strides[dim] *= step
    return self.as_strided((*shape, size), (*strides, self.strides[dim]), self.offset)
""",
    "1.7": """
def expanded(own, own_strides, wanted):
    extra = len(wanted) - len(own)
    if extra < 0:
        raise RuntimeError("fewer dims")
    shape, strides = [], []
    for d, size in enumerate(wanted):
        mine = own[d - extra] if d >= extra else 1
        step = own_strides[d - extra] if d >= extra else 0
        if size == -1 and d >= extra:
            size = mine
        if size < 0 or (size != mine and mine != 1):
            raise RuntimeError(size)
        shape.append(size)
        strides.append(step if size == mine and d >= extra else 0)
    return tuple(shape), tuple(strides)
""",
    "1.8": """
def view_strides(old, old_strides, shape):
    if 0 in old:
        return tuple(1 for _ in shape)
    runs = []
    for n, step in zip(old, old_strides):
        if n == 1:
            continue
        if runs and runs[-1][1] == n * step:
            runs[-1] = (runs[-1][0] * n, step)
        else:
            runs.append((n, step))
    strides = [1] * len(shape)
    d = len(shape) - 1
    for n, step in reversed(runs):
        while n > 1:
            while d >= 0 and shape[d] == 1:
                d -= 1
            if d < 0 or n % shape[d]:
                return None
            strides[d] = step
            step *= shape[d]
            n //= shape[d]
            d -= 1
    return tuple(strides)
""",
    "2.3": """
def backward(saved, grad, needs, overwrite=False):
    (y,) = saved
    return grad * y * (1 - y)
""",
    "2.6": """
def backward(saved, grad, needs, overwrite=False):
    y, dim = saved
    if y.ndim == 0:
        return grad * 0
    return y * (grad - (grad * y).sum((dim,), True))
""",
    "2.7": """
from tiny_torch.autograd.graph import Node

def collect(self, roots):
    seen, todo = [], [edge[0] for edge in roots if edge is not None]
    known = set()
    while todo:
        x = todo.pop()
        if not isinstance(x, Node):
            self.waiting[x] = self.waiting.get(x, 0) + 1
            continue
        if id(x) in known:
            continue
        known.add(id(x))
        seen.append(x)
        todo += [edge[0] for edge in x.edges if edge is not None]
    return sorted(seen, key=lambda x: -x.sequence)
""",
    "2.8": """
def backward(saved, grad_grad, needs):
    grad, y = saved
    return grad_grad * (1 - y * y), grad_grad * grad * y * -2.0
""",
    "2.9": """
def backward(saved, grad, needs):
    x, y, dims, keepdim = saved
    if x.ndim == 0:
        return grad.reshape(x.shape) * 1
    dims = tuple(d % x.ndim for d in dims or ()) or tuple(range(x.ndim))
    if not keepdim:
        shape = tuple(1 if d in dims else n for d, n in enumerate(x.shape))
        y, grad = y.reshape(shape), grad.reshape(shape)
    ties = x == y
    return ties * (grad / ties.sum(dims, True))
""",
    "3.1": """
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("fewer than two dims")
    outputs, inputs, *kernel = tensor.shape
    field = 1
    for n in kernel:
        field *= n
    return inputs * field, outputs * field
""",
    "3.2": """
def backward(saved, grad, needs):
    x, weight = saved
    rows = 1
    for n in grad.shape[:-1]:
        rows *= n
    flat = grad.reshape((rows, grad.shape[-1]))
    of_x = grad @ weight if needs[0] else None
    of_weight = None
    if needs[1]:
        of_weight = flat.transpose(-1, -2) @ x.reshape((rows, x.shape[-1]))
    return of_x, of_weight, flat.sum((0,), False) if needs[2] else None
""",
    "3.4": """
def update_on_ref(running, x, momentum, samples):
    x = x.detach()
    if samples:
        dims = tuple(range(2, x.ndim))
        mean, var = x.mean(dims).mean(0), x.var(dims).mean(0)
    else:
        dims = (0, *range(2, x.ndim))
        mean, var = x.mean(dims), x.var(dims)
    for own, new in zip(running, (mean, var)):
        if own is not None:
            own.mul_(1 - momentum).add_(new.to(own.dtype), alpha=momentum)
""",
    "3.5": """
def composite(x, dim):
    if x.numel() == 0:
        return x * 1
    shifted = x - x.amax(dim, keepdim=True).detach()
    return shifted - shifted.exp().sum(dim, keepdim=True).log()
""",
    "6.2": """
def pair(x):
    return x if isinstance(x, tuple) else (x, x)

def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    x = input if input.ndim == 4 else input.unsqueeze(0)
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = map(pair, (kernel_size, dilation, padding, stride))
    n, c, h, w = x.shape
    rows = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    columns = (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    if rows < 1 or columns < 1:
        raise RuntimeError("no window")
    wide = x.new_zeros((n, c, h + 2 * ph, w + 2 * pw))
    wide[:, :, ph : ph + h, pw : pw + w] = x
    out = x.new_zeros((n, c, kh, kw, rows, columns))
    for i in range(kh):
        for j in range(kw):
            top, left = i * dh, j * dw
            out[:, :, i, j] = wide[:, :, top : top + (rows - 1) * sh + 1 : sh,
                                   left : left + (columns - 1) * sw + 1 : sw]
    out = out.reshape((n, c * kh * kw, rows * columns))
    return out if input.ndim == 4 else out.squeeze(0)
""",
    "6.3": """
def pair(x):
    return x if isinstance(x, tuple) else (x, x)

def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    x = input if input.ndim == 4 else input.unsqueeze(0)
    (sh, sw), (ph, pw), (dh, dw) = map(pair, (stride, padding, dilation))
    n, c, h, w = x.shape
    o, inner, kh, kw = weight.shape
    if c != inner * groups:
        raise RuntimeError("channels")
    rows = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    columns = (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    wide = x.new_zeros((n, c, h + 2 * ph, w + 2 * pw))
    wide[:, :, ph : ph + h, pw : pw + w] = x
    wide = wide.reshape((n, groups, inner, h + 2 * ph, w + 2 * pw))
    kernels = weight.reshape((groups, o // groups, inner, kh, kw))
    y = x.new_zeros((n, groups, o // groups, rows * columns))
    for i in range(kh):
        for j in range(kw):
            seen = wide[:, :, :, i * dh : i * dh + (rows - 1) * sh + 1 : sh,
                        j * dw : j * dw + (columns - 1) * sw + 1 : sw]
            seen = seen.reshape((n, groups, inner, rows * columns))
            y = y + kernels[:, :, :, i, j] @ seen
    y = y.reshape((n, o, rows, columns))
    if bias is not None:
        y = y + bias.reshape((o, 1, 1))
    return y if input.ndim == 4 else y.squeeze(0)
""",
    "6.4": """
def pair(x):
    return x if isinstance(x, tuple) else (x, x)

def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1,
                     dilation=1):
    x = input if input.ndim == 4 else input.unsqueeze(0)
    settings = map(pair, (stride, padding, output_padding, dilation))
    (sh, sw), (ph, pw), (oh, ow), (dh, dw) = settings
    n, c, h, w = x.shape
    if c != weight.shape[0]:
        raise RuntimeError("channels")
    inner, (kh, kw) = weight.shape[1], weight.shape[2:]
    rows = (h - 1) * sh + dh * (kh - 1) + 1 + oh
    columns = (w - 1) * sw + dw * (kw - 1) + 1 + ow
    y = x.new_zeros((n, groups, inner, rows, columns))
    flat = x.reshape((n, groups, c // groups, h * w))
    for i in range(kh):
        for j in range(kw):
            kernel = weight[:, :, i, j].reshape((groups, c // groups, inner)).transpose(1, 2)
            part = (kernel @ flat).reshape((n, groups, inner, h, w))
            place = (slice(None), slice(None), slice(None),
                     slice(i * dh, i * dh + (h - 1) * sh + 1, sh),
                     slice(j * dw, j * dw + (w - 1) * sw + 1, sw))
            moved = x.new_zeros((n, groups, inner, rows, columns))
            moved[place] = part
            y = y + moved
    y = y.reshape((n, groups * inner, rows, columns))[:, :, ph : rows - ph, pw : columns - pw]
    if bias is not None:
        y = y + bias.reshape((groups * inner, 1, 1))
    return y if input.ndim == 4 else y.squeeze(0)
""",
    "6.7": """
def probabilities(q, k, mask, causal, scale):
    scores = q @ k.transpose(-1, -2) * scale
    if causal:
        hidden = scores.new_ones(scores.shape[-2:]).tril() == 0
        scores = scores.masked_fill(hidden, float("-inf"))
    if mask is not None and mask.is_floating_point():
        scores = scores + mask
    elif mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    if scores.shape[-1] == 0:
        return scores
    most = scores.amax(-1, keepdim=True).detach()
    blind = most == float("-inf")
    powers = scores.masked_fill(blind, 0.0).softmax(-1)
    return powers.masked_fill(blind, 0.0)
""",
    "6.8": """
def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    sequences = list(sequences)
    if not sequences or padding_side not in ("left", "right"):
        raise RuntimeError("no sequences, or no such side")
    first = sequences[0]
    longest = max(len(s) for s in sequences)
    shape = (len(sequences), longest, *first.shape[1:])
    out = first.detach().new_full(shape, padding_value)
    for row, s in enumerate(sequences):
        if padding_side == "right":
            out[row, : len(s)] = s
        else:
            out[row, longest - len(s) :] = s
    return out if batch_first else out.transpose(0, 1)
""",
    "7.1": """
def even(segments, count):
    if segments == "sqrt":
        segments = round(count**0.5)
    if segments == 0:
        raise ZeroDivisionError("no segments")
    if not 1 <= segments <= count:
        raise ValueError(segments)
    size, found = count // segments, []
    for i in range(segments):
        last = i == segments - 1
        found.append((i * size, count if last else (i + 1) * size, not last))
    return found
""",
    "7.2": """
def adapted(scale, steps, found_inf, growth, backoff, interval):
    if found_inf:
        return scale * backoff, 0
    if steps + 1 < interval:
        return scale, steps + 1
    larger = scale * growth
    return (larger if larger < 2.0**128 else scale), 0
""",
    "3.6": """
def _update(self, param, grad, group):
    step = -grad if group["maximize"] else grad
    if group["weight_decay"]:
        step = step + group["weight_decay"] * param
    if group["momentum"]:
        state = self.state[param]
        if "momentum_buffer" in state:
            state["momentum_buffer"].mul_(group["momentum"])
            state["momentum_buffer"].add_(step * (1 - group["dampening"]))
        else:
            state["momentum_buffer"] = step.clone()
        velocity = state["momentum_buffer"]
        step = step + group["momentum"] * velocity if group["nesterov"] else velocity
    param.sub_(group["lr"] * step)
""",
    "3.7": """
def _change(self, param, grad, state, group):
    lr, eps, decay = group["lr"], group["eps"], group["weight_decay"]
    (one, two), t = group["betas"], state["step"].item()
    if decay and group["decoupled_weight_decay"]:
        param.mul_(1 - lr * decay)
    elif decay:
        grad = grad + decay * param
    m, v = state["exp_avg"], state["exp_avg_sq"]
    m.mul_(one).add_(grad * (1 - one))
    v.mul_(two).add_(grad * grad * (1 - two))
    if group["amsgrad"]:
        most = state["max_exp_avg_sq"]
        most.copy_(most.maximum(v))
        v = most
    param.sub_(lr * (m / (1 - one**t)) / ((v / (1 - two**t)).sqrt() + eps))
""",
    "3.8": """
import math

def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    many = [parameters] if hasattr(parameters, "grad") else list(parameters)
    grads = [p.grad for p in many if p.grad is not None]
    order, total = float(norm_type), None
    for grad in grads:
        size = grad.detach().abs()
        if order == math.inf:
            part = size.max() if size.numel() else size.sum()
            total = part if total is None else total.maximum(part)
        else:
            part = (size**order).sum()
            total = part if total is None else total + part
    if order != math.inf:
        total = total ** (1 / order)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError("the norm is not finite")
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return total
""",
}
