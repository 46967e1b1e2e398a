// Integer matrix products: one plain loop, compiled once for the baseline.
//
// Sums are kept unsigned, so that they wrap around as PyTorch's do instead of being undefined.
#include <cstring>
#include <type_traits>

#include "core/dtypes/dtype_sets.h"
#include "core/formulas/wrapping.h"
#include "core/tables/matmul.h"
#include "cpu/infra/parallel.h"

namespace tt::cpu {
namespace {

// A strip of one row of C is summed at a time: k rows of B pass by, the sums stay in the L1 cache.
constexpr int64_t kStrip = 256;

template <class T>
struct Matrices {
  const T *a, *b;
  T* c;
};

template <class T>
Matrices<T> item(const MatmulArgs& g, int64_t index) {
  Matrices<T> x = {static_cast<const T*>(g.a), static_cast<const T*>(g.b), static_cast<T*>(g.c)};
  for (int d = g.batch_ndim - 1; d >= 0; --d) {
    const int64_t i = index % g.batch_shape[d];
    index /= g.batch_shape[d];
    x.a += i * g.a_batch[d];
    x.b += i * g.b_batch[d];
    x.c += i * g.c_batch[d];
  }
  return x;
}

// a, b and the bias may be memory of somebody else, which need not be aligned.
template <class T>
std::make_unsigned_t<T> load(const T* from) {
  std::make_unsigned_t<T> value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// C[i, j:j_end].
template <class T>
void strip(const MatmulArgs& g, const Matrices<T>& x, int64_t i, int64_t j, int64_t j_end) {
  using Unsigned = std::make_unsigned_t<T>;
  const int64_t width = j_end - j;
  const T* bias = static_cast<const T*>(g.bias);
  T* c = x.c + i * g.c_row + j * g.c_col;
  Unsigned sums[kStrip];
  for (int64_t s = 0; s < width; ++s) {
    sums[s] = g.accumulate ? static_cast<Unsigned>(c[s * g.c_col]) : Unsigned(0);
    if (bias) sums[s] += load(bias + (j + s) * g.bias_stride);
  }
  for (int64_t p = 0; p < g.k; ++p) {
    const Wrapping<T> a = load(x.a + i * g.a_row + p * g.a_col);
    const T* b = x.b + p * g.b_row + j * g.b_col;
    for (int64_t s = 0; s < width; ++s) sums[s] += a * load(b + s * g.b_col);
  }
  for (int64_t s = 0; s < width; ++s) c[s * g.c_col] = static_cast<T>(sums[s]);
}

template <class T>
void multiply(const MatmulArgs& g) {
  int64_t rows = g.m;
  for (int d = 0; d < g.batch_ndim; ++d) rows *= g.batch_shape[d];
  if (rows == 0 || g.n == 0) return;
  const int64_t grain = 1 + kGrain / (g.n * (g.k + 1));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Matrices<T> x = item<T>(g, row / g.m);
      for (int64_t j = 0; j < g.n; j += kStrip) {
        strip(g, x, row % g.m, j, j + kStrip < g.n ? j + kStrip : g.n);
      }
    }
  });
}

template <class T>
constexpr void set(MatmulTable& table, DType dtype) {
  if constexpr (Integer::has<T>)
    table.product[static_cast<int>(dtype)] = table.naive[static_cast<int>(dtype)] = multiply<T>;
}
constexpr MatmulTable make_table() {
  MatmulTable table{};
#define X(name, type, text, category) set<type>(table, DType::name);
  TT_FOR_EACH_DTYPE(X)
#undef X
  return table;
}

}  // namespace

extern const MatmulTable matmul_integers_table = make_table();

}  // namespace tt::cpu
