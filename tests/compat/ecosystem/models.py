"""Typical uses of packages of models: steps of small ones, whose weights are random."""

import tempfile

import torch
from torch import nn
from uses import fit, normal, use


@use("timm")
def five_models():
    import timm

    names = {
        "resnet10t": {},
        "mobilenetv3_small_050": {},
        "efficientnet_lite0": {},
        "convnext_atto": {},
        "vit_tiny_patch16_224": {"img_size": 64},
    }
    images, classes = normal(3, 3, 64, 64), torch.tensor([1, 4, 0])
    found = {}
    for name, options in names.items():
        net = timm.create_model(name, num_classes=5, **options)
        found[name] = fit(net, lambda net=net: nn.functional.cross_entropy(net(images), classes))
    return found


def small_gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_layer": 2, "n_head": 2, "n_embd": 16, "vocab_size": 40, "n_positions": 32}
    config = GPT2Config(**sizes, bos_token_id=0, eos_token_id=39, resid_pdrop=0.0)
    return GPT2LMHeadModel(config).to(torch.float64)


class Words(torch.utils.data.Dataset):
    """Sixteen sequences of eight words, each its own target."""

    def __len__(self):
        return 16

    def __getitem__(self, i):
        words = (torch.arange(8) * (i + 1)) % 39
        return {"input_ids": words, "labels": words}


@use("transformers")
def bert_gpt2_and_llama():
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        LlamaConfig,
        LlamaForCausalLM,
        Trainer,
        TrainingArguments,
    )  # fmt: skip

    words = torch.arange(16).view(2, 8)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 32, "vocab_size": 40}
    bert = BertForSequenceClassification(BertConfig(**sizes, num_labels=3)).to(torch.float64)
    losses = fit(bert, lambda: bert(words, labels=torch.tensor([0, 2])).loss)
    llama = LlamaForCausalLM(LlamaConfig(**sizes, num_key_value_heads=1)).to(torch.float64)
    losses += fit(llama, lambda: llama(words, labels=words).loss)
    gpt2 = small_gpt2()
    with tempfile.TemporaryDirectory() as folder:
        options = {"max_steps": 10, "logging_steps": 1, "use_cpu": True, "report_to": "none"}
        options |= {"per_device_train_batch_size": 4, "save_strategy": "no", "disable_tqdm": True}
        trainer = Trainer(gpt2, TrainingArguments(folder, **options), train_dataset=Words())
        trainer.train()
        gpt2.save_pretrained(folder)
        again = type(gpt2).from_pretrained(folder).to(torch.float64)
    steps = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    written = [
        net.eval().generate(words[:, :4], max_new_tokens=6, do_sample=False, num_beams=beams)
        for net, beams in ((gpt2, 1), (gpt2, 2), (llama, 1))
    ]
    return losses, steps, written, again.eval()(words).logits


@use("peft")
def low_rank_adapters():
    from peft import LoraConfig, get_peft_model

    net = get_peft_model(small_gpt2(), LoraConfig(r=4, target_modules=["c_attn"], lora_dropout=0.0))
    net.to(torch.float64)
    words = torch.arange(16).view(2, 8)
    losses = fit(net, lambda: net(input_ids=words, labels=words).loss)
    trained = [name for name, p in net.named_parameters() if p.requires_grad]
    return losses, trained, net.merge_and_unload()(words).logits


@use("segmentation-models-pytorch")
def segment():
    import segmentation_models_pytorch as smp

    images, masks = normal(3, 3, 64, 64), (normal(3, 1, 64, 64) > 0).long()
    loss = smp.losses.DiceLoss("binary")
    found = []
    for kind in (smp.Unet, smp.FPN):
        net = kind("resnet18", encoder_weights=None, classes=1)
        found.append(fit(net, lambda net=net: loss(net(images), masks)))
    return found, smp.metrics.get_stats(
        net.eval()(images).sigmoid(), masks, "binary", threshold=0.5
    )


@use("kornia")
def augment_and_filter():
    import kornia

    images = torch.rand(2, 3, 12, 12).requires_grad_()
    augment = kornia.augmentation.AugmentationSequential(
        kornia.augmentation.RandomHorizontalFlip(p=0.5),
        kornia.augmentation.RandomAffine(20.0, p=1.0),
        kornia.augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
    )
    parts = [
        augment(images),
        kornia.filters.gaussian_blur2d(images, (3, 3), (1.5, 1.5)),
        kornia.filters.sobel(images),
        kornia.color.rgb_to_lab(images),
        kornia.geometry.rotate(images, torch.tensor([10.0, 30.0])),
        kornia.geometry.warp_perspective(images, torch.eye(3).expand(2, 3, 3) * 1.1, (10, 10)),
        kornia.losses.ssim_loss(images, images.flip(0), 5),
    ]
    sum(part.square().sum() for part in parts).backward()
    return parts, images.grad


@use("monai")
def segment_volumes():
    from monai.losses import DiceCELoss
    from monai.metrics import DiceMetric
    from monai.networks.nets import UNet
    from monai.transforms import Compose, NormalizeIntensity, RandFlip, ScaleIntensity

    prepare = Compose([ScaleIntensity(), NormalizeIntensity(), RandFlip(prob=0.5, spatial_axis=0)])
    prepare.set_random_state(0)
    volumes = torch.stack([prepare(v).as_tensor() for v in normal(2, 1, 16, 16, 16)])
    volumes, masks = volumes.double(), (normal(2, 1, 16, 16, 16) > 0).double()
    net = UNet(3, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1)
    loss = DiceCELoss(to_onehot_y=True, softmax=True)
    losses = fit(net, lambda: loss(net(volumes), masks))
    metric = DiceMetric(num_classes=2)
    metric(net(volumes).argmax(1, keepdim=True), masks)
    return volumes, losses, metric.aggregate()


@use("pytorch-metric-learning")
def embed():
    from pytorch_metric_learning import losses, miners

    net, x, classes = nn.Linear(4, 3), normal(12, 4), torch.arange(12) % 3
    miner, found = miners.MultiSimilarityMiner(), []
    for loss in (
        losses.TripletMarginLoss(), losses.NTXentLoss(), losses.ContrastiveLoss(),
        losses.ArcFaceLoss(3, 3), losses.ProxyAnchorLoss(3, 3), losses.MultiSimilarityLoss(),
    ):  # fmt: skip
        found.append(fit(net, lambda loss=loss: loss(net(x), classes, miner(net(x), classes))))
    return found


@use("pytorch-tabnet")
def classify_tables():
    import numpy as np
    from pytorch_tabnet.tab_network import TabNet

    torch.manual_seed(0)
    np.random.seed(0)
    matrix = torch.eye(5)
    net = TabNet(5, 3, n_d=4, n_a=4, group_attention_matrix=matrix, virtual_batch_size=4)
    x, classes = normal(12, 5), torch.arange(12) % 3

    def loss():
        answer, sparsity = net(x)
        return nn.functional.cross_entropy(answer, classes) - 1e-3 * sparsity

    return fit(net, loss), net.eval().forward_masks(x)[0]
