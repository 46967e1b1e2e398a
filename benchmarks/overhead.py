"""What a call costs: the everyday functions and methods on tensors of three elements.

"grad: x" stands for lines where x requires grad.
"""

from benchmarks.line import Line

NUMBER = 300  # statements per sample
TURN = 0.02

PREPARE = """
F, nn = torch.nn.functional, torch.nn
x, y, w = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.5, 3.0, 0.5]), torch.rand(3)
z, out, one = torch.zeros(3), torch.empty(3), torch.tensor(1.5)
m, n = torch.arange(6.0).view(2, 3), torch.arange(9.0).view(3, 3)
i, k, t = torch.tensor([0, 2, 1]), torch.tensor([[0, 1, 1]]), torch.tensor([1, 0])
b = x > 0
a = [0.1, 0.2, 0.3]
linear, relu, sequence = nn.Linear(3, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 4), nn.Tanh())
norm, drop, embedding = nn.LayerNorm(3), nn.Dropout(0.5), nn.Embedding(5, 3)
weights = [torch.ones(3, requires_grad=True) for _ in range(2)]
for p in weights: p.grad = torch.ones(3)
sgd = torch.optim.SGD(weights, 0.0)
momentum = torch.optim.SGD(weights, 0.0, momentum=0.9)
adam, adamw = torch.optim.Adam(weights, 0.0), torch.optim.AdamW(weights, 0.0)
x.requires_grad_({grad})
m.requires_grad_({grad})
"""

# Each is measured with and without grad.
DIFFERENTIABLE = """
x + y|x - y|x * y|x / y|x * 2|x + 1|1 - x|2 / x|x ** 2|-x|x @ y|m @ n|abs(x)|torch.add(x, y)
torch.add(x, y, alpha=2)|torch.sub(x, y, alpha=2)|torch.mul(x, 2.0)|x.div(y)|x.exp()|x.log()
x.sqrt()|x.rsqrt()|x.sin()|x.tanh()|x.sigmoid()|x.relu()|x.abs()|x.square()|x.neg()|x.reciprocal()
x.pow(2)|torch.exp(x)|torch.sigmoid(x)|torch.erf(x)|x.round()|x.sign()|x.clamp(-1, 1)
x.clamp(min=0)|torch.clamp(x, max=1.0)|x.clamp_min(0.0)|torch.lerp(x, y, 0.3)|torch.lerp(x, y, w)
torch.addcmul(x, y, w)|torch.addcmul(x, y, w, value=0.5)|torch.addcdiv(x, y, y, value=0.5)
torch.maximum(x, y)|torch.where(b, x, y)|torch.where(b, x, 0.0)|x.masked_fill(b, 0.0)
x.masked_select(b)|torch.hypot(x, y)|torch.atan2(x, y)|x.sum()|x.sum(0)|x.sum(dim=0, keepdim=True)
m.sum((0, 1))|x.mean()|m.mean(1)|x.prod()|x.max()|m.max(1)|x.amax()|m.amax(1)|x.var()|x.std()
x.norm()|x.logsumexp(0)|x.cumsum(0)|x.cumprod(0)|x.view(3, 1)|x.reshape(1, 3)|m.t()|m.T|m.mT
m.transpose(0, 1)|m.permute(1, 0)|x.unsqueeze(0)|m.squeeze()|m.flatten()|x.expand(2, 3)
m.unbind(0)|m.chunk(2)|m.split(1)|m.select(0, 1)|m.narrow(1, 0, 2)|x[0]|m[0]|m[:, 1]|m[0, 1]|x[1:]
x[None]|x[..., 0]|x[i]|x[b]|m.diagonal()|x.view_as(y)|torch.cat([x, y])|torch.cat([m, m], 1)
torch.stack([x, y])|x.repeat(2)|x.flip(0)|m.tril()|m.gather(0, k)|m.index_select(1, i)|x.sort()
x.topk(2)|x.softmax(0)|x.log_softmax(0)|torch.softmax(x, 0)|x.clone()|x.contiguous()|x.detach()
x.to(torch.float64)|x.double()|x.half()|x.to(x)|x.float()|x.type_as(y)|torch.matmul(m, n)
torch.mm(m, n)|torch.dot(x, y)|torch.outer(x, y)|torch.bmm(m[None], n[None])
torch.einsum("ij,jk->ik", m, n)|torch.addmm(y, m, n)|torch.cross(x, y, dim=0)|F.relu(x)
F.linear(m, n, y)|F.softmax(m, 1)|F.log_softmax(m, -1)|F.gelu(x)|F.silu(x)|F.softplus(x)
F.cross_entropy(m, t)|F.mse_loss(x, y)|F.nll_loss(m, t)|F.layer_norm(m, (3,))|F.leaky_relu(x)
F.binary_cross_entropy_with_logits(x, w)|F.dropout(x, 0.5)|F.dropout(x, 0.5, False)|F.one_hot(i)
linear(m)|relu(x)|sequence(m)|norm(m)|drop(x)
"""
OTHERS = """
x > 0|x == y|x < y|x != 0|b & b|~b|b.any()|b.all()|torch.logical_not(b)|x.isnan()
torch.isfinite(x)|x.argmax()|m.argmax(1)|i + 1|i * i|i // 2|i % 2|x // 2|x % 2|torch.nonzero(b)
torch.eq(x, y)|torch.zeros(3)|torch.ones(2, 3)|torch.empty(3)|torch.full((3,), 1.5)
torch.arange(3)|torch.arange(0, 1, 0.3)|torch.eye(3)|torch.linspace(0, 1, 3)|torch.tensor(1.0)
torch.tensor([1.0, 2.0])|torch.tensor(a)|torch.as_tensor(a)|torch.zeros_like(x)|torch.ones_like(x)
torch.empty_like(x)|torch.full_like(x, 2.0)|torch.rand_like(x)|torch.rand(3)|torch.randn(3)
torch.randint(0, 5, (3,))|torch.randperm(3)|x.new_zeros(3)|x.new_tensor(a)
torch.zeros(3, dtype=torch.int64)|torch.bernoulli(w)|torch.normal(0.0, 1.0, (3,))|one.item()
x.tolist()|float(one)|bool(one)|int(one)|len(x)|x.numpy()|x.numel()|x.dim()|x.size()|x.size(0)
x.shape|x.dtype|x.device|x.is_contiguous()|x.stride()|x.requires_grad|x.grad|x.is_floating_point()
x.data|x.element_size()|x.ndim|x.data_ptr()|x.is_leaf|x.grad_fn|z.add_(0.0)|z.add_(y, alpha=0)
z.mul_(1.0)|z.sub_(z)|z.div_(1.0)|z.zero_()|z.fill_(0.0)|z.copy_(y)|z.clamp_(-1, 1)
z.masked_fill_(b, 0.0)|z.exp_()|z.neg_()|z.relu_()|z.lerp_(y, 0.5)|z.addcmul_(y, w, value=0.1)
z.addcdiv_(y, y)|z.uniform_()|z.normal_()|z.index_fill_(0, i, 0.0)|z.index_add_(0, i, y)
z.scatter_(0, i, y)|z.scatter_add_(0, i, y)|z.__setitem__(0, 1.0)|z.__setitem__(b, 0.0)
z.__setitem__(slice(1, 2), 0.0)|z.__iadd__(y)|z.sqrt_()|z.sigmoid_()|torch.add(y, w, out=out)
torch.mul(y, 2.0, out=out)|torch.exp(y, out=out)|torch.sum(m, 0, out=out)
torch.cat([y[:1], y[:2]], out=out)|torch.clamp(y, 0, 1, out=out)|torch.matmul(n, y, out=out)
torch.addcmul(y, w, w, out=out)|torch.maximum(y, w, out=out)|torch.cumsum(y, 0, out=out)
torch.abs(y, out=out)|torch.where(b, y, w, out=out)|torch.equal(x, y)|torch.allclose(x, x)
torch.isclose(x, y)|torch.bincount(i)|torch.unique(i)|torch.no_grad().__enter__()|sgd.step()
momentum.step()|adam.step()|adamw.step()|sgd.zero_grad(False)|embedding(i)|torch.is_tensor(x)
torch.is_grad_enabled()|torch.manual_seed(0)|torch.numel(x)|torch.get_default_dtype()
"""
BACKWARD = """
(x * y).sum().backward()|x.sum().backward()|F.cross_entropy(m, t).backward()
linear(m).sum().backward()|x[0].backward()|x.softmax(0).sum().backward()|m.mean().backward()
torch.cat([x, x]).sum().backward()
"""
# 50 ops and their 50 nodes; the same while a profile records them, which begins with each sample.
STEP = (
    PREPARE
    + """
def step():
    y = x
    for _ in range(25): y = y * w + z
    y.backward(w)

profile = None
def record():
    global profile
    if profile: profile.stop()
    profile = torch.profiler.profile()
    profile.start()
"""
)
STEPS = {"step of 100 ops": "pass", "step of 100 ops, profiled": "record()"}


def statements(text: str) -> list[str]:
    return [s for line in text.strip().splitlines() for s in line.split("|")]


def make_lines() -> list[Line]:
    plain = statements(DIFFERENTIABLE) + statements(OTHERS)
    tracked = statements(DIFFERENTIABLE) + statements(BACKWARD)
    before = "torch.set_grad_enabled(True)"
    calls = [
        Line(name + s, 1.0, PREPARE.format(grad=grad), s, before, NUMBER, turn=TURN)
        for name, grad, texts in [("", False, plain), ("grad: ", True, tracked)]
        for s in texts
    ]
    prepare = STEP.format(grad=True)
    return calls + [Line(n, 1.0, prepare, "step()", first, 20) for n, first in STEPS.items()]
