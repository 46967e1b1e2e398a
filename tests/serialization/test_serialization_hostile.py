"""Damaged and hostile files: an error or the same data, no code run, no endless time or memory."""

import io
import os
import pickle
import random
import zipfile

import numpy as np
import pytest
from cases.archives import CLEAR, loaded, packed, plain, saved

import tiny_torch as torch
from tiny_torch import serialization
from tiny_torch.exchange.unpickler import Allowed, Unpickler

# ---- damage ----------------------------------------------------------------------------------

SMALL = {"x": torch.arange(6.0).view(2, 3).t(), "n": [1, "a", None], "s": {1, 2}}


def test_truncation_at_every_length():
    data = saved(SMALL)
    for length in range(len(data)):
        with pytest.raises(CLEAR):
            loaded(data[:length])


def outcome(data):
    try:
        return plain(loaded(data))
    except CLEAR:
        return None


def test_a_flipped_byte_gives_the_same_data_or_an_error():
    data, expected = saved(SMALL), plain(SMALL)
    draw = random.Random(0)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= draw.randrange(1, 256)
        assert outcome(bytes(damaged)) in (expected, None), position


def test_random_damage_to_the_pickle_is_no_crash():
    """With a right checksum, so that the unpickler sees it."""
    with zipfile.ZipFile(io.BytesIO(saved(SMALL))) as file:
        pickled, storage = file.read("archive/data.pkl"), file.read("archive/data/0")
    draw = random.Random(1)
    for _ in range(3000):
        damaged = bytearray(pickled)
        for _ in range(draw.randrange(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        outcome(packed(bytes(damaged), data_0=storage))


def test_random_opcodes_are_no_crash():
    draw = random.Random(2)
    names = [getattr(pickle, name) for name in pickle.__all__ if name.isupper()]
    codes = b"".join(code for code in names if isinstance(code, bytes))
    for _ in range(5000):
        program = bytes(draw.choice(codes) for _ in range(draw.randrange(1, 40)))
        outcome(packed(b"\x80\x04" + program + b"."))


# ---- hostile pickles -------------------------------------------------------------------------


class Call:
    """Pickles as a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


HOSTILE = {
    "os.system": pickle.dumps(Call(os.system, "touch HACKED"), 2),
    "os.system, protocol 4": pickle.dumps(Call(os.system, "touch HACKED"), 4),
    "eval": pickle.dumps(Call(eval, "open('HACKED', 'w')"), 2),
    "inside": pickle.dumps({"a": [1, (Call(eval, "open('HACKED', 'w')"),)]}, 2),
    "getattr": pickle.dumps(Call(getattr, 1, "real"), 2),
    "a class of ours": b"\x80\x02ctiny_torch\nTensor\n)\x81.",
    "a dotted name": b"\x80\x04\x8c\x05torch\x8c\x0eTensor.__new__\x93)R.",
    "a call of a value": b"\x80\x02X\x03\x00\x00\x00cpu)R.",
    "a call of a result": b"\x80\x02ccollections\nOrderedDict\n)R)R.",
    "a call of a dtype": b"\x80\x02ctorch\nfloat32\n)R.",
    "a new object of a known class": b"\x80\x02ctorch\nSize\n)\x81.",
    "attributes of a class": b"\x80\x02ccollections\nOrderedDict\n}X\x01\x00\x00\x00aK\x01sb.",
    "attributes of a function": b"\x80\x02c_codecs\nencode\n}X\x01\x00\x00\x00aK\x01sb.",
    "attributes of a dtype": b"\x80\x02ctorch\nfloat32\n}X\x01\x00\x00\x00aK\x01sb.",
    "a hidden method": b"\x80\x02ccollections\nOrderedDict\n)R}X\x05\x00\x00\x00itemsK\x01sb.",
    "a codec": b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R.",
    "extension codes": b"\x80\x02\x82\x01.",
    "a big bytearray": b"\x80\x02c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.",
    "big bytes": b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
    "a negative length": b"\x80\x02X\xff\xff\xff\xff.",
    "other persistent ids": b"\x80\x02X\x04\x00\x00\x00file\x85Q.",
    "an open mark": b"\x80\x02(.",
    "no end": b"\x80\x02]",
    "old protocol": b"(lp0\n.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pickle.UnpicklingError):
        loaded(packed(HOSTILE[name]))
    assert os.listdir(tmp_path) == []


def test_the_error_names_the_function_and_the_way_out():
    with pytest.raises(pickle.UnpicklingError, match=r"Unsupported global: GLOBAL builtins\.eval"):
        loaded(packed(pickle.dumps(Call(eval, "1"), 2)))


def test_nothing_outside_of_the_file_is_changed_by_a_large_memo_index():
    assert loaded(packed(b"\x80\x02Nr\xff\xff\xff\xff.")) is None


def test_keys_that_would_hash_for_ever():
    doubling = b"K\x01\x85q\x00" + b"h\x00\x86q\x00" * 60
    nesting = b"K\x01" + b"\x85" * 200_000
    for key in (doubling, nesting):
        with pytest.raises(pickle.UnpicklingError, match="nested too deeply"):
            loaded(packed(b"\x80\x02}" + key + b"K\x02s."))


def test_copies_that_would_fill_the_memory():
    program = b"\x80\x02](" + b"K\x01" * 10_000 + b"eq\x000c__builtin__\nset\nq\x010]"
    program += b"(" + b"h\x01h\x00\x85R" * 20_000 + b"e."
    with pytest.raises(pickle.UnpicklingError, match="copies more than it contains"):
        loaded(packed(program))


def tensor_pickle(numel, offset, shape, strides, kind="FloatStorage", requires_grad=False):
    """What save writes, with any numbers in it."""

    def number(value):
        return pickle.dumps(value, 2)[2:-1]

    def numbers(values):
        return b"(" + b"".join(map(number, values)) + b"t"

    storage = b"(X\x07\x00\x00\x00storagectorch\n%s\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
        + storage % kind.encode()
        + number(numel)
        + b"tQ"
        + number(offset)
        + numbers(shape)
        + numbers(strides)
        + number(requires_grad)
        + b"ccollections\nOrderedDict\n)RtR."
    )


GOOD = {"numel": 6, "offset": 0, "shape": (2, 3), "strides": (3, 1)}
REGIONS = {
    "as saved": ({}, True),
    "within": ({"offset": 1, "shape": (2, 2), "strides": (3, 1)}, True),
    "expanded": ({"shape": (10**9, 6), "strides": (0, 1)}, True),
    "none at the end": ({"offset": 14, "shape": (0, 2), "strides": (4, 1)}, True),
    "one too far": ({"offset": 1}, False),
    "stride too large": ({"strides": (4, 1)}, False),
    "size too large": ({"shape": (3, 3)}, False),
    "negative stride": ({"offset": 5, "strides": (-3, -1)}, False),
    "negative offset": ({"offset": -1}, False),
    "negative size": ({"shape": (-1, 3)}, False),
    "overflow of the size": ({"shape": (2**32, 2**32), "strides": (0, 0)}, False),
    "overflow of the reach": ({"shape": (2**62, 3), "strides": (2**62, 1)}, False),
    "beyond 64 bits": ({"shape": (0, 2**70), "strides": (1, 1)}, False),
    "lengths differ": ({"strides": (1,)}, False),
    "a float": ({"shape": (2.0, 3)}, False),
    "a bool": ({"offset": True}, False),
    "more than the record": ({"numel": 7}, False),
    "less than the record": ({"numel": 5}, False),
    "huge numel": ({"numel": 2**60}, False),
    "no number": ({"numel": None}, False),
    "other item size": ({"kind": "DoubleStorage"}, False),
    "requires_grad": ({"requires_grad": True}, True),
    "requires_grad of integers": ({"kind": "IntStorage", "requires_grad": True}, False),
    "requires_grad is no bool": ({"requires_grad": 1}, False),
}


@pytest.mark.parametrize("name", REGIONS)
def test_regions_of_a_storage(name):
    change, allowed = REGIONS[name]
    data = packed(tensor_pickle(**(GOOD | change)), data_0=np.arange(6, dtype="f4").tobytes())
    if allowed:
        assert tuple(loaded(data).shape) == (GOOD | change)["shape"]
    else:
        with pytest.raises((pickle.UnpicklingError, RuntimeError)):
            loaded(data)


def test_missing_record_and_bools_that_are_none():
    with pytest.raises(RuntimeError, match="no record 'archive/data/0'"):
        loaded(packed(tensor_pickle(**GOOD)))
    with pytest.raises(pickle.UnpicklingError, match="neither 0 nor 1"):
        loaded(packed(tensor_pickle(**GOOD, kind="BoolStorage"), data_0=b"\0\1\0\2\0\1"))


def test_an_unpickler_needs_no_tensors():
    data = pickle.dumps([1, (2.0, "three"), {4: b"5"}, {6}], 4)
    assert Unpickler(data, lambda name: Allowed(None), lambda pid: None).load() == pickle.loads(
        data
    )


# ---- safe globals ----------------------------------------------------------------------------


class Plain:
    def __init__(self, value):
        self.value = value


class WithState:
    def __setstate__(self, state):
        self.restored = state["value"]

    def __getstate__(self):
        return {"value": 7}


class WithSlots:
    __slots__ = ("value",)


@pytest.fixture
def clean_globals():
    serialization.clear_safe_globals()
    yield
    serialization.clear_safe_globals()


@pytest.mark.usefixtures("clean_globals")
def test_safe_globals():
    slotted = WithSlots()
    slotted.value = 3
    data = saved([Plain(torch.ones(1)), WithState(), slotted])
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL .*\.Plain was not an allowed global"):
        loaded(data)
    with serialization.safe_globals([Plain, WithState, WithSlots]):
        result = loaded(data)
    assert result[0].value.tolist() == [1.0] and result[1].restored == 7 and result[2].value == 3
    assert serialization.get_safe_globals() == []
    with pytest.raises(pickle.UnpicklingError):
        loaded(data)
    serialization.add_safe_globals([Plain])
    serialization.add_safe_globals([Plain])
    assert serialization.get_safe_globals() == [Plain]


@pytest.mark.usefixtures("clean_globals")
def test_safe_globals_under_another_name():
    data = packed(b"\x80\x02celsewhere\nThing\n)\x81}X\x05\x00\x00\x00valueK\x05sb.")
    with serialization.safe_globals([(Plain, "elsewhere.Thing")]):
        assert loaded(data).value == 5
    with (
        serialization.safe_globals([(Plain,)]),
        pytest.raises(ValueError, match="expected a tuple"),
    ):
        loaded(data)


@pytest.mark.usefixtures("clean_globals")
def test_safe_functions_are_called_and_modules_of_the_system_never():
    with serialization.safe_globals([divmod, os.system]):
        assert loaded(packed(pickle.dumps(Call(divmod, 7, 2), 2))) == (3, 1)
        with pytest.raises(pickle.UnpicklingError, match="is blocked"):
            loaded(packed(pickle.dumps(Call(os.system, "true"), 2)))
