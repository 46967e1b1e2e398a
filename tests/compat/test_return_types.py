"""torch.return_types: names, what their makers take, and how they print."""

import pickle

import pytest

import tiny_torch


def test_every_type_has_pytorchs_fields(oracle):
    for name, kind in vars(tiny_torch.return_types).items():
        if not (isinstance(kind, type) and kind.__module__.endswith("return_types")) or (
            name in ("NamedResult", "histogramdd_out")
        ):
            continue
        theirs = getattr(oracle.return_types, name)
        assert kind.__match_args__ == theirs.__match_args__, name
        assert (kind.n_fields, kind.n_unnamed_fields) == (theirs.n_fields, 0), name


def test_a_named_result(torch):
    result = torch.tensor([[1.0, 5.0], [3.0, 2.0]]).max(0)
    assert type(result) is torch.return_types.max and isinstance(result, tuple)
    values, indices = result
    assert result.values is values is result[0] and result.indices is indices is result[1]
    assert repr(result) == (
        "torch.return_types.max(\nvalues=tensor([3., 5.]),\nindices=tensor([1, 0]))"
    )
    with pytest.raises(AttributeError):
        result.values = values


def test_making_one(torch):
    kind = torch.return_types.sort
    pair = kind([1, 2])
    assert pair == (1, 2) and hash(pair) == hash((1, 2)) and (*pair, 3) == (1, 2, 3)
    assert type(pickle.loads(pickle.dumps(pair))) is kind
    for wrong in ((1,), ((1,),), ((1, 2, 3),), (1, 2)):
        with pytest.raises(TypeError):
            kind(*wrong)


def test_out(torch):
    x = torch.tensor([[1.0, 5.0], [3.0, 2.0]])
    values, indices = torch.empty(2), torch.empty(2, dtype=torch.int64)
    result = torch.max(x, 0, out=(values, indices))
    assert type(result) is torch.return_types.max_out
    assert result.values is values and result.indices is indices
    assert values.tolist() == [3, 5] and indices.tolist() == [1, 0]
    for error, out in {
        TypeError: ((values,), (values, indices, indices), (values, 2)),
        RuntimeError: ((values.double(), indices), (values, indices.int())),
    }.items():
        for wrong in out:
            with pytest.raises(error):
                torch.max(x, 0, out=wrong)
