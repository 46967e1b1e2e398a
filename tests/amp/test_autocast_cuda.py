"""autocast on the emulated CUDA: which op computes in which dtype, by PyTorch's lists."""

from __future__ import annotations

import pytest

import tiny_torch as torch
from tiny_torch.amp.policies import seen_on
from tiny_torch.nn import functional as F

theirs = pytest.importorskip("torch")

pytestmark = pytest.mark.torch


CUDA = [
    (torch.float16, lambda x: x @ x), (torch.float16, lambda x: torch.mv(x, x[0])),
    (torch.float16, lambda x: F.linear(x, x)), (torch.float16, lambda x: torch.addmm(x, x, x)),
    (torch.float32, lambda x: x.half().exp()), (torch.float32, lambda x: x.half().sum()),
    (torch.float32, lambda x: x.half().log1p()),
    (torch.float32, lambda x: x.half().softmax(0)), (torch.float32, lambda x: x.half() ** 2),
    (torch.float32, lambda x: F.layer_norm(x.half(), (2,))),
    (torch.float16, lambda x: x.half().relu()), (torch.float16, lambda x: x.half().mean()),
    (torch.float32, lambda x: torch.addcmul(x, x.half(), x.half())),
    (torch.float32, lambda x: torch.cat((x, x.half()))),
]  # fmt: skip


@pytest.mark.parametrize("dtype, call", CUDA)
def test_cudas_lists_on_the_emulated_device(dtype, call):
    x = torch.ones(2, 2)
    try:
        x = x.to("cuda-emulated")
    except RuntimeError as error:
        pytest.skip(str(error))
    with torch.autocast("cuda-emulated"):
        try:
            assert call(x).dtype is dtype
        except NotImplementedError as error:  # a kernel that the device lacks so far
            pytest.skip(str(error))


def test_binary_cross_entropy_is_banned_on_cuda():
    x = torch.full((2,), 0.5)
    try:
        x = x.to("cuda-emulated")
    except RuntimeError as error:
        pytest.skip(str(error))
    with torch.autocast("cuda-emulated"), pytest.raises(RuntimeError, match="unsafe to autocast"):
        F.binary_cross_entropy(x, x)


# PyTorch's functions of CUDA's list under the name that they have in ours.
AS = {
    "_scaled_dot_product_flash_attention": "scaled_dot_product_attention",
    "cross": "LinalgCross", "frobenius_norm": "LinalgVectorNorm", "grid_sampler": "grid_sample",
    "group_norm": "NativeGroupNorm", "layer_norm": "NativeLayerNorm",
    "linalg_matrix_norm": "matrix_norm", "linalg_multi_dot": "multi_dot",
    "linalg_vecdot": "vecdot", "nll_loss2d": "NllLoss", "norm": "LinalgVectorNorm",
    "nuclear_norm": "matrix_norm",
}  # fmt: skip
AS |= {f"conv{n}d": "Convolution" for n in (1, 2, 3)}
AS |= {f"conv_transpose{n}d": "ConvolutionTranspose" for n in (1, 2, 3)}
CELLS = {"lstm": "LSTM", "gru": "GRU", "rnn_relu": "RNN_RELU", "rnn_tanh": "RNN_TANH"}
AS |= {f"{theirs_}_cell": f"{ours}_cell" for theirs_, ours in CELLS.items()}
NOT_HERE = {"conv_tbc", "vdot", "_thnn_fused_gru_cell", "_thnn_fused_lstm_cell"}


def test_all_of_cudas_list_is_in_the_table():
    table = {name.lower().replace("_", "") for name in seen_on("cuda")}
    listed = theirs._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")
    names = {name.removeprefix("aten::").partition(".")[0] for name in listed}
    names = {name for name in names if "upsample" not in name and "cudnn" not in name}
    lacking = {n for n in names if AS.get(n, n).lower().replace("_", "") not in table}
    assert lacking == NOT_HERE and "Interpolate" in seen_on("cuda")
