"""What the tests of saving and loading share."""

import io
import pickle

import tiny_torch as torch
from tiny_torch.exchange import archive

CLEAR = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError)


def saved(obj, save=torch.save, **options):
    file = io.BytesIO()
    save(obj, file, **options)
    return file.getvalue()


def loaded(data, load=torch.load, **options):
    return load(io.BytesIO(data), **options)


def packed(pickled, **records):
    """An archive with a pickle of our choice; `data_0=…` becomes record data/0."""
    file = io.BytesIO()
    writer = archive.ArchiveWriter(file)
    writer.record("data.pkl", pickled)
    for name, data in records.items():
        writer.record(name.replace("_", "/"), data)
    writer.finish()
    return file.getvalue()


def plain(value):
    """Tensors as (dtype, shape, strides, elements, requires_grad), so that either side compares."""
    kind = type(value).__name__
    if kind in ("Tensor", "Parameter"):
        elements = value.detach().tolist()
        return kind, str(value.dtype), value.stride(), elements, value.requires_grad
    if kind in ("dtype", "device"):
        return str(value)
    if isinstance(value, dict):
        return kind, [(key, plain(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return kind, [plain(item) for item in value]
    return kind, value
