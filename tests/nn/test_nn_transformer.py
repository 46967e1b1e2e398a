"""MultiheadAttention and the Transformer: initial weights, values, gradients, masks, errors."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import tiny_torch


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(ours, theirs, where="", bound=3e-5):
    if theirs is None:
        assert ours is None, where
        return
    assert tuple(ours.shape) == tuple(theirs.shape), where
    ours, theirs = ours.detach().double().numpy(), theirs.detach().double().numpy()
    assert np.allclose(ours, theirs, rtol=bound, atol=bound, equal_nan=True), (where, ours, theirs)


def pair(oracle, make, training=True):
    """The same module of both packages, from the same seed."""
    made = []
    for m in (tiny_torch, oracle):
        m.manual_seed(5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.append(make(m.nn).train(training))
    ours, theirs = made
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        close(ours.state_dict()[name], value, name, 1e-6)
    assert repr(ours) == repr(theirs)
    return made


def compare(oracle, make, call, *shapes, training=True, gradients=True):
    """Outputs of `call(module, package, *inputs)`, gradients of the inputs and the parameters."""
    results = []
    for m, module in zip((tiny_torch, oracle), pair(oracle, make, training), strict=True):
        inputs = [m.from_numpy(draw(i, *s)).requires_grad_(gradients) for i, s in enumerate(shapes)]
        m.manual_seed(1)
        outputs = call(module, m, *inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        if gradients:
            total = sum((y * y).sum() for y in outputs if y is not None)
            total.backward()
        named = {name: p.grad for name, p in module.named_parameters()}
        strides = [y.stride() for y in outputs if y is not None and training]
        results.append((outputs, [x.grad for x in inputs], named, strides))
    for ours, theirs in zip(
        results[0][0] + tuple(results[0][1]), results[1][0] + tuple(results[1][1]), strict=True
    ):
        close(ours, theirs)
    assert results[0][3] == results[1][3]
    for name, gradient in results[1][2].items():
        close(results[0][2][name], gradient, name, 2e-4)


MODULES = {
    "plain": {},
    "batch first": {"batch_first": True},
    "no bias": {"bias": False},
    "other widths": {"kdim": 6, "vdim": 10},
    "bias of keys": {"add_bias_kv": True},
    "a key of 0": {"add_zero_attn": True},
    "all": {"kdim": 6, "vdim": 10, "add_bias_kv": True, "add_zero_attn": True, "batch_first": True},
}
CALLS = {
    "weights": {},
    "each head's": {"average_attn_weights": False},
    "none": {"need_weights": False},
}


@pytest.mark.parametrize("options", MODULES)
def test_multihead_attention(oracle, options):
    settings = MODULES[options]
    shapes = [(5, 3, 8), (7, 3, settings.get("kdim", 8)), (7, 3, settings.get("vdim", 8))]
    if settings.get("batch_first"):
        shapes = [(n, t, w) for t, n, w in shapes]
    for call in CALLS.values():
        for masks in (
            {},
            {"attn_mask": (5, 7)},
            {"attn_mask": (12, 5, 7), "key_padding_mask": (3, 7)},
        ):

            def run(module, m, q, k, v, call=call, masks=masks):
                given = {name: m.from_numpy(draw(8, *s) > 0.8) for name, s in masks.items()}
                return module(q, k, v, **given, **call)

            compare(oracle, lambda nn: nn.MultiheadAttention(8, 4, **settings), run, *shapes)


def test_self_attention(oracle):
    for batch_first in (False, True):
        for need in (False, True):
            for shape in ((6, 4, 8), (6, 8)):
                mask = oracle.nn.Transformer.generate_square_subsequent_mask(
                    shape[1] if batch_first and len(shape) == 3 else shape[0]
                ).numpy()

                def run(module, m, x, need=need, mask=mask):
                    return module(
                        x, x, x, need_weights=need, attn_mask=m.from_numpy(mask), is_causal=True
                    )

                def make(nn, batch_first=batch_first):
                    return nn.MultiheadAttention(8, 2, batch_first=batch_first)

                compare(oracle, make, run, shape)
                compare(oracle, make, lambda a, m, x, y: a(x, y, y), shape, shape)


def test_dropout_draws_what_pytorch_draws(oracle):
    for need in (False, True):
        compare(
            oracle,
            lambda nn: nn.MultiheadAttention(8, 2, dropout=0.4),
            lambda a, m, x, need=need: a(x, x, x, need_weights=need),
            (6, 4, 8),
        )


def test_static_keys(oracle):
    results = []
    for m in (tiny_torch, oracle):
        x, w, out = [m.from_numpy(draw(i, *s)) for i, s in enumerate(((5, 2, 8), (24, 8), (8, 8)))]
        static = m.from_numpy(draw(4, 4, 9, 4))
        arguments = (8, 2, w, None, None, None, False, 0.0, out, None)
        f = m.nn.functional.multi_head_attention_forward
        results.append(f(x, x, x, *arguments, static_k=static, static_v=static * 2))
    for ours, theirs in zip(*results, strict=True):
        close(ours, theirs)


def test_a_row_without_a_key(oracle):
    """Zero where the probabilities are not asked for, else NaN: as in PyTorch."""
    for need in (False, True):
        results = []
        for m, module in zip(
            (tiny_torch, oracle), pair(oracle, lambda nn: nn.MultiheadAttention(8, 2)), strict=True
        ):
            x, hidden = m.from_numpy(draw(0, 5, 3, 8)), m.zeros(3, 5, dtype=m.bool)
            hidden[1] = True
            results.append(module(x, x, x, key_padding_mask=hidden, need_weights=need)[0])
        close(*results)


LAYERS = {
    "plain": {},
    "norm first": {"norm_first": True},
    "batch first": {"batch_first": True, "activation": "gelu"},
    "no bias": {"bias": False, "layer_norm_eps": 1e-3},
    "dropout": {"dropout": 0.3},
}


@pytest.mark.parametrize("options", LAYERS)
def test_encoder_layers(oracle, options):
    settings = {"dropout": 0.0, **LAYERS[options]}
    for masks in ({}, {"src_mask": (6, 6)}, {"src_key_padding_mask": (6, 6)}):

        def run(module, m, x, masks=masks):
            return module(x, **{name: m.from_numpy(draw(8, *s) > 0.8) for name, s in masks.items()})

        compare(oracle, lambda nn: nn.TransformerEncoderLayer(8, 2, 12, **settings), run, (6, 6, 8))


@pytest.mark.parametrize("options", LAYERS)
def test_decoder_layers(oracle, options):
    settings = {"dropout": 0.0, **LAYERS[options]}
    names = ("tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask")
    for chosen in ((), names[:2], names[2:]):

        def run(module, m, x, memory, chosen=chosen):
            return module(x, memory, **{name: m.from_numpy(draw(8, 6, 6) > 0.8) for name in chosen})

        make = lambda nn: nn.TransformerDecoderLayer(8, 2, 12, **settings)  # noqa: E731
        compare(oracle, make, run, (6, 6, 8), (6, 6, 8))


def test_other_activations(oracle):
    def run(module, m, x):
        return module(x)

    for name in ("ReLU", "GELU", "Tanh"):
        compare(
            oracle,
            lambda nn, name=name: nn.TransformerEncoderLayer(8, 2, 12, 0.0, getattr(nn, name)()),
            run,
            (4, 2, 8),
        )
    compare(
        oracle,
        lambda nn: nn.TransformerEncoderLayer(8, 2, 12, 0.0, nn.functional.silu),
        run,
        (4, 2, 8),
    )


@pytest.mark.parametrize("batch_first", [False, True])
def test_transformer(oracle, batch_first):
    def make(nn):
        return nn.Transformer(8, 2, 2, 2, 12, 0.0, batch_first=batch_first)

    shapes = ((3, 5, 8), (3, 4, 8)) if batch_first else ((5, 3, 8), (4, 3, 8))
    compare(oracle, make, lambda t, m, x, y: t(x, y), *shapes)

    def run(t, m, x, y):
        mask = t.generate_square_subsequent_mask(4)
        return t(x, y, tgt_mask=mask, src_key_padding_mask=m.from_numpy(draw(8, 3, 5) > 0.8))

    compare(oracle, make, run, *shapes)
    compare(oracle, make, lambda t, m, x, y: t(x, y), (5, 8), (4, 8))


def test_padding_is_skipped_in_evaluation(oracle):
    for sizes in ([5, 3, 1], [2, 5, 4]):
        for fast in (True, False):
            for first in (True, False):

                def make(nn, first=first, fast=fast):
                    layer = nn.TransformerEncoderLayer(
                        8, 2, 12, batch_first=True, norm_first=not first
                    )
                    return nn.TransformerEncoder(
                        layer, 2, nn.LayerNorm(8), enable_nested_tensor=fast
                    )

                def run(t, m, x, sizes=sizes):
                    hidden = m.arange(5)[None, :] >= m.tensor(sizes)[:, None]
                    with m.no_grad():
                        return t(x, src_key_padding_mask=hidden)

                compare(oracle, make, run, (3, 5, 8), training=False, gradients=False)


def test_causal_masks_are_found(torch):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12, 0.0)
    encoder, x = (
        torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False),
        torch.randn(5, 2, 8),
    )
    mask = torch.nn.Transformer.generate_square_subsequent_mask(5)
    assert torch.equal(mask, torch.full((5, 5), float("-inf")).triu(1))
    expected = encoder(x, mask)
    for other in (mask < 0, mask.expand(4, 5, 5).clone()):
        assert torch.allclose(encoder(x, other), expected, atol=1e-5)
    assert torch.allclose(encoder(x, mask, is_causal=True), expected, atol=1e-5)
    assert mask.double().dtype is torch.float64
    wide = torch.nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)
    assert wide.dtype is torch.float64


def test_copies_of_layers_are_independent(torch):
    layer = torch.nn.TransformerDecoderLayer(8, 2, 12)
    decoder = torch.nn.TransformerDecoder(layer, 2)
    with torch.no_grad():
        decoder.layers[0].linear1.weight.zero_()
    assert bool((decoder.layers[1].linear1.weight == layer.linear1.weight).all())
    assert repr(copy.deepcopy(decoder)) == repr(decoder)


def test_states_are_exchanged(oracle):
    ours, theirs = [m.nn.Transformer(8, 2, 1, 1, 12, 0.0).eval() for m in (tiny_torch, oracle)]
    ours.load_state_dict(
        {name: tiny_torch.from_numpy(value.numpy()) for name, value in theirs.state_dict().items()}
    )
    x, y = draw(0, 5, 3, 8), draw(1, 4, 3, 8)
    close(
        ours(tiny_torch.from_numpy(x), tiny_torch.from_numpy(y)),
        theirs(oracle.from_numpy(x), oracle.from_numpy(y)),
    )


WARNINGS = {
    "batch_first was not True": {},
    "norm_first was True": {"norm_first": True, "batch_first": True},
    "bias=False": {"bias": False, "batch_first": True},
    "num_heads is odd": {"nhead": 1, "batch_first": True},
    "activation_relu_or_gelu was not True": {"activation": abs, "batch_first": True},
}


@pytest.mark.parametrize("text", WARNINGS)
def test_warnings_of_encoders(torch, text):
    layer = torch.nn.TransformerEncoderLayer(**{"d_model": 8, "nhead": 2, **WARNINGS[text]})
    with pytest.warns(UserWarning, match=f"use_nested_tensor is False because .*{text}"):
        torch.nn.TransformerEncoder(layer, 1)


def test_masks_of_two_dtypes_warn(torch):
    attention, x = torch.nn.MultiheadAttention(8, 2), torch.randn(5, 3, 8)
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask"):
        attention(x, x, x, torch.zeros(3, 5, dtype=torch.bool), attn_mask=torch.zeros(5, 5))


ERRORS = {
    "0 heads": lambda m, a, x: m.nn.MultiheadAttention(8, 0),
    "3 heads": lambda m, a, x: m.nn.MultiheadAttention(8, 3),
    "4 dims": lambda m, a, x: a(x[None], x[None], x[None]),
    "1 dim": lambda m, a, x: a(x[0, 0], x[0, 0], x[0, 0]),
    "key of 2 dims": lambda m, a, x: a(x, x[0], x),
    "value of 2 dims": lambda m, a, x: a(x[0], x[0], x),
    "width": lambda m, a, x: a(x[..., :4], x[..., :4], x[..., :4]),
    "lengths": lambda m, a, x: a(x, x, x[:2]),
    "batches": lambda m, a, x: a(x, x[:, :2], x[:, :2], need_weights=False),
    "mask of 1 dim": lambda m, a, x: a(x, x, x, attn_mask=m.zeros(5)),
    "mask's shape": lambda m, a, x: a(x, x, x, attn_mask=m.zeros(5, 4)),
    "mask's heads": lambda m, a, x: a(x, x, x, attn_mask=m.zeros(3, 5, 5)),
    "unbatched mask": lambda m, a, x: a(x[0], x[0], x[0], attn_mask=m.zeros(3, 5, 5)),
    "int mask": lambda m, a, x: a(x, x, x, attn_mask=m.zeros(5, 5, dtype=m.int64)),
    "padding of 1 dim": lambda m, a, x: a(x, x, x, m.zeros(5)),
    "padding's length": lambda m, a, x: a(x, x, x, m.zeros(3, 4)),
    "padding's batch": lambda m, a, x: a(x, x, x, m.zeros(2, 5)),
    "unbatched padding": lambda m, a, x: a(x[0], x[0], x[0], m.zeros(3, 3)),
    "causal without mask": lambda m, a, x: a(x, x, x, is_causal=True),
    "activation": lambda m, a, x: m.nn.TransformerEncoderLayer(8, 2, activation="tanh"),
    "batches of both": lambda m, a, x: m.nn.Transformer(8, 2, 1, 1, 4)(x, x[:, :2]),
    "widths of both": lambda m, a, x: m.nn.Transformer(8, 2, 1, 1, 4)(x, x[..., :4]),
    "dtype": lambda m, a, x: a(x.double(), x.double(), x.double()),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(oracle, name):
    kinds = []
    for m in (tiny_torch, oracle):
        with warnings.catch_warnings(), pytest.raises(Exception) as caught:
            warnings.simplefilter("ignore")
            ERRORS[name](m, m.nn.MultiheadAttention(8, 2), m.ones(5, 3, 8))
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


def test_second_derivatives():
    attention = tiny_torch.nn.MultiheadAttention(4, 2, dtype=tiny_torch.float64)
    x = tiny_torch.randn(3, 2, 4, dtype=tiny_torch.float64, requires_grad=True)
    mask = tiny_torch.nn.Transformer.generate_square_subsequent_mask(3, dtype=tiny_torch.float64)

    def call(x):
        return attention(x, x, x, attn_mask=mask, need_weights=False)[0]

    assert tiny_torch.autograd.gradcheck(call, (x,))
    assert tiny_torch.autograd.gradgradcheck(call, (x,))
