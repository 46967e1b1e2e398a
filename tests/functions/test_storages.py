"""Storages: made, written, resized and converted, next to PyTorch's."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import tiny_torch

# U() and T() are storages of int16 bytes 0, 1, 2, 3 and of float32 0, 1, 2, 3; s(U(), i, v) sets an
# item, bs(U(), dtype) swaps bytes, after(f) is what a tensor of 0, 1, 2, 3 shows after f.
CALLS = r"""
U().fill_(3).tolist()|U().fill_(-1).tolist()|U().fill_(300).tolist()|U().fill_(1.5)|U().fill_('a')
U().copy_(U().fill_(1)).tolist()
U().copy_(torch.ones(2,dtype=torch.int16).untyped_storage()).tolist()
U().copy_(torch.ones(8,dtype=torch.uint8).untyped_storage()).tolist()
U().copy_(torch.ones(8,dtype=torch.uint8))|U().copy_(T())|U().resize_(4).tolist()
U().resize_(16).nbytes()|U().resize_(0).nbytes()|U().resize_(-1)|U().resize_(2.0)
U().resize_(torch.tensor(4)).nbytes()|U().new()|U().new().nbytes()|U()[2]|U()[-1]|U()[20]
U()[1:3].tolist()|U()[1:7:2].tolist()|U()[1:3].data_ptr() == 0|len(U())|list(U())|s(U(), 0, 7)
s(U(), -1, 7)|s(U(), 99, 7)|s(U(), slice(1,3), 7)|s(U(), slice(None), 9)|s(U(), 0, 1.5)
s(U(), 0, 'a')|s(U(), 0, 300)|s(U(), slice(0,2), [1,2])|s(U(), slice(0,2), U())|s(U(), 'a', 2)
U().float().tolist()|bs(U(), torch.int16)|bs(U(), torch.float32)
bs(T().untyped(), torch.float32)[:4]|U().dtype|U().element_size()|U().size()|U().get_device()
U().device|U().is_cuda, U().is_sparse, U().is_hpu, U().is_sparse_csr|U().cpu().tolist()
U().to('cpu').tolist()|U().to(device='cpu').tolist()|U().untyped().tolist()|U().is_shared()
U().share_memory_().is_shared()|U().is_pinned()|U().resizable()|U() == U()|copy.copy(U()).tolist()
copy.deepcopy(U()).tolist()|U().clone().tolist()|repr(U())|torch.UntypedStorage(4).nbytes()
torch.UntypedStorage([1,2,3]).tolist()|torch.UntypedStorage((1,2,3)).tolist()
torch.UntypedStorage(range(3)).tolist()|torch.UntypedStorage().nbytes()
torch.UntypedStorage(4, device='cpu').nbytes()|torch.UntypedStorage('a')|torch.UntypedStorage(-1)
torch.UntypedStorage(1, 2)|torch.UntypedStorage(torch.ones(2))|torch.UntypedStorage([1.5])
torch.UntypedStorage([300])
torch.UntypedStorage.from_buffer(b'abcd', byte_order='little', dtype=torch.int16).tolist()
torch.UntypedStorage.from_buffer(b'abcd', byte_order='big', dtype=torch.int16).tolist()
torch.UntypedStorage.from_buffer(b'abcd', 'native', dtype=torch.uint8).tolist()
T().fill_(2.5).tolist()|T().fill_(torch.tensor(2.5)).tolist()|T().fill_('a')
T().copy_(T().fill_(1)).tolist()|T().copy_(torch.arange(4).storage()).tolist()
T().copy_(torch.arange(2.).storage()).tolist()|T().copy_(torch.arange(4.))|T().copy_(U())
T().resize_(2).tolist()|T().resize_(6).size()|T().resize_(0).size()|T()[1]|T()[-5]
T()[1:3].tolist()|T()[1:3:2]|s(T(), 0, 7)|s(T(), -1, 7.5)|s(T(), 99, 7)|s(T(), slice(1,3), 7)
s(T(), slice(None), 9)|s(T(), slice(0,2), [1,2])|s(T(), slice(0,2), T())|s(T(), 0, 'a')
s(T(), 0, torch.tensor(3.))|s(T(), 'a', 3)|s(T(), 1.0, 3)
s(torch.ones(2,dtype=torch.bool).storage(), 0, 0)
s(torch.ones(2,dtype=torch.int8).storage(), 0, 300)
s(torch.ones(2,dtype=torch.uint8).storage(), slice(0,1), 300)|T().int().tolist()|T().long().dtype
T().double().tolist()|T().half().tolist()|T().bfloat16().tolist()|T().bool().tolist()
T().byte().tolist()|T().char().tolist()|T().short().tolist()|T().float().tolist()|T().type()
T().dtype|T().element_size()|T().nbytes()|T().size()|T().get_device()|T().is_sparse
T().cpu().tolist()|T().to('cpu').tolist()|T().untyped().nbytes()|T().resizable()|T() == T()
T().clone().tolist()|repr(T())|pickle.loads(pickle.dumps(T())).tolist()
torch.FloatStorage(3).size()|torch.FloatStorage([1,2]).tolist()|torch.FloatStorage([1.5,2]).dtype
torch.FloatStorage().size()|torch.FloatStorage(T()).tolist()|torch.FloatStorage('a')
torch.FloatStorage(1,2)|torch.FloatStorage(torch.ones(2))|torch.LongStorage([1,2]).tolist()
torch.BoolStorage([True, False]).tolist()|torch.ByteStorage(2).nbytes()|torch.FloatStorage.dtype
torch.FloatStorage.from_buffer(b'abcdabcd', 'native').tolist()
torch.FloatStorage.from_buffer(b'abcdabc', 'native').tolist()
torch.ByteStorage.from_buffer(b'abcd').tolist()|type(torch.FloatStorage(2)).__name__
isinstance(T(), torch.TypedStorage), isinstance(U(), torch.UntypedStorage)
torch.TypedStorage(3, dtype=torch.float32).size()
torch.TypedStorage([1,2], dtype=torch.int64).tolist()
torch.TypedStorage(wrap_storage=T().untyped(), dtype=torch.int32).tolist()
torch.TypedStorage(dtype=torch.int32).size()|torch.TypedStorage('a', dtype=torch.int32)
torch.TypedStorage(3, dtype=torch.int32, device='cpu').size()|torch.Storage(3).size()
torch.is_storage(T()), torch.is_storage(U()), torch.is_storage(x)
torch.tensor([]).set_(torch.FloatStorage([1,2,3])).tolist()
torch.FloatTensor(torch.FloatStorage([1,2,3])).tolist()|torch.FloatTensor(T()).tolist()
torch.IntTensor(T())|torch.tensor(T()).tolist()|torch.as_tensor(T()).tolist()
torch.frombuffer(bytes(8), dtype=torch.float32).storage().tolist()|x.storage().type()
after(lambda q: q.untyped_storage().fill_(0))
after(lambda q: q.untyped_storage().copy_(torch.ones(4).untyped_storage()))
after(lambda q: q.storage().fill_(2))|after(lambda q: q.untyped_storage().resize_(32))
after(lambda q: q.untyped_storage().__setitem__(3, 65))
after(lambda q: q.untyped_storage().resize_(16))|view()
"""


def answers(module, call):
    def set_item(storage, index, value):
        storage[index] = value
        return storage.tolist()

    def swapped(storage, dtype):
        storage.byteswap(dtype)
        return storage.tolist()

    def after(change):
        x = module.arange(4.0)
        change(x)
        return x.tolist(), x.untyped_storage().nbytes(), x._version

    def view():
        x = module.arange(4.0)
        seen = x[1:3]
        x.untyped_storage()[4:8].fill_(0)
        x.storage()[2] = 9
        return seen.tolist()

    names = {
        "torch": module, "copy": copy, "pickle": pickle, "s": set_item, "bs": swapped,
        "after": after, "view": view, "x": module.arange(4.0),
        "U": lambda: module.arange(4, dtype=module.int16).untyped_storage(),
        "T": lambda: module.arange(4.0).storage(),
    }  # fmt: skip
    try:
        return repr(eval(call, names)).replace("tiny_torch", "torch")
    except Exception as error:
        return type(error).__name__


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated", "ignore:The given buffer")
def test_calls(oracle):
    for call in CALLS.strip().replace("\n", "|").split("|"):
        assert answers(tiny_torch, call) == answers(oracle, call), call


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_what_pytorch_does_not_pickle():
    storage = tiny_torch.arange(4, dtype=tiny_torch.int16).untyped_storage()
    assert pickle.loads(pickle.dumps(storage)).tolist() == storage.tolist()


def test_fewer_bytes_and_more_again():
    """Tensors on the memory that was given back read zeros, and may be written."""
    x = tiny_torch.arange(1000.0)
    view, storage = x[500:], x.untyped_storage()
    assert storage.resizable() and storage.resize_(2000) is storage and storage.nbytes() == 2000
    assert x[:500].tolist() == list(range(500)) and view.sum() == 0
    view.fill_(1)
    assert storage.resize_(0).nbytes() == 0 and x.sum() == 0 and (x + 1).sum() == 1000
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.as_strided((2000,), (1,))
    storage.resize_(3000)
    storage.resize_(4000)
    x.copy_(tiny_torch.ones(1000))
    assert x.sum() == 1000 and storage.nbytes() == 4000
    storage.resize_(0)
    x.share_memory_()
    assert view.fill_(2).sum() == 1000 and not storage.resizable()


def test_any_order_of_sizes():
    for order in itertools.permutations((0, 100, 399, 400, 5000)):
        x = tiny_torch.arange(100, dtype=tiny_torch.int32)
        kept = 100
        for size in order:
            x.untyped_storage().resize_(size)
            kept = min(kept, size // 4)
            assert x[:kept].tolist() == list(range(kept)) and x.untyped_storage().nbytes() == size
            x.clone(), x.sort(), x.sum()


def test_memory_whose_address_others_have_keeps_its_size():
    for x in (tiny_torch.from_numpy(np.ones(4)), tiny_torch.ones(4)):
        array = x.numpy()
        for size in (0, 8, 64):
            with pytest.raises(RuntimeError, match="storage that is not resizable"):
                x.untyped_storage().resize_(size)
        assert not x.untyped_storage().resizable() and array.sum() == 4


def test_a_slice_keeps_the_memory():
    part = tiny_torch.arange(256, dtype=tiny_torch.uint8).untyped_storage()[3:6]
    assert part.tolist() == [3, 4, 5] and part[-1] == 5


def test_a_backward_does_not_notice_a_storage_that_was_filled_again():
    """As it is with PyTorch, where parameters are freed after forward and gathered for backward."""
    w = tiny_torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    storage = w.untyped_storage()
    storage.resize_(0)
    storage.resize_(12)
    storage.copy_(tiny_torch.full((3,), 2.0).untyped_storage())
    loss.backward()
    assert w.grad.tolist() == [4, 4, 4]
