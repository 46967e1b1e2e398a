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
def expand_layout(own, own_strides, wanted):
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
def next_scale(scale, steps, found_inf, growth, backoff, interval):
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
    "1.2": """
def positions(shape, strides, offset=0):
    places = [offset]
    for n, s in zip(shape, strides):
        places = [p + i * s for p in places for i in range(n)]
    return places
""",
    "1.6": """
def broadcast_shapes(a, b):
    a, b = list(a), list(b)
    n = max(len(a), len(b))
    a = [1] * (n - len(a)) + a
    b = [1] * (n - len(b)) + b
    out = []
    for d, (x, y) in enumerate(zip(a, b)):
        if x != y and x != 1 and y != 1:
            raise RuntimeError(f"{x} and {y} at dim {d}")
        out.append(y if x == 1 else x)
    return tuple(out)
""",
    "2.1": """
def central_difference(function, x, direction, eps):
    ups, downs = function(x + eps * direction), function(x - eps * direction)
    return [(u - d) / (2 * eps) for u, d in zip(ups, downs)]
""",
    "2.2": """
def backward(saved, grad, needs):
    x, y = saved
    return (grad / y if needs[0] else None, 0 - grad / y * (x / y) if needs[1] else None)
""",
    "2.4": """
def spread(grad, shape, dims, keepdim):
    n = len(shape)
    if n == 0:
        return grad.reshape(()).expand(())
    dims = {d % n for d in dims} if dims else set(range(n))
    if not keepdim:
        grad = grad.reshape(tuple(1 if d in dims else shape[d] for d in range(n)))
    return grad.expand(shape)
""",
    "2.5": """
def sum_to(gradient, shape, dtype):
    lead = gradient.ndim - len(shape)
    dims = tuple(range(lead)) + tuple(
        d + lead for d in range(len(shape)) if shape[d] == 1 and gradient.shape[d + lead] != 1
    )
    if dims:
        gradient = gradient.sum(dims, True)
        if lead:
            gradient = gradient.reshape(shape)
    if gradient.dtype is not dtype:
        gradient = gradient.to(dtype) if hasattr(gradient, "array") else gradient.astype(dtype)
    return gradient
""",
    "3.3": """
def normalise(x, dims, eps, centered=True):
    wide = x.float() if x.dtype.itemsize == 2 else x
    dims = tuple(dims)
    if centered:
        wide = wide - wide.mean(dims, keepdim=True)
    v = (wide * wide).mean(dims, keepdim=True)
    return (wide / (v + eps).sqrt()).to(x.dtype)
""",
    "6.1": """
def windows_of(size, windows):
    k, d, p, s = windows
    return [(size[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(2)]
""",
    "6.5": """
def step(a, b, h, c):
    i, f, g, o = (a + b).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c
""",
    "6.6": """
def step(a, b, h, c):
    ar, az, an = a.chunk(3, 1)
    br, bz, bn = b.chunk(3, 1)
    r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
    n = (an + r * bn).tanh()
    return (1 - z) * n + z * h, None
""",
    "4.4": """
#include <cstdint>
void sum_rows(const float* x, float* y, int64_t rows, int64_t size) {
  for (int64_t r = 0; r < rows; ++r) {
    float part[8] = {};
    for (int64_t i = 0; i < size; ++i) part[i % 8] += x[r * size + i];
    for (int half = 4; half; half /= 2)
      for (int j = 0; j < half; ++j) part[j] += part[j + half];
    y[r] = part[0];
  }
}
""",
    "7.6": """
def one_forward_one_backward(stage, stages, microbatches):
    forwards = [("F", stage, i) for i in range(microbatches)]
    backwards = [("B", stage, i) for i in range(microbatches)]
    order, forwards = forwards[: stages - stage], forwards[stages - stage :]
    for backward in backwards:
        order += [backward, *forwards[:1]]
        forwards = forwards[1:]
    return order
""",
    "7.7": """
def ring_all_reduce(rank, ranks, segments, exchange):
    here = (rank - 1) % ranks
    for turn in range(2 * ranks - 2):
        came = exchange((rank + 1) % ranks, segments[here], (rank - 1) % ranks)
        here = (here - 1) % ranks
        if turn < ranks - 1:
            segments[here] += came
        else:
            segments[here][...] = came
""",
    "7.8": """
def tree_broadcast(rank, ranks, root, value, send, receive):
    place, known = (rank - root) % ranks, 1
    if place:
        while 2 * known <= place:
            known *= 2
        value = receive((place - known + root) % ranks)
        known *= 2
    while place + known < ranks:
        send((place + known + root) % ranks, value)
        known *= 2
    return value
""",
    "7.9": """
class Reducer:
    def __init__(self, sizes, first, cap, send):
        self.send, self.buckets, bytes_of = send, [], []
        for i, size in reversed(list(enumerate(sizes))):
            limit = first if len(self.buckets) == 1 else cap
            if self.buckets and bytes_of[-1] + size <= limit:
                self.buckets[-1].append(i)
                bytes_of[-1] += size
            else:
                self.buckets.append([i])
                bytes_of.append(size)

    def begin(self):
        self.there, self.left = set(), list(self.buckets)

    def ready(self, i):
        self.there.add(i)
        while self.left and all(k in self.there for k in self.left[0]):
            self.send(self.left.pop(0))
""",
    "7.10": """
def sharded_step(rank, ranks, parameters, gradient, first, second, step, lr,
                 reduce_scatter, all_gather):
    start, stop = rank * len(first), (rank + 1) * len(first)
    g = reduce_scatter(gradient) / ranks
    first *= 0.9
    first += 0.1 * g
    second *= 0.999
    second += 0.001 * g**2
    root = (second / (1 - 0.999**step)) ** 0.5
    part = parameters[start:stop] - lr * (first / (1 - 0.9**step)) / (root + 1e-8)
    parameters[:] = all_gather(part)
""",
    "7.11": """
class Server:
    def __init__(self, parameter, workers, staleness, lr):
        self.p, self.bound, self.lr = parameter, staleness, lr
        self.sent, self.queue = {w: 0 for w in range(workers)}, []

    def ask(self, worker):
        self.queue.append(worker)
        return self.let_go()

    def gradient(self, worker, value):
        self.p = self.p - self.lr * value
        self.sent[worker] += 1
        return self.let_go()

    def let_go(self):
        told, kept = [], []
        for w in self.queue:
            ahead = self.sent[w] - min(self.sent.values())
            if ahead > self.bound:
                kept.append(w)
            else:
                told.append((w, self.p))
        self.queue = kept
        return told
""",
}

# Ways to write a tile, of which none takes more of memory than task 4.6 allows.
TILES = {
    "scalars": """
#include <algorithm>
#include <cstdint>
void matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m; i += 4)
    for (int64_t j = 0; j < n; j += 4) {
      if (m - i < 4 || n - j < 4) {
        for (int64_t x = i; x < std::min(m, i + 4); ++x)
          for (int64_t y = j; y < std::min(n, j + 4); ++y) {
            float s = 0;
            for (int64_t p = 0; p < k; ++p) s += a[x * k + p] * b[p * n + y];
            c[x * n + y] = s;
          }
        continue;
      }
      float s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0, s20 = 0,
            s21 = 0, s22 = 0, s23 = 0, s30 = 0, s31 = 0, s32 = 0, s33 = 0;
      for (int64_t p = 0; p < k; ++p) {
        float b0 = b[p * n + j], b1 = b[p * n + j + 1], b2 = b[p * n + j + 2],
              b3 = b[p * n + j + 3];
        float a0 = a[i * k + p], a1 = a[(i + 1) * k + p], a2 = a[(i + 2) * k + p],
              a3 = a[(i + 3) * k + p];
        s00 += a0 * b0;
        s01 += a0 * b1;
        s02 += a0 * b2;
        s03 += a0 * b3;
        s10 += a1 * b0;
        s11 += a1 * b1;
        s12 += a1 * b2;
        s13 += a1 * b3;
        s20 += a2 * b0;
        s21 += a2 * b1;
        s22 += a2 * b2;
        s23 += a2 * b3;
        s30 += a3 * b0;
        s31 += a3 * b1;
        s32 += a3 * b2;
        s33 += a3 * b3;
      }
      c[i * n + j] = s00;
      c[i * n + j + 1] = s01;
      c[i * n + j + 2] = s02;
      c[i * n + j + 3] = s03;
      c[(i + 1) * n + j] = s10;
      c[(i + 1) * n + j + 1] = s11;
      c[(i + 1) * n + j + 2] = s12;
      c[(i + 1) * n + j + 3] = s13;
      c[(i + 2) * n + j] = s20;
      c[(i + 2) * n + j + 1] = s21;
      c[(i + 2) * n + j + 2] = s22;
      c[(i + 2) * n + j + 3] = s23;
      c[(i + 3) * n + j] = s30;
      c[(i + 3) * n + j + 1] = s31;
      c[(i + 3) * n + j + 2] = s32;
      c[(i + 3) * n + j + 3] = s33;
    }
}
""",
    "a template of arrays": """
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>
namespace {
template <int R, int C>
struct Tile {
  std::array<std::array<float, C>, R> sum;
  void clear() {
    for (auto& row : sum) row.fill(0.f);
  }
  inline void add(const float* a, int64_t as, const float* b) {
    for (int i = 0; i < R; ++i) {
      const float x = a[i * as];
      for (int j = 0; j < C; ++j) sum[i][j] += x * b[j];
    }
  }
};
template <int R, int C>
void run_tile(const float* a, const float* b, float* c, int64_t depth, int64_t k, int64_t n) {
  Tile<R, C> t;
  t.clear();
  for (int64_t p = 0; p < depth; ++p) t.add(a + p, k, b + p * n);
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; ++j) c[i * n + j] += t.sum[i][j];
}
}  // namespace
void matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
  std::memset(c, 0, sizeof(float) * m * n);
  for (int64_t i = 0; i < m;) {
    if (m - i >= 4) {
      int64_t j = 0;
      for (; j + 16 <= n; j += 16) run_tile<4, 16>(a + i * k, b + j, c + i * n + j, k, k, n);
      for (; j < n; ++j) run_tile<4, 1>(a + i * k, b + j, c + i * n + j, k, k, n);
      i += 4;
    } else {
      int64_t j = 0;
      for (; j + 16 <= n; j += 16) run_tile<1, 16>(a + i * k, b + j, c + i * n + j, k, k, n);
      for (; j < n; ++j) run_tile<1, 1>(a + i * k, b + j, c + i * n + j, k, k, n);
      i += 1;
    }
  }
}
""",
    "packed panels": """
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>
constexpr int R = 6, C = 16;
static void micro(const float* __restrict ap, const float* __restrict bp, int64_t depth, float* c,
                  int64_t n, int64_t rows, int64_t cols) {
  float acc[R][C];
  std::memset(acc, 0, sizeof acc);
  for (int64_t p = 0; p < depth; ++p) {
    const float* x = ap + p * R;
    const float* y = bp + p * C;
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < C; ++j) acc[i][j] += x[i] * y[j];
  }
  if (rows == R && cols == C) {
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < C; ++j) c[i * n + j] += acc[i][j];
  } else {
    float out[R * C];
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < C; ++j) out[i * C + j] = acc[i][j];
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j) c[i * n + j] += out[i * C + j];
  }
}
void matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
  std::fill(c, c + m * n, 0.f);
  const int64_t K = 256;
  std::vector<float> bp((n + C) * K), ap(R * K);
  for (int64_t p0 = 0; p0 < k; p0 += K) {
    int64_t d = std::min(K, k - p0);
    for (int64_t j = 0; j < n; j += C)
      for (int64_t p = 0; p < d; ++p)
        for (int t = 0; t < C; ++t) bp[j * d + p * C + t] = j + t < n ? b[(p0 + p) * n + j + t] : 0;
    for (int64_t i = 0; i < m; i += R) {
      for (int64_t p = 0; p < d; ++p)
        for (int t = 0; t < R; ++t) ap[p * R + t] = i + t < m ? a[(i + t) * k + p0 + p] : 0;
      for (int64_t j = 0; j < n; j += C)
        micro(ap.data(), bp.data() + j * d, d, c + i * n + j, n, std::min<int64_t>(R, m - i),
              std::min<int64_t>(C, n - j));
    }
  }
}
""",
    "threads": """
#include <algorithm>
#include <cstdint>
void matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < m; i += 4)
    for (int64_t j = 0; j < n; j += 8) {
      if (m - i >= 4 && n - j >= 8) {
        float sum[4][8] = {};
        for (int64_t p = 0; p < k; ++p)
          for (int x = 0; x < 4; ++x) {
#pragma omp simd
            for (int y = 0; y < 8; ++y) sum[x][y] += a[(i + x) * k + p] * b[p * n + j + y];
          }
        for (int x = 0; x < 4; ++x)
          for (int y = 0; y < 8; ++y) c[(i + x) * n + j + y] = sum[x][y];
      } else
        for (int64_t x = i; x < std::min(m, i + 4); ++x)
          for (int64_t y = j; y < std::min(n, j + 8); ++y) {
            float s = 0;
            for (int64_t p = 0; p < k; ++p) s += a[x * k + p] * b[p * n + y];
            c[x * n + y] = s;
          }
    }
}
""",
}
