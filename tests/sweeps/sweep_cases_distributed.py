"""Samples of torch.distributed in one process: a group of one rank, stores, futures."""

from sweeps.sweep_cases import of

ALONE = """
dist = torch.distributed
def alone(call, a):
    b, store = a.detach().clone().float(), dist.HashStore()
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        found = call(dist, b)
        return found if isinstance(found, torch.Tensor) else b
    finally:
        dist.destroy_process_group()
"""
WITHOUT = ("torch.NAME(), x", "torch.NAME(3), x")

for name, call in {
    "all_reduce": "d.all_reduce(b)",
    "broadcast": "d.broadcast(b, 0)",
    "reduce": "d.reduce(b, 0, d.ReduceOp.MAX)",
    "barrier": "d.barrier()",
    "monitored_barrier": "d.monitored_barrier()",
    "all_gather": "d.all_gather([b], b.clone() + 1)",
    "all_gather_into_tensor": "d.all_gather_into_tensor(b, b.clone() + 1)",
    "gather": "d.gather(b.clone() + 1, [b], 0)",
    "scatter": "d.scatter(b, [b.clone() + 1], 0)",
    "reduce_scatter": "d.reduce_scatter(b, [b.clone() + 1])",
    "reduce_scatter_tensor": "d.reduce_scatter_tensor(b, b.clone() + 1)",
    "all_to_all_single": "d.all_to_all_single(b.contiguous(), b.contiguous() + 1)",
    "get_rank": "b.add_(d.get_rank())",
    "get_world_size": "b.add_(d.get_world_size())",
    "get_backend": "b.add_(d.get_backend() == 'gloo')",
    "get_process_group_ranks": "b.add_(d.get_process_group_ranks(None)[0])",
    "get_global_rank": "b.add_(d.get_global_rank(d.group.WORLD, 0))",
    "get_group_rank": "b.add_(d.get_group_rank(d.group.WORLD, 0))",
    "get_pg_count": "b.add_(d.get_pg_count())",
    "new_group": "d.all_reduce(b, group=d.new_group([0]))",
    "new_subgroups": "d.all_reduce(b, group=d.new_subgroups(1)[0])",
    "new_subgroups_by_enumeration": "d.all_reduce(b, group=d.LAST([[0]])[0])",
    "init_device_mesh": "d.all_reduce(b, group=d.init_device_mesh('cpu', (1,)).get_group())",
    "DeviceMesh": "d.all_reduce(b, group=d.DeviceMesh('cpu', [0]).get_group())",
    "init_process_group": "d.init_process_group('gloo')",
    "all_gather_object": "d.all_gather_object([None], 3)",
    "broadcast_object_list": "d.broadcast_object_list([1, 2], 0)",
    "gather_object": "d.gather_object(3, [None])",
    "scatter_object_list": "d.scatter_object_list([None], [3], 0)",
    "send": "d.send(b, 0)",
    "isend": "d.isend(b, 0, group_dst=0)",
    "P2POp": "d.P2POp(3, b, 0)",
    "batch_isend_irecv": "d.batch_isend_irecv([3])",
}.items():  # fmt: skip
    of(f"distributed.{name}", f"alone(lambda d, b: {call}, x)", prepare=ALONE)
of("distributed.recv distributed.irecv", "torch.NAME(x), x")
of(
    "distributed.HashStore distributed.PrefixStore",
    "store.set('a', '1'), store.get('a'), store.add('n', 3), store.num_keys(), x",
    "store.compare_set('a', '', 'b'), store.check(['a']), store.delete_key('a'), x",
    prepare="base = torch.distributed.HashStore()\nstore = base if 'LAST' == 'HashStore' else "
    "torch.distributed.PrefixStore('p', base)\n",
)
of(
    "distributed.is_gloo_available distributed.is_ucc_available distributed.is_xccl_available "
    "distributed.is_torchelastic_launched distributed.group distributed.GroupMember",
    "torch.NAME(), x",
)
of(
    "distributed.get_debug_level distributed.set_debug_level distributed.set_debug_level_from_env",
    "dist.set_debug_level(dist.DebugLevel.INFO)\nx + dist.get_debug_level().value",
    "os.environ['TORCH_DISTRIBUTED_DEBUG'] = 'detail'\ndist.set_debug_level_from_env()\n"
    "x + dist.get_debug_level().value",
    "os.environ['TORCH_DISTRIBUTED_DEBUG'] = 'no'\ndist.set_debug_level_from_env()",
    "os.environ.pop('TORCH_DISTRIBUTED_DEBUG', '')\ndist.set_debug_level_from_env()\n"
    "x + dist.get_debug_level().value",
    "dist.set_debug_level('INFO')",
    prepare="import os\ndist = torch.distributed\n",
)
of("distributed.is_backend_available", "torch.NAME('gloo'), x", "torch.NAME('nosuch'), x")
of("distributed.Backend", "torch.NAME('GLOO'), x", "torch.NAME(3), x", "torch.NAME.MPI, x")
of(
    "futures.Future futures.collect_all futures.wait_all",
    "future.set_result(x)\nfuture.wait()",
    "future.set_result(x)\nfuture.then(lambda done: done.value() + 1).wait()",
    "future.set_result(x)\ntorch.futures.wait_all([future])[0]",
    "future.set_result(x)\ntorch.futures.collect_all([future]).wait()[0].value()",
    "future.done(), x",
    "future.value(), x",
    prepare="future = torch.futures.Future()\n",
)
