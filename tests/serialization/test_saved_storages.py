"""Storages in files of `save`: PyTorch reads ours, and the other way round."""

import io
import itertools
import warnings

import pytest

import tiny_torch


def makers(module):
    x = module.arange(6.0)[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TypedStorage is deprecated
        return {
            "typed": x.storage(),
            "untyped": x.untyped_storage(),
            "with its tensor": {"x": x, "s": x.storage()},
            "several": [x.int().storage(), (x > 2).untyped_storage(), x[:0].clone().storage()],
        }


def shown(value):
    if isinstance(value, (dict, list)):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return [(key, shown(part)) for key, part in parts]
    return type(value).__name__, str(value.dtype), value.tolist()


@pytest.mark.parametrize("name", makers(tiny_torch))
@pytest.mark.parametrize("weights_only", [True, False])
def test_each_reads_what_the_other_saves(oracle, name, weights_only):
    found = []
    for writer, reader in itertools.product((oracle, tiny_torch), repeat=2):
        file = io.BytesIO()
        writer.save(makers(writer)[name], file)
        file.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(shown(reader.load(file, weights_only=weights_only)))
    assert found == found[:1] * 4


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_memory_that_two_share_is_read_once():
    file, x = io.BytesIO(), tiny_torch.arange(4.0)
    tiny_torch.save([x, x.storage()], file)
    file.seek(0)
    y, storage = tiny_torch.load(file)
    y[0] = 7
    assert storage[0] == 7


def test_one_memory_of_two_types_is_refused(torch):
    x = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="that view the same data as different types"):
        torch.save([x, x.untyped_storage()], io.BytesIO())
