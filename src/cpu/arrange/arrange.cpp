// Copies in another order: reversed, one triangle of each matrix, repeated.
#include "core/tables/arrange.h"

#include <algorithm>
#include <cstring>

#include "core/devices/gil.h"
#include "core/dtypes/with_type.h"
#include "core/memory/storage.h"
#include "core/walker.h"
#include "cpu/infra/parallel.h"

namespace tt::cpu {

namespace {

void copy_reversed(const char* x, char* out, const Dims& shape, const Dims& x_strides,
                   const Dims& out_strides, int64_t item) {
  int64_t numel = 1;
  for (int64_t size : shape) numel *= size;
  const WithoutGil unlocked(numel > kGrain);
  with_size(item, [&](auto type) {
    using T = decltype(type);
    parallel_for(numel, kGrain, [&](int64_t begin, int64_t end) {
      Walker<2> walker(shape, {x_strides, out_strides}, begin);
      while (begin < end) {
        const int64_t n = std::min(walker.run(), end - begin);
        const char* const from = x + walker.offset(0) * item;
        char* const to = out + walker.offset(1) * item;
        const int64_t step = walker.run_stride(0), out_step = walker.run_stride(1);
        auto row = [=](int64_t step, int64_t out_step) {
          for (int64_t k = 0; k < n; ++k)
            write<T>(to + k * out_step * int64_t{sizeof(T)},
                     read<T>(from + k * step * int64_t{sizeof(T)}));
        };
        if (step == 1 && out_step == 1)
          std::memcpy(to, from, n * item);
        else if (step == -1 && out_step == 1)
          row(-1, 1);
        else
          row(step, out_step);
        walker.advance(n);
        begin += n;
      }
    });
  });
}

void triangle(const char* x, char* out, int64_t matrices, int64_t rows, int64_t columns,
              int64_t diagonal, bool lower, int64_t item) {
  const int64_t numel = matrices * rows * columns;
  const WithoutGil unlocked(numel > kGrain);
  parallel_for(matrices * rows, numel > kGrain ? kGrain / (columns + 1) + 1 : numel,
               [=](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   // Columns up to `cut` are kept by the lower triangle, the others by the upper
                   // one.
                   const int64_t cut =
                       std::clamp<int64_t>(r % rows + diagonal + (lower ? 1 : 0), 0, columns) *
                       item;
                   const char* const from = x + r * columns * item;
                   char* const to = out + r * columns * item;
                   const int64_t row = columns * item;
                   if (lower) {
                     if (to != from) std::memcpy(to, from, cut);
                     std::memset(to + cut, 0, row - cut);
                   } else {
                     std::memset(to, 0, cut);
                     if (to != from) std::memcpy(to + cut, from + cut, row - cut);
                   }
                 }
               });
}

int64_t total_count(const int64_t* counts, int64_t step, int64_t size) {
  int64_t total = 0;
  for (int64_t k = 0; k < size; ++k) {
    if (counts[k * step] < 0) return -1;
    if (__builtin_add_overflow(total, counts[k * step], &total)) return -2;
  }
  return total;
}

void repeat(const int64_t* counts, int64_t step, int64_t size, int64_t* out) {
  for (int64_t k = 0; k < size; ++k) out = std::fill_n(out, counts[k * step], k);
}

}  // namespace

extern const ArrangeTable arrange_table = {copy_reversed, triangle, total_count, repeat};

}  // namespace tt::cpu
