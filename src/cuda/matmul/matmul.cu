// Products of matrices: `naive`, which is the definition, and `tiled`, which reads memory kTile
// times less often.
//
// C (m, n) = A (m, k) @ B (k, n) does 2 m n k operations on m k + k n elements. naive reads two
// elements for each multiply-add, so that it waits for memory all the time. tiled has a block of
// threads compute a tile of C together: what one of them reads, all of its row or column use
// (infra/tiles.h). Where C is small and k long, as in the product of two vectors, a GPU would be
// idle but for a few blocks, and so a block makes a single element (`summed`).
#include "core/tables/matmul.h"
#include "core/wrapping.h"
#include "cuda/infra/images.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/positions.h"
#include "cuda/infra/tables.h"
#include "cuda/infra/tiles.h"

namespace tt::cuda {
namespace {

// MatmulArgs by value. `batch` has where the matrices A, B and C of an item are.
template <class T>
struct Product {
  int64_t m, n, k, items;
  const T *a, *b, *bias;
  T* c;
  int64_t a_row, a_col, b_row, b_col, c_row, c_col, bias_stride;
  Positions<3> batch;
  bool accumulate;

  explicit Product(const MatmulArgs& g)
      : m(g.m),
        n(g.n),
        k(g.k),
        items(1),
        a(static_cast<const T*>(g.a)),
        b(static_cast<const T*>(g.b)),
        bias(static_cast<const T*>(g.bias)),
        c(static_cast<T*>(g.c)),
        a_row(g.a_row),
        a_col(g.a_col),
        b_row(g.b_row),
        b_col(g.b_col),
        c_row(g.c_row),
        c_col(g.c_col),
        bias_stride(g.bias_stride),
        batch{},
        accumulate(g.accumulate) {
    batch.ndim = g.batch_ndim;
    for (int d = 0; d < g.batch_ndim; ++d) {
      items *= batch.shape[d] = g.batch_shape[d];
      batch.strides[0][d] = g.a_batch[d];
      batch.strides[1][d] = g.b_batch[d];
      batch.strides[2][d] = g.c_batch[d];
    }
  }

  // C[row, column] of an item from the sum of its products. Integers wrap around.
  __device__ void finish(int64_t item, int64_t row, int64_t column, Wrapping<T> sum) const {
    T* const to = c + batch.offset(2, item) + row * c_row + column * c_col;
    if (accumulate) sum = static_cast<Wrapping<T>>(*to) + sum;
    if (bias) sum += static_cast<Wrapping<T>>(bias[column * bias_stride]);
    *to = static_cast<T>(sum);
  }
};

// A thread per element of C.
template <class T>
__global__ void naive(const Product<T> g) {
  const int64_t index = thread_index();
  if (index >= g.items * g.m * g.n) return;
  const int64_t column = index % g.n, row = index / g.n % g.m, item = index / g.n / g.m;
  const T* const a = g.a + g.batch.offset(0, item) + row * g.a_row;
  const T* const b = g.b + g.batch.offset(1, item) + column * g.b_col;
  Wrapping<T> sum = 0;
  for (int64_t p = 0; p < g.k; ++p)
    sum += static_cast<Wrapping<T>>(a[p * g.a_col]) * static_cast<Wrapping<T>>(b[p * g.b_row]);
  g.finish(item, row, column, sum);
}

// A block per tile of C. Tiles at the edges reach beyond it: there zeros are read, and nothing is
// written.
template <class T>
__global__ void tiled(const Product<T> g) {
  int64_t item = blockIdx.x;
  const int64_t first_column = next_dim(item, tiles_of(g.n)) * kTile;
  const int64_t first_row = next_dim(item, tiles_of(g.m)) * kTile;
  const T* const a = g.a + g.batch.offset(0, item) + first_row * g.a_row;
  const T* const b = g.b + g.batch.offset(1, item) + first_column * g.b_col;
  const auto sum = product_of_tile<Wrapping<T>>(
      g.k,
      [&](int row, int64_t p) {
        return static_cast<Wrapping<T>>(first_row + row < g.m ? a[row * g.a_row + p * g.a_col]
                                                              : T(0));
      },
      [&](int64_t p, int column) {
        return static_cast<Wrapping<T>>(
            first_column + column < g.n ? b[p * g.b_row + column * g.b_col] : T(0));
      },
      g.a_row < g.a_col, g.b_row < g.b_col);
  const int64_t row = first_row + threadIdx.y, column = first_column + threadIdx.x;
  if (row < g.m && column < g.n) g.finish(item, row, column, sum);
}

// A block per element of C, whose threads share out the sum.
template <class T>
__global__ void summed(const Product<T> g) {
  int64_t item = blockIdx.x;
  const int64_t column = next_dim(item, g.n), row = next_dim(item, g.m);
  const T* const a = g.a + g.batch.offset(0, item) + row * g.a_row;
  const T* const b = g.b + g.batch.offset(1, item) + column * g.b_col;
  Wrapping<T> sum = 0;
  for (int64_t p = threadIdx.x; p < g.k; p += kThreads)
    sum += static_cast<Wrapping<T>>(a[p * g.a_col]) * static_cast<Wrapping<T>>(b[p * g.b_row]);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) g.finish(item, row, column, sum);
}

template <class T>
void run_naive(const MatmulArgs& args) {
  const Product<T> g(args);
  launch<naive<T>>(grid_of(g.items * g.m * g.n), g);
}
template <class T>
void run_product(const MatmulArgs& args) {
  constexpr int64_t kFew = 256, kLong = 4 * kThreads;
  const Product<T> g(args);
  const int64_t numel = g.items * g.m * g.n;
  if (numel <= kFew && g.k >= kLong)
    launch<summed<T>>({static_cast<unsigned>(numel), kThreads}, g);
  else
    launch<tiled<T>>(grid_of_tiles(g.items * tiles_of(g.m) * tiles_of(g.n)), g);
}

// Halves have no kernel: they are computed in float32 (core/api/matmul.cpp).
template <class T>
constexpr void set(MatmulTable& table, DType dtype) {
  if constexpr (!std::is_same_v<T, bool> && !is_half_type<T>) {
    table.product[static_cast<int>(dtype)] = run_product<T>;
    table.naive[static_cast<int>(dtype)] = run_naive<T>;
  }
}
constexpr MatmulTable make_table() {
  MatmulTable table{};
#define X(name, type, text, category) set<type>(table, DType::name);
  TT_FOR_EACH_DTYPE(X)
#undef X
  return table;
}

}  // namespace

const MatmulTable matmul_table = make_table();

}  // namespace tt::cuda
