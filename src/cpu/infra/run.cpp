#include "cpu/infra/run.h"

#include "cpu/infra/drive.h"

namespace tt::cpu {

void run_rows(const Iter& iter, Loop loop) {
  if (iter.ndim == 1 && iter.numel <= kGrain) {
    char* data[Iter::kMaxOperands];
    int64_t strides[Iter::kMaxOperands];
    for (int k = 0; k < iter.count; ++k) {
      data[k] = iter.operands[k].data;
      strides[k] = iter.operands[k].strides[0];
    }
    loop(data, strides, iter.numel);
    return;
  }
  drive(iter, iter.numel, [loop] { return loop; });
}

namespace {

// The dtypes in which a kernel takes the operands of a row.
struct Wanted {
  DType reads, writes, number;  // of an input, of the output, of an input that is one element

  DType of(int k, int64_t stride) const { return k == 0 ? writes : stride == 0 ? number : reads; }
  // Whether a kernel takes operand k as it lies: of that dtype, side by side or one element.
  bool fits(int k, int64_t stride, DType own) const {
    const bool plain = stride == static_cast<int64_t>(itemsize(own)) || (k > 0 && stride == 0);
    return plain && own == of(k, stride);
  }
};

// One row of up to kBlock elements whose operands need conversion, or to be gathered.
struct Converter {
  const Iter& iter;
  Loop loop;
  Wanted wanted;
  alignas(64) char scratch[Iter::kMaxOperands][kBlock * 8];

  Converter(const Iter& iter, Loop loop, const Wanted& wanted)
      : iter(iter), loop(loop), wanted(wanted) {}

  void operator()(char* const* data, const int64_t* strides, int64_t n) {
    char* at[Iter::kMaxOperands];
    int64_t steps[Iter::kMaxOperands];
    for (int k = 0; k < iter.count; ++k) {
      const DType own = iter.operands[k].dtype, dtype = wanted.of(k, strides[k]);
      at[k] = data[k];
      steps[k] = strides[k];
      if (wanted.fits(k, strides[k], own)) continue;
      at[k] = scratch[k];
      steps[k] = itemsize(dtype);
      if (k == 0) continue;
      if (strides[k] == 0) steps[k] = 0;
      convert_line(conversion(own, dtype), scratch[k], steps[k], data[k], strides[k],
                   steps[k] ? n : 1);
    }
    loop(at, steps, n);
    if (at[0] == data[0]) return;
    convert_line(conversion(wanted.writes, iter.operands[0].dtype), data[0], strides[0], scratch[0],
                 steps[0], n);
  }
};

void run_as(const Iter& iter, Loop loop, const Wanted& wanted) {
  if (iter.numel == 0) return;
  for (int k = 0; k < iter.count; ++k) {
    const Iter::Entry& x = iter.operands[k];
    if (wanted.fits(k, x.strides[0], x.dtype)) continue;
    return drive(iter, kBlock, [&] { return Converter(iter, loop, wanted); });
  }
  run_rows(iter, loop);
}

}  // namespace

bool is_all(const Iter& iter, DType dtype) {
  for (int k = 0; k < iter.count; ++k) {
    const Iter::Entry& x = iter.operands[k];
    if (x.dtype == dtype) continue;
    if (k == 0 || x.dtype != iter.compute) return false;
    for (int d = 0; d < iter.ndim; ++d)
      if (x.strides[d] != 0) return false;
  }
  return true;
}

void run(const Iter& iter, Loop loop) {
  run_as(iter, loop, {iter.compute, iter.result, iter.compute});
}
void run(const Iter& iter, Loop loop, DType half) {
  run_as(iter, loop, {half, half, iter.compute});
}

}  // namespace tt::cpu
