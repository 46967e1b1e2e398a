// Iter: what an elementwise kernel walks over. `result_strides` decides the strides of its result.
//
// Built from an output and up to four inputs that are broadcast to one shape, dims are put in
// order of stride (fastest first) and merged where every operand allows it, so that most work is
// one long row. Kernels then see byte strides only: 0 is a broadcast, itemsize is contiguous.
#pragma once
#include <variant>

#include "core/ndarray.h"

namespace tt {

// An input: an array, or a Python number.
using Operand = std::variant<const NDArray*, Scalar>;

inline const NDArray* as_array(const Operand& operand) {
  auto array = std::get_if<const NDArray*>(&operand);
  return array ? *array : nullptr;
}

struct Iter {
  static constexpr int kMaxOperands = 5;
  struct Entry {
    char* data;
    DType dtype;
    int64_t strides[kMaxDims];  // bytes
  };

  int count = 0;  // operands: the output first
  int ndim = 0;
  int64_t numel = 0;
  // What the kernel reads and writes (bool for a comparison); an operand of another dtype is
  // converted block by block.
  DType compute, result;
  int64_t shape[kMaxDims];
  Entry operands[kMaxOperands];
  NumberOperand numbers[kMaxOperands];  // where operands that are no arrays point

  // Over contiguous memory, which add_flat() and add_number() name, the output first: no arrays.
  Iter(int64_t numel, DType dtype) : ndim(1), numel(numel), compute(dtype), result(dtype) {
    shape[0] = numel;
  }
  void add_flat(char* data, bool single) {  // `single`: one element, for all
    operands[count++] = {data, compute, {single ? 0 : static_cast<int64_t>(itemsize(compute))}};
  }
  void add_number(const Scalar& number) {
    numbers[count].take(number, compute);
    operands[count] = {numbers[count].bytes, compute, {0}};
    ++count;
  }

  // The inputs must broadcast to out.shape(), and be on its device; a 0-d array of the host is
  // taken for the number that it holds.
  Iter(const NDArray& out, const Operand* inputs, int input_count, DType compute, DType result);
  Iter(const Iter&) = delete;

 private:
  void add(const NDArray& array, const Dims& full_shape, const int* order);
  void merge_dims();
};

// The shape that all array operands broadcast to; [] if there is no array.
Dims broadcast(const Operand* operands, int count);

// Strides of an elementwise result: Note [Strides of results]. An array of another dtype than
// `compute` counts with the strides that it would have if it were converted first, unless it is
// one of the first `kept`.
Dims result_strides(const Dims& shape, const Operand* operands, int count, DType compute,
                    int kept = 0);

// The strides of clone() and *_like(): a dense array keeps its own.
Dims like_strides(const NDArray& array);

// Throws RuntimeError where `out` has two elements at one address, or shares some but not all of
// its memory with `input` (both dense). Answers true where they overlap in another way, so that the
// caller must copy the input first.
void check_writable(const NDArray& out);
bool check_overlap(const NDArray& out, const NDArray& input);

}  // namespace tt
