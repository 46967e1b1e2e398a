#include "cpu/infra/run.h"

#include <cstring>

#include "core/gil.h"
#include "cpu/cast/copy_blocks.h"
#include "cpu/infra/parallel.h"
#include "cpu/infra/walk.h"

namespace tt::cpu {

namespace {

// What rows hand to a kernel.
struct Wanted {
  DType reads, writes, number;  // number: of an input that is one and the same element

  DType of(int k, int64_t stride) const { return k == 0 ? writes : stride == 0 ? number : reads; }
  // Whether an operand's elements are so: of that dtype; and side by side, or one and the same.
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

// make() makes what is called for each row, once per thread. `fetches`: see Tiles.
template <class Make>
void drive(const Iter& iter, int64_t longest, bool fetches, const Make& make) {
  const WithoutGil unlocked(iter.numel > kGrain);
  if (const Tiles tiles(iter); tiles.any()) {
    const int64_t grain = iter.numel > kGrain ? 1 : tiles.count();
    return parallel_for(tiles.count(), grain, [&](int64_t begin, int64_t end) {
      tiles.walk(begin, end, longest, fetches, make());
    });
  }
  parallel_for(iter.numel, kGrain,
               [&](int64_t begin, int64_t end) { walk(iter, begin, end, longest, make()); });
}

// The rows as they are.
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
  drive(iter, iter.numel, true, [loop] { return loop; });
}

void run_as(const Iter& iter, Loop loop, const Wanted& wanted) {
  if (iter.numel == 0) return;
  for (int k = 0; k < iter.count; ++k) {
    const Iter::Entry& x = iter.operands[k];
    if (wanted.fits(k, x.strides[0], x.dtype)) continue;
    return drive(iter, kBlock, true, [&] { return Converter(iter, loop, wanted); });
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

namespace {

// Elements as they are, in rows that follow one another where both have neighbours there.
struct Copy {
  Loop strided;
  int64_t item;
  bool past_caches;  // what is written is more than they hold: it need not be read into them first

  ~Copy() {
#ifdef __SSE2__
    if (past_caches) __builtin_ia32_sfence();
#endif
  }
  void operator()(char* const* data, const int64_t* strides, int64_t n) const {
    if (strides[0] != item || strides[1] != item) return strided(data, strides, n);
    char* to = data[0];
    const char* from = data[1];
    int64_t bytes = n * item;
#ifdef __SSE2__
    if (past_caches && bytes >= 64) {
      typedef long long Words __attribute__((vector_size(16)));
      const int64_t head = -reinterpret_cast<intptr_t>(to) & 15;
      if (head) std::memcpy(to, from, 16);
      to += head, from += head, bytes -= head;
      for (; bytes >= 16; to += 16, from += 16, bytes -= 16) {
        Words words;
        std::memcpy(&words, from, sizeof words);
        __builtin_ia32_movntdq(reinterpret_cast<Words*>(to), words);
      }
    }
#endif
    std::memcpy(to, from, bytes);
  }
};

}  // namespace

void copy(const Iter& iter) {
  if (iter.numel == 0) return;
  const Loop loop = conversion(iter.compute, iter.result);
  const DType from = iter.operands[1].dtype, to = iter.operands[0].dtype;
  if (iter.compute != from || iter.result != to) return run(iter, loop);
  if (iter.ndim == 1 || from != to) return run_rows(iter, loop);
  if (copy_in_blocks(iter)) return;
  const int64_t item = itemsize(to);
  const bool past_caches = iter.numel * item >= kPastCaches;
  drive(iter, iter.numel, !past_caches, [=] { return Copy{loop, item, past_caches}; });
}

}  // namespace tt::cpu
