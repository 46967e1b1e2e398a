"""Kernels of one's own, each compiled from a file by itself, in the place of ours."""

from __future__ import annotations

import ctypes

import pytest
from tiny_torch.backends import cpu

import tiny_torch as torch
from tiny_torch import _core

SOFTMAX = """
#include <cmath>
#include "core/tables/softmax.h"
#include "core/devices/override.h"

// One line after the other, of contiguous float32, in three passes. `calls` lets the test see it.
extern "C" __attribute__((visibility("default"))) int calls = 0;

static void softmax(const tt::SoftmaxArgs& args) {
  ++calls;
  const tt::Lines& lines = args.lines;
  for (int64_t line = 0; line < lines.count; ++line) {
    const float* x = reinterpret_cast<const float*>(lines.stream[0].data) + line * lines.size;
    float* y = reinterpret_cast<float*>(lines.stream[1].data) + line * lines.size;
    float top = x[0], sum = 0;
    for (int64_t i = 1; i < lines.size; ++i) top = std::max(top, x[i]);
    for (int64_t i = 0; i < lines.size; ++i) sum += y[i] = std::exp(x[i] - top);
    for (int64_t i = 0; i < lines.size; ++i)
      y[i] = args.log ? x[i] - top - std::log(sum) : y[i] / sum;
  }
}
TT_OVERRIDE(SoftmaxTable, softmax, softmax)
"""
MATMUL = """
#include "core/tables/matmul.h"
#include "core/devices/override.h"

extern "C" __attribute__((visibility("default"))) int calls = 0;

static void matmul(const tt::MatmulArgs& p) {
  ++calls;
  if (p.batch_ndim || p.accumulate || p.bias) __builtin_trap();  // not asked for in this test
  const auto *a = static_cast<const float*>(p.a), *b = static_cast<const float*>(p.b);
  auto* c = static_cast<float*>(p.c);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum += a[i * p.a_row + k * p.a_col] * b[k * p.b_row + j * p.b_col];
      c[i * p.c_row + j * p.c_col] = sum;
    }
}
TT_OVERRIDE_AS(tt::MatmulKernel, matmul, matmul)
"""
EXP = """
#include "core/tables/elementwise.h"
#include "core/devices/override.h"

// Wrong on purpose: all elements are 7.
static void exp(const tt::Iter& iter) {
  for (int64_t i = 0; i < iter.numel; ++i)
    reinterpret_cast<double*>(iter.operands[0].data)[i] = 7;
}
TT_OVERRIDE_AS(tt::Kernel, exp, exp)
"""

ADAM = """
#include "core/tables/optim.h"
#include "core/devices/override.h"

using Adam = decltype(tt::Steps<tt::AdamArgs>::f32);
TT_REPLACED(Adam, adam)

// Without a weight decay parameters become 7; with one, ours computes them.
static void adam(const tt::Chunk* chunks, int64_t count, const tt::AdamArgs& args) {
  if (args.weight_decay != 0) return tt_replaced_adam(chunks, count, args);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < chunks[i].numel; ++j) static_cast<float*>(chunks[i].param)[j] = 7;
}
TT_OVERRIDE_AS(Adam, adam, adam)
"""


def calls(kernel) -> int:
    return ctypes.c_int.in_dll(kernel.library, "calls").value


def test_a_softmax_of_ones_own_runs_in_the_place_of_ours(compiled):
    library = compiled("softmax", SOFTMAX)
    x = torch.randn(5, 7, requires_grad=True)
    ours = x.softmax(1)
    with cpu.override("softmax", library) as kernel:
        theirs = x.softmax(1)
        assert calls(kernel) == 1
        torch.nn.functional.log_softmax(x, 1).sum().backward()
        assert calls(kernel) == 2
    x.softmax(1)
    assert calls(kernel) == 2
    torch.testing.assert_close(theirs, ours)
    torch.testing.assert_close(x.grad, 1 - 7 * ours)


def test_a_matmul_of_ones_own_runs_in_the_place_of_ours(compiled):
    library = compiled("matmul", MATMUL)
    a, b = torch.randn(4, 6), torch.randn(3, 6)
    ours = a @ b.t()
    kernel = cpu.override("matmul", library, torch.float32)
    try:
        torch.testing.assert_close(a @ b.t(), ours)
        assert calls(kernel) == 1
        a.double() @ b.double().t()  # another dtype
        assert calls(kernel) == 1
    finally:
        kernel.remove()
        kernel.remove()  # once more does nothing
    assert torch.equal(a @ b.t(), ours) and calls(kernel) == 1


def test_a_kernel_of_ops_def_is_replaced_for_its_dtype_alone(compiled):
    x = torch.zeros(3, dtype=torch.float64)
    with cpu.override("exp", compiled("exp", EXP), torch.float64):
        assert x.exp().tolist() == [7.0] * 3
        assert x.float().exp().tolist() == [1.0] * 3
    assert x.exp().tolist() == [1.0] * 3


def test_a_kernel_hands_over_to_the_one_that_it_replaces(compiled):
    def stepped(**options) -> list[float]:
        x = torch.ones(2, requires_grad=True)
        x.grad = torch.ones(2)
        torch.optim.Adam([x], lr=0.5, **options).step()
        return x.tolist()

    ours = stepped(weight_decay=0.5)
    with cpu.override("adam", compiled("adam", ADAM), torch.float32):
        assert stepped() == [7.0, 7.0]
        assert stepped(weight_decay=0.5) == ours
    assert stepped() != [7.0, 7.0]
    assert cpu.kernels()["adam"] == (torch.float32, torch.float64)


def test_what_is_no_kernel_is_refused(compiled, tmp_path):
    with pytest.raises(ValueError, match="no kernel 'softmux'"):
        cpu.override("softmux", "x.so")
    with pytest.raises(ValueError, match=r"is for dtypes .*float32.*, not None"):
        cpu.override("matmul", "x.so")
    with pytest.raises(ValueError, match=r"not torch\.float32"):
        cpu.override("softmax", "x.so", torch.float32)
    with pytest.raises(OSError):
        cpu.override("softmax", tmp_path / "absent.so")
    with pytest.raises(RuntimeError, match="no TT_OVERRIDE of 'softmax'"):
        cpu.override("softmax", compiled("other", EXP))


def test_every_record_has_a_slot():
    assert {name for _, name, *_ in _core.op_records()} <= set(cpu.kernels())


def test_the_instruction_set_has_pytorchs_name():
    assert cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
