import numpy as np


def cases(rng):
    def case(shape, dims, keepdim=False, order="C"):
        over = tuple(dims or range(len(shape))) if shape else ()
        grad = np.zeros(shape).sum(over, keepdims=keepdim)
        grad = (np.arange(grad.size) + 1.0).reshape(grad.shape)
        return {"grad": grad, "order": order, "shape": shape, "dims": dims, "keepdim": keepdim}

    yield "a line", case((3,), (0,))
    yield "all of a matrix", case((2, 3), None)
    yield "all of a matrix, dims ()", case((2, 3), ())
    yield "the rows of a matrix", case((2, 3), (0,))
    yield "the columns of a matrix", case((2, 3), (1,))
    yield "the columns, kept", case((2, 3), (1,), True)
    yield "the columns of a square", case((3, 3), (1,))
    yield "the last dim, named -1", case((3, 3), (-1,))
    yield "all dims, kept", case((2, 3), None, True)
    yield "two dims of three", case((2, 3, 4), (0, 2))
    yield "two dims in another order", case((3, 3, 3), (-1, 0))
    yield "a middle dim", case((3, 3, 3), (1,))
    yield "a grad that is transposed in memory", case((3, 3, 3), (2,), order="F")
    yield "sizes of 1", case((1, 3, 1), (2,))
    yield "no dims", case((), None)
    yield "no dims, dim 0", case((), (0,))
    yield "no dims, kept", case((), (-1,), True)
    yield "no elements", case((0, 3), (0,))
    yield "a sum of no elements", case((3, 0), (1,))
    for ndim in range(2, 6):
        shape = tuple(rng.integers(1, 4, ndim).tolist())
        dims = rng.permutation(ndim)[: rng.integers(1, ndim + 1)] - ndim * rng.integers(0, 2)
        yield f"{ndim} dims", case(shape, tuple(dims.tolist()), bool(rng.integers(0, 2)))


def answer(grad, order, shape, dims, keepdim):
    if shape and not keepdim:
        grad = np.expand_dims(grad, tuple(dims or range(len(shape))))
    return {"gradient": np.broadcast_to(grad, shape).copy(), "copied": False}


def why(got, expected, grad, order, shape, dims, keepdim):
    if not isinstance(got, dict):
        return "an array is asked for: grad.reshape(...).expand(shape)"
    if got["gradient"].shape != shape:
        return "the gradient of x has the shape of x"
    if (got["gradient"] != expected["gradient"]).any():
        return "the elements that one sum was made of all get its gradient, others do not"
    return "nothing is copied: a repetition is a stride of 0"
