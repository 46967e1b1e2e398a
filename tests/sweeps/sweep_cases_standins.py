"""Samples of what is here in name and runs plain Python: jit, compile, distributed, hub, vmap; ONNX."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import of

of(
    "vmap func.vmap",
    "torch.NAME(torch.sin)(x)",
    "torch.NAME(torch.mul)(x, x)",
    "torch.NAME(torch.mul, in_dims=(0, None))(m, v[:4])",
    "torch.NAME(torch.exp, in_dims=1)(x)",
    "torch.NAME(torch.exp, in_dims=-1, out_dims=-1)(y)",
    "torch.NAME(lambda a: (a * 1, a.sum()))(y)",
    "torch.NAME(torch.NAME(torch.neg))(x)",
    "torch.NAME(torch.neg, chunk_size=2)(v)",
    "torch.NAME(torch.neg)(s)",
    "torch.NAME(torch.add)(v, y)",
    "torch.NAME(torch.neg, in_dims=5)(x)",
    "torch.NAME(torch.neg, randomness='odd')(x)",
    "torch.NAME(lambda a: 3)(x)",
)
of(
    "func.stack_module_state",
    "q = [nn.Linear(2, 3) for _ in range(2)]\ntorch.NAME(q)[0]['weight'].shape, x",
    "q = [nn.BatchNorm1d(2) for _ in range(3)]\ntorch.NAME(q)[1]['running_mean'], x",
    "torch.NAME([]), x",
    "torch.NAME([nn.ReLU(), nn.Tanh()]), x",
)
of(
    "func.linearize",
    "torch.NAME(torch.sin, v)[1](w)",
    "torch.NAME(lambda a, c: a * c, v, w)[1](w, v)",
    "torch.NAME(torch.exp, v)[0]",
    "torch.NAME(lambda a: a.sum(0), y)[1](y)",
)
CALLS = (
    "torch.NAME(lambda a: a * 2, backend='eager')(x)",
    "torch.NAME(backend='eager')(torch.neg)(x)",
    "torch.NAME(torch.neg, disable=True)(x)",
    "list(torch.NAME(nn.Linear(2, 3), backend='eager').state_dict()), x",
    "torch.NAME(nn.ReLU(), backend='eager')._orig_mod.training, x",
    "torch.NAME(3), x",
    "torch.NAME(torch.neg, mode='default', options={}), x",
    "torch.NAME(torch.neg, mode='odd'), x",
)
of("compile compiler.compile", *CALLS)
of("compiler.allow_in_graph compiler.assume_constant_result compiler.disable "
    "compiler.nested_compile_region", "torch.NAME(f)(x)", "torch.NAME(f)(v)", prepare="def f(a):\n    return a * 2\n")  # fmt: skip
of("compiler.disable", "torch.NAME()(f)(x)", "torch.NAME(3), x")
of("compiler.is_compiling compiler.is_dynamo_compiling compiler.is_exporting compiler.reset "
    "compiler.cudagraph_mark_step_begin compiler.list_backends", "torch.NAME(), x", "torch.NAME(3, 4, 5), x")  # fmt: skip
of("compiler.set_stance", "with torch.NAME('force_eager'):\n    Z = x * 2\nZ", "torch.NAME(stance='default') is None, x", "torch.NAME(odd=3), x")  # fmt: skip
of(
    "jit.script jit.trace",
    "list(torch.jit.script(nn.Linear(2, 3)).state_dict()), x",
    "torch.jit.trace(nn.Tanh(), (x,))(x)",
    "torch.jit.trace(nn.LeakyReLU(0.5), v)(v)",
    "torch.jit.trace(nn.Tanh(), x)(x)",
    "isinstance(torch.jit.trace(nn.Tanh(), v), torch.jit.ScriptModule), x",
    "torch.jit.trace(3, x)",
    "torch.jit.script(nn.ReLU())(x)",
    "torch.jit.script(3), x",
    "torch.jit.script(nn.ReLU), x",
)
of(
    "jit.trace_module jit.freeze jit.optimize_for_inference jit.ScriptModule",
    "torch.jit.trace_module(nn.Tanh(), {'forward': x})(x)",
    "torch.jit.freeze(torch.jit.trace(nn.Tanh().eval(), x))(x)",
    "torch.jit.freeze(nn.ReLU()), x",
    "torch.jit.optimize_for_inference(nn.ReLU()), x",
    "isinstance(torch.jit.script(nn.ReLU()), torch.jit.ScriptModule), x",
    "torch.jit.script(nn.ReLU()).original_name, x",
)
of("jit.ignore jit.unused jit.export jit.script_if_tracing", "torch.NAME(f)(x)", "torch.NAME(f)(v)", prepare="def f(a):\n    return a * 2\n")  # fmt: skip
of("jit.annotate", "torch.NAME(int, x)", "torch.NAME(torch.Tensor, v)", "torch.NAME(3), x")
of("jit.isinstance", "torch.NAME(x, torch.Tensor), x", "torch.NAME(3, int), x", "torch.NAME(3, str), x", "torch.NAME(3, (int, str)), x")  # fmt: skip
of("jit.Attribute jit.Error", "torch.jit.Attribute(x, torch.Tensor).value", "issubclass(torch.jit.Error, Exception), x", "torch.jit.Attribute(3), x")  # fmt: skip
of(
    "nn.SyncBatchNorm",
    "nn.SyncBatchNorm(3).eval()",
    "repr(nn.SyncBatchNorm(3, 0.5, momentum=None, affine=False)), x",
    "list(nn.SyncBatchNorm(3).state_dict()), x",
    "nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(3), nn.Tanh()))[1](x)",
    "repr(nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(3).eval()))), x",
    "type(nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm3d(2))).__name__, x",
    "nn.SyncBatchNorm('three')",
)
of(
    "nn.DataParallel nn.parallel.DataParallel nn.parallel.data_parallel",
    "nn.DataParallel(nn.Tanh())(x)",
    "nn.parallel.DataParallel(nn.Tanh()).module(x)",
    "list(nn.DataParallel(nn.Linear(2, 3)).state_dict()), x",
    "repr(nn.DataParallel(nn.Linear(2, 3))), x",
    "nn.DataParallel(nn.Linear(2, 3), device_ids=[0]).device_ids, x",
    "nn.DataParallel(nn.Tanh())()",
    "nn.parallel.data_parallel(nn.Tanh(), x)",
    "nn.parallel.DistributedDataParallel(nn.Linear(2, 3)), x",
)
of(
    "distributed.destroy_process_group distributed.is_initialized "
    "distributed.is_available distributed.is_nccl_available distributed.get_node_local_rank",
    "torch.NAME(), x",
)
of("distributed.get_node_local_rank", "torch.NAME(3), x")
of("distributed.ReduceOp", "torch.NAME.SUM == torch.NAME.SUM, x", "torch.NAME.MAX == torch.NAME.MIN, x", "torch.NAME.ODD, x")  # fmt: skip
of("fx.wrap", "torch.NAME(3), x", "torch.NAME(None), x")
of(
    "hub.get_dir hub.set_dir",
    "torch.hub.get_dir(), x",
    "torch.hub.set_dir('/nowhere')\n[torch.hub.get_dir(), torch.hub.set_dir(h), x]",
    prepare="h = torch.hub.get_dir()",
)
of("hub.load hub.load_state_dict_from_url hub.download_url_to_file", "torch.hub.load('/nowhere', 'x', source='local'), x", "torch.hub.load('/nowhere', 'x', source='odd'), x", "torch.hub.download_url_to_file('file:///nowhere/x.pt', '/tmp/nothing', progress=False), x")  # fmt: skip
of(
    "multiprocessing.cpu_count multiprocessing.get_all_start_methods multiprocessing.get_context "
    "multiprocessing.get_sharing_strategy multiprocessing.get_start_method "
    "multiprocessing.set_sharing_strategy multiprocessing.Queue",
    "torch.multiprocessing.cpu_count(), x",
    "torch.multiprocessing.get_all_start_methods(), x",
    "torch.multiprocessing.get_context('odd'), x",
    "torch.multiprocessing.get_sharing_strategy(), x",
    "torch.multiprocessing.set_sharing_strategy('odd'), x",
    "torch.multiprocessing.set_sharing_strategy('file_descriptor'), x",
    "q = torch.multiprocessing.get_context('fork').SimpleQueue()\nq.put(3)\nq.get(), x",
    "torch.multiprocessing.get_context('fork').Queue(3).empty(), x",
)
# What a file computes, by ONNX's own reference.
ONNX = """
import os, tempfile
from onnx.reference import ReferenceEvaluator
def ran(model, *inputs, **options):
    path = os.path.join(tempfile.mkdtemp(), 'model.onnx')
    names = [f'x{i}' for i in range(len(inputs))]
    inputs = tuple(i.float() for i in inputs)  # PyTorch writes files of other dtypes that do not run
    feeds = dict(zip(names, [i.detach().numpy() for i in inputs]))
    torch.onnx.export(model, inputs, path, input_names=names, dynamo=False, **options)
    return [torch.from_numpy(o) for o in ReferenceEvaluator(path).run(None, feeds)]
class Two(nn.Module):
    def forward(self, a, c):
        return a * c, (a + c).relu()
"""
of(
    "onnx.export onnx.ONNXProgram",
    "ran(nn.ReLU(), v)",
    "ran(nn.Sequential(nn.Flatten(), nn.Tanh()), y)",
    "ran(Two(), v, w)",
    "ran(Two(), v, w, opset_version=17)",
    "ran(Two(), v, w, output_names=['p', 'q'])",
    "ran(nn.ReLU(), v, dynamic_axes={'x0': {0: 'n'}})",
    "ran(nn.ReLU(), v, opset_version=3)",
    "torch.onnx.export()",
    "torch.onnx.export(nn.ReLU(), (v.float(),), '/nowhere/model.onnx', dynamo=False)",
    "torch.onnx.export(nn.ReLU(), (v,), odd=3)",
    prepare=ONNX,
)
of("onnx.is_in_onnx_export", "torch.NAME(), x", "torch.NAME(3)")
of("onnx.OnnxExporterError", "raise torch.NAME('what')", "issubclass(torch.NAME, RuntimeError), x", "str(torch.NAME('a')), x")  # fmt: skip
