"""Typical uses of packages of layers: attention, rearranging, sums by equations."""

import torch
from torch import nn
from uses import fit, losses_of, normal, use


@use("einops")
def rearrange_and_reduce():
    from einops import rearrange, reduce, repeat
    from einops.layers.torch import Rearrange, Reduce

    x = normal(2, 3, 4, 6).requires_grad_()
    y = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=3)
    y = reduce(repeat(y, "b n d -> b n (r d)", r=2) ** 2, "b n d -> b d", "mean")
    y.sum().backward()
    net = nn.Sequential(Rearrange("b c h w -> b (c h w)"), nn.Linear(72, 4), nn.ReLU())
    net.append(Reduce("b c -> b", "max"))
    return x.grad, losses_of(net, normal(5, 3, 4, 6))


@use("einx")
def dot_mean_and_softmax():
    import einx

    x, w = normal(4, 5, 6).requires_grad_(), normal(6, 7).requires_grad_()
    y = einx.softmax("a [b] c", einx.dot("a b d, d c -> a b c", x, w))
    einx.mean("a [b] c", einx.multiply("a b c, c", y, torch.arange(7.0))).square().sum().backward()
    return y, x.grad, w.grad


@use("opt-einsum")
def contract():
    from opt_einsum import contract, contract_expression

    a, b, c = (normal(n, m).requires_grad_() for n, m in ((4, 5), (5, 6), (6, 4)))
    product = "ij,jk,kl->il"
    y = contract(product, a, b, c)
    y = y + contract_expression(product, (4, 5), (5, 6), (6, 4))(a, b, c)
    y.square().sum().backward()
    return y, a.grad, b.grad, c.grad


@use("rotary-embedding-torch")
def rotate_queries_and_keys():
    from rotary_embedding_torch import RotaryEmbedding

    rotary = RotaryEmbedding(dim=8, learned_freq=True)
    queries, keys = normal(1, 2, 10, 16).requires_grad_(), normal(1, 2, 10, 16)
    scores = rotary.rotate_queries_or_keys(queries) @ rotary.rotate_queries_or_keys(keys).mT
    scores.softmax(-1).square().sum().backward()
    return scores, queries.grad, rotary.freqs.grad


@use("x-transformers")
def language_model():
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    decoder = Decoder(dim=16, depth=2, heads=2, rotary_pos_emb=True, ff_glu=True)
    net = AutoregressiveWrapper(
        TransformerWrapper(num_tokens=20, max_seq_len=12, attn_layers=decoder)
    )
    words = torch.arange(24).view(2, 12) % 20
    losses = fit(net, lambda: net(words))
    return losses, net.generate(words[:, :4], 4, temperature=0.0)


@use("vit-pytorch")
def vision_transformer():
    from vit_pytorch import SimpleViT, ViT

    sizes = {"image_size": 16, "patch_size": 4, "num_classes": 5, "dim": 16}
    sizes |= {"depth": 2, "heads": 2, "mlp_dim": 32}
    images, classes = normal(3, 3, 16, 16), torch.tensor([1, 4, 0])
    return [
        fit(net, lambda net=net: nn.functional.cross_entropy(net(images), classes))
        for net in (ViT(**sizes), SimpleViT(**sizes))
    ]


@use("vector-quantize-pytorch")
def quantize_vectors():
    from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

    x = normal(2, 16, 8).requires_grad_()
    quantized, indices, loss = VectorQuantize(dim=8, codebook_size=12, decay=0.8)(x)
    residual, _, losses = ResidualVQ(dim=8, num_quantizers=3, codebook_size=12)(x)
    levels, _ = FSQ(levels=[4, 3, 3], dim=8)(x)
    bits, _, entropy = LFQ(codebook_size=16, dim=8)(x)
    (
        (quantized + residual + levels + bits).square().sum() + loss + losses.sum() + entropy
    ).backward()
    return quantized, indices, loss, residual, losses, entropy, x.grad


@use("local-attention")
def windowed_attention():
    from local_attention import LocalAttention, LocalTransformer

    query, key, value = (normal(2, 2, 20, 8).requires_grad_() for _ in range(3))
    attention = LocalAttention(dim=8, window_size=5, causal=True, autopad=True)
    attention(query, key, value, mask=torch.ones(2, 20, dtype=torch.bool)).square().sum().backward()
    net = LocalTransformer(
        num_tokens=20,
        dim=16,
        depth=1,
        heads=2,
        dim_head=8,
        max_seq_len=20,
        local_attn_window_size=5,
    )
    words = torch.arange(40).view(2, 20) % 20
    return query.grad, key.grad, value.grad, fit(net, lambda: net(words, return_loss=True))


@use("performer-pytorch")
def fast_attention():
    from performer_pytorch import Performer

    net = Performer(dim=16, depth=2, heads=2, dim_head=8, nb_features=12)
    return losses_of(net, normal(2, 10, 16))


@use("entmax")
def sparse_softmax():
    from entmax import Entmax15Loss, SparsemaxLoss, entmax15, entmax_bisect, sparsemax

    x, target = normal(5, 8).requires_grad_(), torch.tensor([0, 7, 3, 2, 2])
    alpha = torch.tensor(1.3, requires_grad=True)
    parts = sparsemax(x, dim=-1), entmax15(x, dim=-1), entmax_bisect(x, alpha)
    loss = sum((part**2).sum() for part in parts)
    loss = loss + SparsemaxLoss()(x, target) + Entmax15Loss()(x, target)
    loss.backward()
    return parts, loss, x.grad, alpha.grad


@use("tensorly")
def decompose():
    import tensorly
    from tensorly.decomposition import parafac, tucker

    tensorly.set_backend("pytorch")
    x = normal(4, 5, 6).requires_grad_()
    cp = parafac(x.detach(), rank=3, init="svd", n_iter_max=10)
    core, factors = tucker(x.detach(), rank=[2, 3, 2], n_iter_max=10)
    tensorly.tenalg.multi_mode_dot(x, [f.mT for f in factors]).square().sum().backward()
    return tensorly.cp_to_tensor(cp), tensorly.tucker_to_tensor((core, factors)), x.grad


@use("jaxtyping")
def annotate_shapes():
    from jaxtyping import Float, Int, TypeCheckError, jaxtyped

    Matrix, Vector = Float[torch.Tensor, "b n"], Float[torch.Tensor, "b"]
    Indices = Int[torch.Tensor, "b"]

    @jaxtyped(typechecker=None)
    def pick(x: Matrix, index: Indices) -> Vector:
        return x.gather(1, index[:, None])[:, 0]

    x, index = normal(3, 4).requires_grad_(), torch.tensor([0, 3, 1])
    pick(x, index).square().sum().backward()
    kinds = Float[torch.Tensor, "3 4"], Float[torch.Tensor, "4 3"], Int[torch.Tensor, "..."]
    return x.grad, [isinstance(x, kind) for kind in kinds], issubclass(TypeCheckError, Exception)


@use("perceiver-pytorch")
def read_by_latents():
    from perceiver_pytorch import Perceiver

    heads = {"cross_heads": 1, "latent_heads": 2, "cross_dim_head": 4, "latent_dim_head": 4}
    sizes = {"num_latents": 4, "latent_dim": 8, "num_classes": 3, "depth": 2}
    bands = {"num_freq_bands": 2, "max_freq": 4.0}
    return losses_of(
        Perceiver(input_channels=3, input_axis=1, **heads, **sizes, **bands), normal(2, 6, 3)
    )


@use("linformer")
def attend_to_few():
    from linformer import Linformer

    return losses_of(Linformer(dim=8, seq_len=6, depth=2, heads=2, k=3), normal(2, 6, 8))


@use("nystrom-attention")
def attend_by_landmarks():
    from nystrom_attention import Nystromformer

    net = Nystromformer(dim=8, dim_head=4, heads=2, depth=1, num_landmarks=4, pinv_iterations=3)
    return losses_of(net, normal(2, 8, 8))


@use("soft-moe-pytorch")
def mix_experts():
    from soft_moe_pytorch import SoftMoE

    return losses_of(SoftMoE(dim=8, seq_len=6, num_experts=2), normal(2, 6, 8))


@use("torch-geometric")
def convolve_graphs():
    from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_mean_pool

    x, edges = normal(5, 4), torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
    found = [global_mean_pool(x, torch.tensor([0, 0, 1, 1, 1]))]
    for layer in (GCNConv(4, 3), GATConv(4, 3), SAGEConv(4, 3)):
        found += fit(layer, lambda layer=layer: layer(x, edges).square().mean())
    return found


@use("snntorch")
def spike():
    import snntorch
    from snntorch import surrogate

    cell = snntorch.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid())
    net, x = nn.Linear(4, 3), normal(5, 2, 4)

    def loss():
        potential, total = cell.init_leaky(), 0
        for current in x:
            spikes, potential = cell(net(current), potential)
            total = total + spikes.sum() + potential.sum()
        return total

    return fit(net, loss)
