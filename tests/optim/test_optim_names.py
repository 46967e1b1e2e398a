"""optim, nn.init and nn.utils have PyTorch's names, with its parameters and defaults."""

from __future__ import annotations

import importlib
import inspect

import pytest

NAMES = {
    "torch.optim": """
        Adadelta Adafactor Adagrad Adam AdamW Adamax ASGD LBFGS Muon NAdam Optimizer RAdam RMSprop
        Rprop SGD
    """,
    "torch.optim.Optimizer": """
        add_param_group load_state_dict state_dict step zero_grad register_step_pre_hook
        register_load_state_dict_post_hook register_load_state_dict_pre_hook
        register_state_dict_post_hook register_state_dict_pre_hook register_step_post_hook
    """,
    "torch.optim.lr_scheduler": """
        ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR
        ExponentialLR LambdaLR LinearLR LRScheduler _LRScheduler MultiplicativeLR MultiStepLR
        OneCycleLR PolynomialLR ReduceLROnPlateau SequentialLR StepLR
    """,
    "torch.optim.lr_scheduler.LRScheduler": "get_last_lr get_lr load_state_dict state_dict step",
    "torch.optim.swa_utils": """
        AveragedModel SWALR get_ema_avg_fn get_ema_multi_avg_fn get_swa_avg_fn
        get_swa_multi_avg_fn update_bn
    """,
    "torch.nn.init": """
        calculate_gain constant_ dirac_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_
        orthogonal_ sparse_ trunc_normal_ uniform_ xavier_normal_ xavier_uniform_ zeros_
    """,
    "torch.nn.utils": """
        clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ fuse_conv_bn_eval
        fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights get_total_norm
        parameters_to_vector remove_spectral_norm remove_weight_norm skip_init spectral_norm
        vector_to_parameters weight_norm
    """,
    "torch.nn.utils.parametrizations": "orthogonal spectral_norm weight_norm",
    "torch.nn.utils.prune": """
        BasePruningMethod custom_from_mask CustomFromMask global_unstructured identity Identity
        is_pruned l1_unstructured L1Unstructured ln_structured LnStructured PruningContainer
        random_structured random_unstructured RandomStructured RandomUnstructured remove
    """,
    "torch.nn.utils.parametrize": """
        ParametrizationList is_parametrized register_parametrization remove_parametrizations
        transfer_parametrizations_and_params type_before_parametrizations
    """,
}
ALL = [f"{space}.{name}" for space, names in NAMES.items() for name in names.split()]


def find(package, name):
    found = importlib.import_module(package)
    if name.startswith("torch.nn.utils.prune."):  # both load it when asked
        importlib.import_module(f"{package}.nn.utils.prune")
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def parameters(function):
    return [
        (p.name, p.kind, p.default if not isinstance(p.default, type) else p.default.__name__)
        for p in inspect.signature(function).parameters.values()
    ]


@pytest.mark.parametrize("name", ALL)
def test_parameters_are_pytorchs(oracle, name):
    ours, theirs = find("tiny_torch", name), find("torch", name)
    assert inspect.isclass(ours) == inspect.isclass(theirs)
    assert parameters(ours) == parameters(theirs)


@pytest.mark.parametrize("space", [s for s in NAMES if s.rpartition(".")[2].islower()])
def test_namespaces_are_modules(space):
    module = importlib.import_module(space.replace("torch", "tiny_torch", 1))
    assert inspect.ismodule(module)
