"""Calls whose gradients test_ops_alone.py checks by differences: of the ops beyond op_cases.py.

Each is an expression of float64 tensors, which require grad: x (4, 6), y (6, 4), v (6), one (),
s (2, 3, 4), image (1, 4, 5, 6), line (1, 4, 7), cube (1, 2, 3, 4, 3), square (3, 3),
unit (4, 6) within (0, 1); and of zeros (4), the integers i (3) and k (2, 4), the mask m (4, 6).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from helpers import flatten, is_float

CASES = """
x.flip(0)|s.flip(0, 2)|x.roll(2, 1)|x.roll((1, 2), (0, 1))|x.repeat(2, 1)|x.tril()|x.triu(1)
v.diag_embed()|v.unfold(0, 3, 2)|x.unfold(1, 2, 1)|x.mT|s.transpose(0, 2)|s.permute(2, 0, 1)
x.expand(2, 4, 6)|x.view(-1)|x.reshape(3, 8)|x.t().reshape(-1)|x.as_strided((3, 2), (2, 3), 1)
x.diagonal(1)|x.select(1, 2)|x.narrow(1, 1, 3)|x.unsqueeze(0).squeeze()|x.movedim(0, 1)
torch.cat((x, y.t()))|torch.stack((x, y.t()), 1)|x.split((1, 3, 2), 1)|x.unbind(0)|x.chunk(3, 1)
torch.block_diag(x, square)|x.repeat_interleave(2, 0)|x.to("ref").exp().to("cpu")|x[1]|x[:, 1:4]
x[i]|x[:, i]|x[i, k[0, :3]]|x[m]|x[..., None, 2]|x[1:3, i]|x[i[:, None], k[0]]|x.gather(1, k)
x.scatter(1, k, y)|x.scatter_add(1, k, y)|x.index_select(0, i)|x.take(k)
x.scatter_reduce(1, k, y, "amax")|x.scatter_reduce(1, k, y, "prod")
x.scatter_reduce(1, k, y, "mean")|x.scatter(1, k, 2.0)|x.index_add(0, i, x[:3])
x.index_copy(0, i, y.t()[1:])|x.index_fill(0, i, 2.0)|x.index_fill(0, i, one)|x.put(i, v[:3])
x.put(k, y[:2], True)|x.index_put((i,), v)|x.index_put((i,), v, True)|x.masked_fill(m, 2.0)
x.masked_fill(m, one)|x.masked_select(m)|x.masked_scatter(m, y)|x.select_scatter(v, 0, 1)
x.slice_scatter(y.t()[:2], 0, 1, 3)|x.diagonal_scatter(v[:4])|(x * 1).copy_(y.t())
(x * 1).fill_(one)|put(x * 1, (slice(None), 2), v[:4])|put(x * 1, (i,), v)|put(x * 1, m, one)
put(x * 1, 0, v)|through(x * 1, lambda a: a[1].mul_(v))
through(x * 1, lambda a: a.t()[2].copy_(v[:4]))|through(x * 1, lambda a: a.view(-1)[3:9].exp_())
through(x * 1, lambda a: a[:, 2].zero_())|x @ y|s @ y[:4]|v @ y|torch.cdist(x, y.t())
torch.cdist(x, y.t(), 1.0)|torch.cdist(x, y.t(), 3.0)|x.float().double()
torch.cdist(x, y.t(), compute_mode="use_mm_for_euclid_dist")|torch.pdist(x)
torch.einsum("ij,jk,k->i", x, y, v[:4])|torch.linalg.vector_norm(x, 3, 1)
linalg.cholesky(square @ square.t())|linalg.det(square)|linalg.eigvalsh(square @ square.t())
linalg.inv(square)|linalg.eigh(square @ square.t())[0]|linalg.lstsq(y, x.t()[:, :2])[0]
linalg.matrix_exp(square)|linalg.pinv(y)|linalg.qr(y)|linalg.slogdet(square)
linalg.solve(square, s[0])|linalg.solve_triangular(square, s[0], upper=True)|linalg.svdvals(x)
linalg.solve_triangular(square, s[0], upper=False, unitriangular=True)
linalg.inv_ex(square)[0]|linalg.solve_ex(square, s[0])[0]|linalg.lu_factor(square)[0]|linalg.lu(y)
linalg.cholesky_ex(square @ square.t())[0]|torch.cholesky_solve(s[0], square.tril())|linalg.lu(x)
linalg.lu_solve(square, torch.tensor([3, 3, 3]).int(), s[0])|linalg.vander(v)
linalg.householder_product(y, v[:4])|linalg.tensorinv(square, 1)
F.conv1d(line, s.permute(0, 2, 1), v[:2])|F.conv2d(image, image[:, :, :2, :3], one.view(1))
F.conv2d(image, image[0, :, None, :2, :3], groups=4, padding=1)|F.conv3d(cube, cube[:, :, :2, :2])
F.conv2d(image, image[:, :, :2, :3], stride=2, padding=1, dilation=2)
F.conv_transpose2d(image, image.transpose(0, 1)[:, :, :2, :3], stride=2, output_padding=1)
torch.mvlgamma(unit + 2, 3)|torch.rsub(x, y.t(), alpha=2)|F.lp_pool3d(cube.exp(), 2, 2)
F.avg_pool2d(image, 2, 1)|F.max_pool2d(image, 2)
F.max_pool2d(image, 3, 1, 1, return_indices=True)[0]|F.max_pool1d(line, 2)|F.max_pool3d(cube, 2)
F.adaptive_avg_pool2d(image, 2)|F.lp_pool2d(image, 2, 2)|F.adaptive_max_pool2d(image, 2)
F.interpolate(image, scale_factor=2, mode="bilinear")
F.interpolate(image, scale_factor=1.5, mode="bicubic")|F.interpolate(image, size=3)
F.grid_sample(image, image[..., :2] / 3, align_corners=False)|F.pad(x, (1, 2), "reflect")
F.pad(image, (1, 1, 2, 0), "circular")|F.pad(image, (1, 1, 2, 0), "replicate")|F.pad(x, (1, -1))
F.unfold(image, 2, padding=1)|F.fold(F.unfold(image, 2), (5, 6), 2)|F.pixel_shuffle(image, 2)
F.pixel_unshuffle(image[:, :, :4], 2)|F.channel_shuffle(image, 2)
F.batch_norm(image, None, None, v[:4], v[2:], True)|F.layer_norm(x, (6,), v, v * 2)
F.rms_norm(x, (6,), v)|F.batch_norm(image, zeros, zeros + 2, v[:4], v[2:])
F.group_norm(image, 2, v[:4], v[2:])|F.instance_norm(image)|F.normalize(x)
F.local_response_norm(image, 2)|F.softmax(x, 0)|F.log_softmax(x, 1)
F.cross_entropy(x, k[0], zeros[:1].expand(6) + 2)|F.cross_entropy(x, unit)
F.cross_entropy(x, unit, v ** 2, label_smoothing=0.1)|F.nll_loss(x, k[0])
F.nll_loss(x, k[0], reduction="none")|F.kl_div(x, unit)|F.poisson_nll_loss(x, unit)
F.multilabel_margin_loss(y[:2], k - 1)|F.multi_margin_loss(x, k[0])
F.hinge_embedding_loss(x, m * 2 - 1)
F.ctc_loss(s.log_softmax(2)[:, :2], k[:, :1] % 3 + 1, (2, 2), (1, 1))
F.gaussian_nll_loss(x, y.t(), unit)|F.cosine_similarity(x, y.t())
F.triplet_margin_loss(x, y.t(), unit)|F.soft_margin_loss(x, m * 2.0 - 1)|F.embedding(k, x)
F.embedding_bag(k, x)|F.embedding_bag(k, x, mode="max")
F.embedding_bag(k, x, mode="sum", per_sample_weights=y[:2])|F.prelu(image, v[:4])
F.prelu(x, one.view(1))|F.scaled_dot_product_attention(s, s * 2, s + 1)
F.scaled_dot_product_attention(s, s, s, is_causal=True)|rnn(nn.LSTM, s, y, v)|rnn(nn.GRU, s, y, v)
rnn(nn.RNN, s, y, v)|nn.LSTMCell(4, 3).double()(s[0])|nn.GRUCell(4, 3).double()(s[0])
nn.Bilinear(4, 6, 2).double()(y, x[0].expand(6, 6))
F.bilinear(y, v.expand(6, 6), x.view(1, 4, 6), one.view(1))
F.scaled_dot_product_attention(s, cube[0, ..., 0], x.view(2, 3, 4), square)
F.conv2d(image, s.view(1, 4, 2, 3), one.view(1))|F.conv1d(line, s.permute(0, 2, 1), y[0, :2])
F.conv_transpose2d(image, s.view(4, 1, 2, 3), one.view(1))
F.batch_norm(image, zeros + 0, zeros + 1, v[:4], x[:, 0], True)
F.batch_norm(image, zeros, zeros + 1, v[:4], x[:, 0])|F.group_norm(image, 2, v[:4], x[:, 0])
F.layer_norm(x, (6,), v, y[:, 0])|F.grid_sample(image, x.view(1, 2, 6, 2) / 3, align_corners=False)
F.binary_cross_entropy(unit, x.sigmoid())|F.binary_cross_entropy_with_logits(x, unit)
F.cosine_embedding_loss(x, y.t(), m[:, 0] * 2 - 1)|F.margin_ranking_loss(v, y[:, 0], v)
F.huber_loss(x, y.t(), weight=unit)|F.mse_loss(x, y.t(), weight=unit)
F.l1_loss(x, y.t(), weight=unit)|F.smooth_l1_loss(x, y.t())
F.triplet_margin_with_distance_loss(x, y.t(), unit)
F.embedding_bag(k, v.view(6, 1), mode="sum", per_sample_weights=x[:2, :4])
torch.autograd.functional.jacobian(lambda a: a ** 3, v, create_graph=True)
"""
CASES = [case for line in CASES.strip().splitlines() for case in line.split("|")]


# ---------------------------------------------------------------------------- what a line computes


def values(*shape: int, within: tuple[float, float] = (-2, 2)) -> np.ndarray:
    """Numbers that are not near each other, in no order; others for each shape."""
    count = math.prod(shape)
    random = np.random.default_rng(shape)
    flat = random.permutation(count) + random.uniform(0.2, 0.8, count)
    low, high = within
    return low + flat.reshape(shape) * (high - low) / count


LEAVES = {
    "x": values(4, 6), "y": values(6, 4), "v": values(6), "one": np.asarray(values(1)[0] + 1.5),
    "s": values(2, 3, 4), "image": values(1, 4, 5, 6), "line": values(1, 4, 7),
    "cube": values(1, 2, 3, 4, 3), "square": values(3, 3), "unit": values(4, 6, within=(0, 1)),
}  # fmt: skip


def put(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return x


def through(x: Any, write: Callable) -> Any:
    """x, written through a view of it."""
    write(x)
    return x


def constants(m: Any) -> dict[str, Any]:
    def rnn(kind: Any, x: Any, weight: Any, bias: Any) -> Any:
        """A recurrent layer (4, 3), of weights and biases from these."""
        layer = kind(4, 3).double()
        rows = layer.weight_ih_l0.shape[0]
        weights = {
            "weight_ih_l0": weight.repeat(2, 1)[:rows] / 2,
            "weight_hh_l0": weight.flip(0).repeat(2, 1)[:rows, :3] / 2,
            "bias_ih_l0": bias.repeat(2)[:rows],
            "bias_hh_l0": bias.flip(0).repeat(2)[:rows],
        }
        return m.func.functional_call(layer, weights, (x,))[0]

    return {
        "i": m.tensor([2, 0, 1]), "k": m.tensor([[3, 1, 0, 2], [2, 1, 3, 0]]),
        "m": m.from_numpy(values(4, 6) > 0.4), "zeros": m.zeros(4, dtype=m.float64),
        "torch": m, "nn": m.nn, "F": m.nn.functional, "linalg": m.linalg,
        "put": put, "through": through, "rnn": rnn,
    }  # fmt: skip


def function_of(call: str, m: Any) -> tuple[Callable, list]:
    """(function, its inputs) of a line, by a package."""
    taken = [name for name in LEAVES if re.search(rf"(?<![.\w]){name}\b", call)]

    def function(*tensors: Any) -> tuple:
        m.manual_seed(0)
        results = eval(call, {**constants(m), **dict(zip(taken, tensors, strict=True))})
        return tuple([y for y in flatten(results) if is_float(y)])

    return function, [m.from_numpy(LEAVES[name].copy()).requires_grad_() for name in taken]
