"""PyTorch's paths of what lives elsewhere here, and the rooms that are loaded when asked for.

Scripts import from the file that a name is in: `nn.modules.sparse.Embedding`. A path is a module of
the names below, or a module of ours that has them besides its own. `import tiny_torch` loads the
core: what stands in ROOMS, and whatever has one of the names, is loaded by the first look at it.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from tiny_torch.compat import refused

STANDINS = Path(__file__).with_name("standins")  # jit, compiler and their kin


def rows(text: str) -> list[tuple[str, str]]:
    """(What is before the first colon, what is behind) of each line; an indented one goes on."""
    lines = text.replace("\n    ", " ").strip().splitlines()
    return [(key, value.strip()) for key, _, value in (x.partition(":") for x in lines)]


# Path: the modules in it that are loaded when asked for. "." is the package itself.
ROOMS = dict(rows("""
.: cuda distributed distributions func sparse
autograd: anomaly_mode functional profiler profiler_util
cuda: amp
distributed: algorithms checkpoint device_mesh distributed_c10d fsdp nn optim pipelining tensor
distributed.checkpoint: state_dict
distributed.tensor: parallel
distributed.nn: functional
distributed.algorithms: ddp_comm_hooks join
distributed.algorithms.ddp_comm_hooks: default_hooks powerSGD_hook
nn: attention common_types grad parallel
nn.modules: utils
nn.utils: clip_grad convert_parameters fusion init parametrizations parametrize prune
optim: adadelta adafactor adagrad adamax asgd lbfgs lr_scheduler muon nadam radam rprop sparse_adam
    swa_utils
utils: checkpoint data deterministic dlpack flop_counter hooks images memory monitor viz
"""))  # fmt: skip
# Whole modules, with what is in them. PyTorch's (datasets, models, transforms: torchvision's) path:
# where it is here.
HOMES = dict(rows("""
accelerator: cuda.accelerator
backends: compat.backends
cpu: compat.cpu
cuda.nvtx: compat.nvtx
datasets: vision.datasets
distributed.elastic.multiprocessing.errors: distributed.record
export: tools.export
futures: distributed.work
linalg: functions.torch_linalg
metrics: utils.metrics
models: vision.models
multiprocessing: utils.multiprocessing
nn.modules.channelshuffle: nn.modules.spatial
nn.modules.fold: nn.modules.spatial
nn.modules.pixelshuffle: nn.modules.spatial
nn.modules.sparse: nn.modules.embedding
nn.modules.upsampling: nn.modules.spatial
onnx: tools.export.onnx
profiler: tools.profiler
quasirandom: functions.random.sobol
random: functions.random.generator
return_types: base.return_types
safetensors: exchange.safetensors
serialization: exchange.serialization
signal: functions.torch_signal
signal.windows: functions.creation.signal_windows
special: functions.torch_special
storage: functions.storage
testing: utils.testing
transforms: vision.transforms
utils._pytree: base.pytree
utils.tensorboard.writer: utils.tensorboard
utils.weak: compat.weak
version: base.version
"""))  # fmt: skip
# Rooms whose modules PyTorch has one level up.
HOMES |= {
    f"{room.rpartition('.')[0]}.{file.stem}": f"{room}.{file.stem}"
    for room in ("distributions.continuous", "distributions.discrete", "distributions.multivariate")
    for file in Path(__file__).parents[1].joinpath(*room.split(".")).glob("[!_]*.py")
}
# Path, where the names are: the names. Pickles of PyTorch call those of exchange.rebuild.
PATHS = [(*places.split(), names) for places, names in rows("""
. compat.foreach: _foreach_abs _foreach_abs_ _foreach_acos _foreach_acos_ _foreach_add
    _foreach_add_ _foreach_addcdiv _foreach_addcdiv_ _foreach_addcmul _foreach_addcmul_
    _foreach_asin _foreach_asin_ _foreach_atan _foreach_atan_ _foreach_ceil _foreach_ceil_
    _foreach_clamp_max _foreach_clamp_max_ _foreach_clamp_min _foreach_clamp_min_ _foreach_clone
    _foreach_copy_ _foreach_cos _foreach_cos_ _foreach_cosh _foreach_cosh_ _foreach_div
    _foreach_div_ _foreach_erf _foreach_erf_ _foreach_erfc _foreach_erfc_ _foreach_exp
    _foreach_exp_ _foreach_expm1 _foreach_expm1_ _foreach_floor _foreach_floor_ _foreach_frac
    _foreach_frac_ _foreach_lerp _foreach_lerp_ _foreach_lgamma _foreach_lgamma_ _foreach_log
    _foreach_log10 _foreach_log10_ _foreach_log1p _foreach_log1p_ _foreach_log2 _foreach_log2_
    _foreach_log_ _foreach_max _foreach_maximum _foreach_maximum_ _foreach_minimum
    _foreach_minimum_ _foreach_mul _foreach_mul_ _foreach_neg _foreach_neg_ _foreach_norm
    _foreach_pow _foreach_pow_ _foreach_reciprocal _foreach_reciprocal_ _foreach_round
    _foreach_round_ _foreach_rsqrt _foreach_rsqrt_ _foreach_sigmoid _foreach_sigmoid_
    _foreach_sign _foreach_sign_ _foreach_sin _foreach_sin_ _foreach_sinh _foreach_sinh_
    _foreach_sqrt _foreach_sqrt_ _foreach_sub _foreach_sub_ _foreach_tan _foreach_tan_
    _foreach_tanh _foreach_tanh_ _foreach_trunc _foreach_trunc_ _foreach_zero_
. compat.private: PyTorchFileReader PyTorchFileWriter SymBool SymFloat SymInt TensorType _assert
    _assert_async _check _check_index _check_is_size _check_not_implemented _check_type
    _check_value _shape_as_tensor complex istft polar stft view_as_complex view_as_real
nn.modules.module compat.private: _addindent
utils.data.dataloader compat.private: _collate_fn_t _worker_init_fn_t
distributions.transforms distributions._maps: _clipped_sigmoid
nn._reduction compat.private: get_enum legacy_get_enum legacy_get_string
. compiler: compile
. amp.grad_scaler: GradScaler
. autograd.anomaly_mode: is_anomaly_check_nan_enabled is_anomaly_enabled
. exchange.serialization: load save
. func: vmap
. sparse.building: sparse_coo_tensor
. sparse.products: dsmm spmm
. functions.linalg.lowrank: pca_lowrank svd_lowrank
. nn.utils.weight_norm: norm_except_dim
. cuda: Event Stream
. futures: Future
. jit: ScriptFunction ScriptModule
autograd autograd.anomaly_mode: detect_anomaly set_detect_anomaly
autograd.forward_ad compat.private: UnpackedDualTensor unpack_dual
autograd.graph autograd.multi_grad: register_multi_grad_hook
autograd.function compat.private: InplaceFunction
autograd.variable autograd.function: Variable VariableMeta
autograd.profiler compat.private: emit_itt emit_nvtx
_dynamo.exc compat.delegate: BackendCompilerFailed TorchDynamoException
_dynamo.exc compiler: InvalidBackend
_dynamo.testing compat.delegate: CompileCounter
_C._functorch compat.private: _add_batch_dim _remove_batch_dim get_unwrapped is_batchedtensor
cuda compat.private: _is_in_bad_fork
cuda compat.lazy_cuda: _initialized _lazy_call
fx.experimental.proxy_tensor compat.private: get_proxy_mode
ops compat.aten: aten load_library
library compat.library: CustomOpDef Library custom_op define impl impl_abstract register_autograd
    register_fake register_kernel triton_op
nn.utils._named_member_accessor compat.private: swap_tensor
special functions.elementwise.erfcx: erfcx
_subclasses.fake_tensor compat.private: is_fake
utils._contextlib compat.private: _DecoratorContextManager
utils._python_dispatch compat.private: TorchDispatchMode is_traceable_wrapper_subclass
    return_and_correct_aliasing
utils.checkpoint utils.checkpoint.surroundings: get_device_states set_device_states
utils.data._utils.collate compat.private: np_str_obj_array_pattern
_utils compat.private: _flatten_dense_tensors _get_available_device_type _get_device_module
    _unflatten_dense_tensors
distributed.rpc.api compat.private: _require_initialized
_tensor_str compat.private: PRINT_OPTS _tensor_str
_tensor .: Tensor
_tensor exchange.rebuild: _rebuild_from_type_v2
_utils exchange.rebuild: _rebuild_meta_tensor_no_storage _rebuild_parameter
    _rebuild_parameter_with_state _rebuild_sparse_tensor _rebuild_tensor _rebuild_tensor_v2
    _rebuild_tensor_v3
serialization exchange.rebuild: _get_layout
accelerator.memory accelerator: empty_cache get_memory_info max_memory_allocated
    max_memory_reserved memory_allocated memory_reserved memory_stats
    reset_accumulated_memory_stats reset_peak_memory_stats
amp amp.grad_scaler: GradScaler
cpu.amp.autocast_mode cpu.amp: autocast
cpu.amp.grad_scaler cpu.amp: GradScaler
cuda.amp.autocast_mode cuda.amp: autocast custom_bwd custom_fwd
cuda.amp.grad_scaler cuda.amp: GradScaler
distributed._tensor distributed.tensor: DTensor DeviceMesh Partial Placement Replicate Shard
    distribute_module distribute_tensor init_device_mesh
distributed.constants distributed.world: default_pg_timeout
functional functions.linalg.lowrank: pca_lowrank svd_lowrank
functional .: atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors
    cartesian_prod cdist chain_matmul einsum meshgrid norm split tensordot unique
    unique_consecutive unravel_index
models vision.models._weights: AlexNet_Weights MobileNet_V2_Weights ResNeXt101_32X8D_Weights
    ResNeXt101_64X4D_Weights ResNeXt50_32X4D_Weights ResNet101_Weights ResNet152_Weights
    ResNet18_Weights ResNet34_Weights ResNet50_Weights VGG11_BN_Weights VGG11_Weights
    VGG13_BN_Weights VGG13_Weights VGG16_BN_Weights VGG16_Weights VGG19_BN_Weights VGG19_Weights
    ViT_B_16_Weights ViT_B_32_Weights ViT_H_14_Weights ViT_L_16_Weights ViT_L_32_Weights
    Wide_ResNet101_2_Weights Wide_ResNet50_2_Weights
nn nn.parallel: DataParallel
nn compat.private: CrossMapLRN2d NLLLoss2d
nn.modules compat.private: CrossMapLRN2d NLLLoss2d
nn.modules.loss compat.private: NLLLoss2d
nn.modules.module nn.modules._parts.state_dict: _EXTRA_STATE_KEY_SUFFIX _IncompatibleKeys
distributions.transforms distributions._transform: _InverseTransform
jit.annotations compat.annotations: Dict List Optional Tuple
nn.modules.rnn nn: GRUCell LSTMCell RNNCell RNNCellBase
nn.utils nn.utils.clip_grad: clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_
    get_total_norm
nn.utils nn.utils.convert_parameters: parameters_to_vector vector_to_parameters
nn.utils nn.utils.fusion: fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval
    fuse_linear_bn_weights
nn.utils nn.utils.init: skip_init
nn.utils.stateless func: functional_call
optim optim.adadelta: Adadelta
optim optim.adafactor: Adafactor
optim optim.adagrad: Adagrad
optim optim.adamax: Adamax
optim optim.asgd: ASGD
optim optim.lbfgs: LBFGS
optim optim.muon: Muon
optim optim.nadam: NAdam
optim optim.radam: RAdam
optim optim.rprop: Rprop
optim optim.sparse_adam: SparseAdam
storage serialization: _load_from_bytes
utils tools.explaining: explain
utils._foreach_utils compat.foreach: _device_has_foreach_support
    _get_foreach_kernels_supported_devices _get_fused_kernels_supported_devices
    _group_tensors_by_device_and_dtype _has_foreach_support
utils utils.seeding: seed_everything
torch_version version: TorchVersion __version__
""")]  # fmt: skip


def full(path: str) -> str:
    return f"tiny_torch.{path}".rstrip(".")


def is_file(path: str) -> bool:
    """True if a module of ours, or a folder of them, stands at the path."""
    place = Path(__file__).parents[1].joinpath(*path.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


def replace_start(name: str, table: dict[str, str]) -> str:
    """A module's name with its beginning, or all of it, replaced by what the table has for it."""
    start = name
    while start and start not in table:
        start = start.rpartition(".")[0]
    return table[start] + name[len(start) :] if start else name


HOME = {full(path): full(home) for path, home in HOMES.items()}
PATH = {home: path for path, home in HOME.items()}


def public_path(module: str) -> str:
    """PyTorch's path, below `tiny_torch`, of a module of ours."""
    return replace_start(module, PATH)


TORCHVISION = {
    "torchvision": "tiny_torch.compat.torchvision",
    "torchvision.datasets": "tiny_torch.datasets",
    "torchvision.models": "tiny_torch.models",
    "torchvision.transforms": "tiny_torch.transforms",
    "torchvision.utils": "tiny_torch.utils.images",
}
PUBLIC = {"tiny_torch": "torch", **{ours: theirs for theirs, ours in TORCHVISION.items()}}


def public_name(module: str) -> str:
    """PyTorch's or torchvision's name of a module of ours."""
    return replace_start(public_path(module), PUBLIC)


class Alias(Loader):
    """Loads a module by importing another one, which it is from then on."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.name)
        self.spec = module.__spec__
        vars(module).setdefault("__path__", [])  # names of PATHS may be below it
        return module

    def get_code(self, fullname: str) -> Any:
        """The other's code, for `python -m tiny_torch run -m torch.distributed.run`."""
        spec = importlib.util.find_spec(self.name)
        return getattr(spec.loader, "get_code", lambda name: None)(self.name) if spec else None

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # which the import of an alias has just replaced


class Names(Loader):
    """Loads a module that has nothing of its own: `find` answers for it."""

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = "Names at a path of PyTorch: compat/paths.py."


class Finder(MetaPathFinder):
    """Finds a module at PyTorch's path, and what is below it, by HOMES and PATHS."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if refused.why_of(fullname):
            loader = refused.Refused(public_name(fullname), find)
            return ModuleSpec(fullname, loader, is_package=True)
        if fullname in NAMES:
            return ModuleSpec(fullname, Names(), is_package=True)  # others may be below it
        home = replace_start(fullname, HOME)
        if home == fullname or importlib.util.find_spec(home) is None:
            return None
        return ModuleSpec(fullname, Alias(home))


# The modules at those paths that are no file here.
NAMES = {full(path) for path, _, _ in PATHS if path and path not in HOMES and not is_file(path)}
# (Module, name): where it is, and its name there; None for a module.
WHERE: dict[tuple[str, str], tuple[str, str | None]] = {
    ("tiny_torch", "torch"): ("tiny_torch", None),
    **{("tiny_torch", file.stem): (full(file.stem), None) for file in STANDINS.iterdir()},
    **{
        (parent, last): (name, None)
        for name in (*HOME, *NAMES, *refused.WHY)
        for parent, _, last in (name.rpartition("."),)
    },
    **{
        (full(path), room): (full(f"{path}.{room}".lstrip(".")), None)
        for path, rooms in ROOMS.items()
        for room in rooms.split()
    },
    **{
        (full(path), name): (full(home), name)
        for path, home, names in PATHS
        for name in names.split()
    },
}


def find(module: str, name: str) -> Any:
    """What a module has under a name that is loaded when it is asked for; None if there is none."""
    place = WHERE.get((public_path(module), name))
    if place is None:
        return None
    home, theirs = place
    found = importlib.import_module(home)
    if theirs is not None:
        found = getattr(found, theirs)
        setattr(sys.modules[module], name, found)
    return found


def names(module: str) -> list[str]:
    """The names that `find` knows of a module."""
    public = public_path(module)
    return [name for owner, name in WHERE if owner == public]


def install() -> None:
    """Makes the modules at those paths that are no file here."""
    sys.meta_path.insert(0, Finder())
