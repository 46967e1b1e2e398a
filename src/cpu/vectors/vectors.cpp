// Products of vectors along a dim: three elements each.
#include "core/tables/vectors.h"

#include <algorithm>
#include <type_traits>

#include "core/dtypes/with_type.h"
#include "core/formulas/wrapping.h"
#include "core/memory/storage.h"
#include "core/walker.h"
#include "cpu/infra/parallel.h"

namespace tt::cpu {

namespace {

// Every product and difference is rounded to T.
template <class T>
void cross_lines(const Lines& lines) {
  const int64_t x = lines.stream[0].step, y = lines.stream[1].step, to = lines.stream[2].step;
  const auto part = [](T a, T b, T c, T d) {
    return wrapping_sub(wrapping_mul(a, b), wrapping_mul(c, d));
  };
  parallel_for(lines.count, kGrain / 8, [&](int64_t begin, int64_t end) {
    Walker<3> at(lines.shape,
                 {lines.stream[0].strides, lines.stream[1].strides, lines.stream[2].strides},
                 begin);
    for (int64_t count; begin < end; begin += count, at.advance(count)) {
      count = std::min(end - begin, at.run());
      const char *a = lines.stream[0].data + at.offset(0), *b = lines.stream[1].data + at.offset(1);
      char* out = lines.stream[2].data + at.offset(2);
      for (int64_t i = 0; i < count; ++i) {
        const T a0 = read<T>(a), a1 = read<T>(a + x), a2 = read<T>(a + 2 * x);
        const T b0 = read<T>(b), b1 = read<T>(b + y), b2 = read<T>(b + 2 * y);
        write(out, part(a1, b2, a2, b1));
        write(out + to, part(a2, b0, a0, b2));
        write(out + 2 * to, part(a0, b1, a1, b0));
        a += at.run_stride(0), b += at.run_stride(1), out += at.run_stride(2);
      }
    }
  });
}
void cross(const Lines& lines) {
  with_type(lines.stream[0].dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_same_v<T, bool>) cross_lines<T>(lines);
  });
}

}  // namespace

extern const VectorsTable vectors_table = {cross};

}  // namespace tt::cpu
