"""Samples of the modules and containers of nn that PyTorch's table (sweep_modules.py) lacks."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import of


def layer(name: str, *cases: str) -> None:
    """Modules built of the arguments before the "|" and called on those after it."""
    for case in cases:
        arguments, _, inputs = map(str.strip, case.partition("|"))
        made = f"M = nn.{name}({arguments}).to(d)"
        of(f"nn.{name}", f"{made}\nM({inputs})")
        of(
            f"nn.{name}",
            f"{made}\nR = pickle.loads(pickle.dumps(M.eval()))\n[repr(M), M.state_dict(), repr(R), R({inputs})]",
        )


# ----------------------------------------------------------------------------------------- modules

layer("Identity", "| x", "54, unused=1 | s")
layer("Flatten", "| x", "0 | x", "0, 1 | x", "1, 5 | x", "-2 | x", "| s", "| e")
layer(
    "Unflatten", "1, (2, 2) | x", "-1, (5, 1) | x", "0, (-1, 1) | v", "1, (3, 3) | x", "9, (1,) | x"
)
layer(
    "PixelShuffle",
    "2 | x.reshape(3, 4, 5, 1)",
    "1 | x",
    "2 | v",
    "3 | x",
    "2 | x.reshape(1, 4, 3, 5)",
)
layer("PixelUnshuffle", "2 | x.reshape(5, 2, 6)", "1 | x", "2 | v", "3 | x", "5 | x[:, :, None]")
layer(
    "ChannelShuffle",
    "2 | x.reshape(3, 4, 5)",
    "1 | x",
    "2 | v",
    "3 | x[None]",
    "2 | x.reshape(1, 4, 3, 5)",
)
layer(
    "CosineSimilarity", "| x, p", "0 | x, y", "-1, 1e-3 | x, p", "dim=2, eps=0.5 | x, y", "7 | x, y"
)
layer(
    "PairwiseDistance",
    "| x, p",
    "1 | x, p",
    "p=3.0, keepdim=True | m, n",
    "2, 0.1 | v, w",
    "math.inf | x, p",
    "| x, m",
)
layer("Hardsigmoid", "| x", "True | x * 1", "inplace=True | x.detach()", "| s", "| e")
for name in (
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "AlphaDropout",
    "FeatureAlphaDropout",
):
    layer(
        name,
        "| x",
        "0.3 | x[None]",
        "p=0.0 | x",
        "1.0 | x",
        "0.5, True | x * 1",
        "1.5 | x",
        "-0.1 | x",
        "| v",
        "| p[None, None]",
        "| e",
    )
layer(
    "RReLU",
    "| x",
    "0.1, 0.3 | x",
    "0.2, 0.2 | p",
    "inplace=True | x * 1",
    "0.5, 0.1 | x",
    "| e",
    "| s",
)
layer(
    "Fold",
    "(4, 5), 1 | x.reshape(1, 3, 20)",
    "(2, 2), (2, 2) | x.reshape(3, 20, 1)",
    "3, 2 | x.reshape(3, 4, 5)[:, :, :4]",
    "(4, 3), 2, padding=1 | x[0]",
    "4, 2, stride=2 | x[:, :, :4]",
    "4, 2, 2, 0, 2 | x",
)
layer(
    "Unfold",
    "2 | x[None]",
    "(2, 3) | x[None]",
    "2, padding=1, stride=2 | x",
    "3, dilation=2, padding=2 | x[None]",
    "9 | x[None]",
    "2 | v",
)
layer(
    "Upsample",
    "scale_factor=2 | x",
    "(6,) | x",
    "7 | x[None]",
    "scale_factor=2, mode='bilinear' | x[None]",
    "scale_factor=1.5, mode='linear', align_corners=True | x",
    "(3, 4), mode='bicubic' | x[None]",
    "scale_factor=2, mode='trilinear' | x[None, None]",
    "scale_factor=(2.0, 0.5), mode='nearest-exact' | x[None]",
    "2, 2 | x",
    "mode='area', size=2 | x",
    "size=4, mode='bilinear' | x",
    "scale_factor=1.7, recompute_scale_factor=True | x",
)
for name in ("UpsamplingNearest2d", "UpsamplingBilinear2d"):
    layer(name, "scale_factor=2 | x[None]", "(3, 7) | x[None]", "7 | x[None]", "2 | x", "| x[None]")
layer(
    "MaxUnpool1d",
    "2 | *F.max_pool1d(x, 2, return_indices=True)",
    "2, 2 | *F.max_pool1d(p, 2, return_indices=True), (3, 4, 5)",
    "3, stride=1 | x, k",
    "2, padding=1 | *F.max_pool1d(p, 2, padding=1, return_indices=True)",
)
layer(
    "MaxUnpool2d",
    "2 | *F.max_pool2d(x, 2, return_indices=True)",
    "2, 2 | *F.max_pool2d(p, 2, return_indices=True), (4, 5)",
    "3, stride=1 | x, k",
    "(2, 1) | *F.max_pool2d(p[None], (2, 1), return_indices=True)",
)
layer(
    "MaxUnpool3d",
    "2 | *F.max_pool3d(x[None], 2, return_indices=True)",
    "(1, 2, 2) | *F.max_pool3d(p[None], (1, 2, 2), return_indices=True), (3, 4, 5)",
    "3, stride=1 | x, k",
)
layer(
    "TripletMarginLoss",
    "| y, y + 1, y * 2",
    "2.0, p=1 | y, y + 1, y * 2",
    "swap=True, reduction='sum' | y, y + 1, y * 2",
    "reduction='none' | v, w, v * 2",
    "margin=-1 | y, y, y",
    "reduction='all' | y, y, y",
)
layer(
    "TripletMarginWithDistanceLoss",
    "| y, y + 1, y * 2",
    "margin=2.0, swap=True | y, y + 1, y * 2",
    "distance_function=nn.PairwiseDistance(1) | y, y + 1, y * 2",
    "reduction='none' | y, y + 1, y * 2",
    "margin=-1 | y, y, y",
)
layer(
    "EmbeddingBag",
    "4, 3 | k",
    "4, 3, mode='sum' | k",
    "4, 3, mode='max' | k",
    "4, 3, mode='sum', include_last_offset=True | k[0], torch.tensor([0, 2, 4])",
    "4, 3 | k[0], torch.tensor([0, 1])",
    "4, 3, padding_idx=1, mode='sum' | k",
    "4, 3, max_norm=0.5 | k",
    "4, 3, mode='sum' | k, None, m",
    "4, 3 | k[0]",
    "4, 3, mode='all' | k",
)
layer(
    "AdaptiveLogSoftmaxWithLoss",
    "5, 6, [2, 4] | x[0], k[0]",
    "5, 10, [3], div_value=2.0, head_bias=True | x[:, 0], i",
    "5, 6, [4, 2] | x[0], k[0]",
    "5, 3, [2] | x[0], k[0]",
    "5, 4, [1, 2, 3] | v, torch.tensor(2)",
)
of(
    "nn.AdaptiveLogSoftmaxWithLoss",
    "M = nn.AdaptiveLogSoftmaxWithLoss(5, 6, [2, 4]).to(d)\n[M.log_prob(y), M.predict(y)]",
)
layer("LazyLinear", "3 | x", "3, bias=False | y", "2 | s", "2 | e")
layer(
    "LazyBatchNorm2d",
    "| x[None]",
    "momentum=None | x[None]",
    "affine=False | x[None]",
    "track_running_stats=False | x[None]",
    "| x",
)
layer(
    "RNNBase",
    "'LSTM', 5, 3 | x",
    "'GRU', 5, 3, num_layers=2, bidirectional=True | x",
    "'RNN_TANH', 5, 2, batch_first=True | x",
    "'RNN_RELU', 5, 2, bias=False | x",
    "'LSTM', 5, 4, proj_size=2 | x",
    "'ELMAN', 5, 2 | x",
    "'LSTM', 5, 0 | x",
    "'LSTM', 5, 2.5 | x",
    "'GRU', 5, 3, dropout=2 | x",
)
layer("RNNCellBase", "5, 3, True, 2 | x", "5, 3, bias=False, num_chunks=4 | x")
layer(
    "Transformer",
    "4, 2, 1, 1, 8, 0.0 | x[..., :4], p[..., :4]",
    "4, 2, 1, 1, 8, 0.0, batch_first=True, norm_first=True | x[..., :4], p[..., :4]",
    "4, 3 | x, x",
)
layer(
    "TransformerEncoder",
    "nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2 | x[..., :4]",
    "nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), 1, nn.LayerNorm(4) | x[..., :4]",
    "nn.TransformerEncoderLayer(4, 2, 8, 0.1), 1 | x[..., :4], nn.Transformer.generate_square_subsequent_mask(3)",
)
layer(
    "TransformerDecoder",
    "nn.TransformerDecoderLayer(4, 2, 8, 0.0), 2 | x[..., :4], p[..., :4]",
    "nn.TransformerDecoderLayer(4, 2, 8, 0.0, batch_first=True), 1, nn.LayerNorm(4) | x[..., :4], p[..., :4]",
)
of(
    "nn.Parameter nn.parameter.Parameter nn.Buffer nn.parameter.Buffer",
    "torch.NAME(x)",
    "torch.NAME(x.detach())",
    "repr(torch.NAME(y.detach()))",
    "isinstance(torch.NAME(y.detach()), torch.Tensor)",
    "[isinstance(torch.NAME(y.detach()), c) for c in (nn.Parameter, nn.Buffer)]",
    "torch.NAME(y.detach()) is not None, torch.NAME()",
    "copy.deepcopy(torch.NAME(y.detach()))",
    "pickle.loads(pickle.dumps(torch.NAME(y.detach())))",
    "torch.NAME(3)",
    "M = nn.Module()\nM.a = torch.NAME(x.detach())\n[M.state_dict(), [n for n, _ in M.named_parameters()], [n for n, _ in M.named_buffers()]]",
    "M = nn.Module()\nM.a = torch.NAME(x.detach())\nM.a = 3",
    "M = nn.Module()\nM.a = torch.NAME(x.detach())\nM.a = None\nM.state_dict()",
    "torch.NAME(y.detach()) + 1",
    "torch.NAME(y.detach()).data",
)
of(
    "nn.Parameter nn.parameter.Parameter",
    "torch.NAME(x.detach(), requires_grad=False)",
    "torch.NAME(x.detach(), False).requires_grad",
)
of(
    "nn.Buffer nn.parameter.Buffer",
    "torch.NAME(x.detach(), persistent=False)",
    "M = nn.Module()\nM.a = torch.NAME(x.detach(), persistent=False)\n[M.state_dict(), [*M.named_buffers()]]",
)

# -------------------------------------------------------------------------------------- containers

of(
    "nn.Sequential",
    "M = nn.Sequential(nn.Linear(5, 3), nn.ReLU()).to(d)\n[M(x), repr(M), M.state_dict()]",
    "M = nn.Sequential(nn.Identity(), nn.Flatten())\n[M(x), M[0], M[-1], len(M), M[:1], [*M]]",
    "from collections import OrderedDict\nM = nn.Sequential(OrderedDict([('a', nn.Tanh()), ('b', nn.ReLU())]))\n[M(f), repr(M), M.a]",
    "M = nn.Sequential()\n[M(x), repr(M), len(M)]",
    "nn.Sequential(3)",
    "M = nn.Sequential(nn.ReLU(), nn.Tanh())\ndel M[0]\n[repr(M), M(f)]",
    "M = nn.Sequential(nn.ReLU(), nn.Tanh())\nM[0] = nn.Sigmoid()\n[repr(M), M(f)]",
    "nn.Sequential(nn.ReLU())[1], x",
    "nn.Sequential(nn.ReLU())['a'], x",
    "repr(nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())), x",
    "M = nn.Sequential(nn.ReLU())\nM += nn.Sequential(nn.Tanh())\nrepr(M), x",
    "M = nn.Sequential(nn.ReLU()) * 3\nrepr(M), x",
    "M = nn.Sequential(nn.ReLU(), nn.Tanh())\n[repr(M.pop(0)), repr(M)], x",
)
of(
    "nn.ModuleList",
    "M = nn.ModuleList([nn.Linear(5, 5), nn.Linear(5, 2)]).to(d)\n[M[1](M[0](x)), repr(M), M.state_dict()]",
    "repr(nn.ModuleList([nn.Linear(2, 2) for _ in range(4)])), x",
    "M = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.ELU()])\n[repr(M[1:]), len(M), repr(M[-1]), nn.ELU in map(type, M)], x",
    "nn.ModuleList([nn.ReLU()])(x)",
    "nn.ModuleList([nn.ReLU()])[3], x",
    "nn.ModuleList([3]), x",
    "M = nn.ModuleList()\n[repr(M), len(M)], x",
    "M = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.ELU()])\ndel M[:2]\nrepr(M), x",
    "M = nn.ModuleList([nn.ReLU()])\nM += [nn.Tanh()]\n[repr(M), repr(M + M), '__iadd__' in dir(M)], x",
    "M = nn.ModuleList([nn.ReLU(), nn.Tanh()])\n[repr(M.pop(-1)), repr(M)], x",
)
for name in ("Sequential", "ModuleList"):
    of(
        f"nn.{name}.append nn.{name}.insert nn.{name}.extend",
        *[
            f"M = nn.{name}({start})\nR = M.LAST({arguments})\n[R is M, repr(M), len(M)], x"
            for start in ("", "[nn.Tanh()]" if name == "ModuleList" else "nn.Tanh()")
            for arguments in ("nn.ReLU()", "[nn.ReLU(), nn.ELU()]", "0, nn.ReLU()", "1, nn.ReLU()", "3", "7, nn.ELU()", "[3]", "nn.Sequential(nn.Identity())")
        ],
    )  # fmt: skip
of(
    "nn.ModuleDict",
    "M = nn.ModuleDict({'a': nn.Linear(5, 3), 'b': nn.ReLU()}).to(d)\n[M['b'](M['a'](x)), repr(M), M.state_dict()]",
    "M = nn.ModuleDict([['a', nn.ReLU()], ['b', nn.Tanh()]])\n[[*M.keys()], len(M), 'a' in M, [*M], repr(M.pop('a')), repr(M)], x",
    "M = nn.ModuleDict()\nM['q'] = nn.ReLU()\nM.update({'z': nn.Tanh()})\n[repr(M), [k for k, _ in M.items()], len([*M.values()])], x",
    "M = nn.ModuleDict({'a': nn.ReLU()})\nM.clear()\n[repr(M), len(M)], x",
    "nn.ModuleDict({'a': 3}), x",
    "nn.ModuleDict({3: nn.ReLU()}), x",
    "nn.ModuleDict({'a.b': nn.ReLU()}), x",
    "nn.ModuleDict({'keys': nn.ReLU()}), x",
    "nn.ModuleDict()['a'], x",
    "M = nn.ModuleDict({'a': nn.ReLU()})\ndel M['a']\nrepr(M), x",
    "nn.ModuleDict(3), x",
    "nn.ModuleDict({'a': nn.ReLU()})(x)",
)
of(
    "nn.ParameterList",
    "M = nn.ParameterList([f, y.detach().float()])\n[repr(M), M.state_dict(), len(M), [*M], x]",
    "M = nn.ParameterList()\nM.append(nn.Parameter(f.detach()))\nM.extend([f.detach()])\n[repr(M), [type(q).__name__ for q in M]], x",
    "M = nn.ParameterList([f, 3, 'a'])\n[M[1], M[2], len([*M.parameters()]), repr(M)], x",
    "M = nn.ParameterList([f.detach(), f.detach() + 1])\n[M[-1], repr(M[:1])], x",
    "M = nn.ParameterList([f])\nM[0] = f * 2\nM[0], x",
    "nn.ParameterList([f])[4], x",
    "nn.ParameterList([f])['a'], x",
    "nn.ParameterList(3), x",
    "nn.ParameterList([f])(x)",
    "M = nn.ParameterList([f])\nM += [f + 1]\n[len(M), M.state_dict()], x",
    "M = nn.ParameterList([f])\nM.append(3)\nM.extend(4)", "M = nn.ParameterList([f, f])\n[M.pop(), repr(M)], x",
)  # fmt: skip
of(
    "nn.ParameterDict",
    "M = nn.ParameterDict({'a': f, 'b': f.detach() + 1})\n[repr(M), M.state_dict(), len(M), [*M], x]",
    "M = nn.ParameterDict()\nM['q'] = f\nM['n'] = 3\n[repr(M), [*M.keys()], M['n'], 'q' in M, M.get('no'), M.get('no', 4)], x",
    "M = nn.ParameterDict({'a': f})\n[M.pop('a'), len(M), repr(M)], x",
    "M = nn.ParameterDict({'a': f, 'b': f})\n[M.popitem()[0], M.setdefault('c', f), [*M]], x",
    "M = nn.ParameterDict({'b': f, 'a': f})\nR = M.copy()\nR['c'] = f\n[[*M], [*R], [*reversed(M)]], x",
    "M = nn.ParameterDict.fromkeys(nn.ParameterDict(), ['a', 'b'], f)\n[*M], x",
    "M = nn.ParameterDict({'a': f}) | nn.ParameterDict({'b': f})\n[*M], x",
    "M = nn.ParameterDict({'a': f})\nM.update([('c', f), ('b', f)])\nM.update({'z': f, 'y': f})\n[*M], x",
    "nn.ParameterDict({3: f}), x",
    "nn.ParameterDict(3), x",
    "nn.ParameterDict({'a': f})['b'], x",
    "nn.ParameterDict({'a': f})(x)",
    "M = nn.ParameterDict({'a': f})\ndel M['a']\nM.clear()\nrepr(M), x",
)
