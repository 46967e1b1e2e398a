// Attention of halves on tensor cores (infra/mma.h), without a matrix of scores (Dao 2023).
//
// A block has kRows queries (in the gradients of keys and values: keys), 16 for each of its 8
// warps, and walks along the others, a tile of kTileRows at a time, which comes by copy_async while
// the tile before is multiplied. A warp's scores (16, kTileRows) never leave its registers: the
// layout of what mma answers is, rounded to halves, the layout of the next mma's rows. Everything
// else is as in attention.cu, but that scores are times log2 e: a GPU has an instruction for 2^x.
//
// Most tiles have neither an end of the rows in them nor the diagonal of causal attention: their
// scores are taken without a test (`Seen`).
#include "cuda/attention/attention.h"
#include "cuda/infra/images.h"
#include "cuda/infra/tensor_tiles.h"

namespace tt::cuda {
namespace {

constexpr int kWarpRows = 16, kRows = kThreads / 32 * kWarpRows;
constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;

// kRows or kTileRows rows in shared memory, of kWidth columns: seen as lines along the depth
// (kDeep), or as a depth of columns.
template <int kWidth, bool kDeep>
struct RowsPlace {
  static constexpr bool kIsDeep = kDeep;
  static constexpr int kRow = kWidth + 8;

  __device__ static int at(int line, int k) { return kDeep ? line * kRow + k : k * kRow + line; }
};

template <class T>
__device__ MatrixFactor<T> rows_of(const Matrix<T>& m, int64_t rows, int64_t columns) {
  return {m.data, rows, columns, m.row, m.column};
}

// Starts to copy kCount rows from the `first` on, and zeros around what there is.
template <class T, int kWidth, int kCount>
__device__ void copy_rows(T* tile, const MatrixFactor<T>& from, int64_t first) {
  constexpr int kInRow = kWidth / kChunk<T>;
  for (int i = threadIdx.x; i < kCount * kInRow; i += kThreads) {
    const int row = i / kInRow, k = i % kInRow * kChunk<T>;
    T* const to = tile + RowsPlace<kWidth, true>::at(row, k);
    const auto line = from.line(first + row);
    if (from.has_chunks && from.is_deep) {
      const Chunk<T> chunk = from.chunk(line, k);
      copy_async(to, chunk.data, chunk.count * static_cast<int>(sizeof(T)));
    } else {
      TT_UNROLL
      for (int e = 0; e < kChunk<T>; ++e) to[e] = from.element(line, k + e);
    }
  }
}

// A warp's sums (16, 8 kCount), as mma has them.
template <int kCount>
struct Sums {
  float of[kCount][4] = {};

  // Calls use(row, column, sum) for those of the lane, counted from the warp's first.
  template <class Use>
  __device__ void for_each(const Use& use) {
    const int lane = threadIdx.x % 32;
    TT_UNROLL
    for (int j = 0; j < kCount; ++j) {
      TT_UNROLL
      for (int r = 0; r < 4; ++r) use(lane / 4 + r / 2 * 8, j * 8 + lane % 4 * 2 + r % 2, of[j][r]);
    }
  }

  // += the warp's rows of `rows` @ all of `columns`^T.
  template <class T, int kWidth>
  __device__ void add_product(const T* rows, const T* columns) {
    using Place = RowsPlace<kWidth, true>;
    const int first_row = threadIdx.x / 32 * 16;
    TT_UNROLL
    for (int k = 0; k < kWidth; k += 16) {
      unsigned a[4], b[4];
      load_fragments<T, 0, Place>(a, rows, first_row, k);
      TT_UNROLL
      for (int j = 0; j < kCount; j += 2) {
        load_fragments<T, 1, Place>(b, columns, j * 8, k);
        multiply_two<T>(j, a, b);
      }
    }
  }
  // += weights, rounded to Ts, @ m (8 kDepth, 8 kCount).
  template <class T, int kDepth>
  __device__ void add_weighted(const Sums<kDepth>& weights, const T* m) {
    using Place = RowsPlace<kCount * 8, false>;
    TT_UNROLL
    for (int k = 0; k < kDepth; k += 2) {
      unsigned a[4], b[4];
      TT_UNROLL
      for (int r = 0; r < 4; ++r) {
        const float (&pair)[4] = weights.of[k + r / 2];
        a[r] = pair_of<T>(pair[r % 2 * 2], pair[r % 2 * 2 + 1]);
      }
      TT_UNROLL
      for (int j = 0; j < kCount; j += 2) {
        load_fragments<T, 1, Place>(b, m, j * 8, k * 8);
        multiply_two<T>(j, a, b);
      }
    }
  }
  // Two neighbours at once, where they lie so.
  template <class T>
  __device__ void write(const Matrix<T>& to, int64_t first_row, int64_t rows, int64_t columns,
                        const float (&factors)[2]) {
    const int lane = threadIdx.x % 32;
    TT_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int64_t row = first_row + lane / 4 + half * 8;
      if (row >= rows) continue;
      T* const line = &to.at(row, 0);
      const bool pairs = to.column == 1 && reinterpret_cast<uintptr_t>(line) % 4 == 0;
      TT_UNROLL
      for (int j = 0; j < kCount; ++j) {
        const int column = j * 8 + lane % 4 * 2;
        const float first = of[j][half * 2] * factors[half];
        const float second = of[j][half * 2 + 1] * factors[half];
        if (pairs && column + 1 < columns) {
          *reinterpret_cast<unsigned*>(line + column) = pair_of<T>(first, second);
        } else {
          if (column < columns) line[column * to.column] = T(first);
          if (column + 1 < columns) line[(column + 1) * to.column] = T(second);
        }
      }
    }
  }

 private:
  template <class T>
  __device__ void multiply_two(int j, const unsigned (&a)[4], const unsigned (&b)[4]) {
    const unsigned first[2] = {b[0], b[1]}, second[2] = {b[2], b[3]};
    mma<T>(of[j], a, first);
    mma<T>(of[j + 1], a, second);
  }
};

// What a block has in shared memory: rows of kStays matrices that stay, and two stages of two
// tiles.
template <class T, int kWidth, int kTileRows, int kStays>
struct Tiles {
  static constexpr int kStay = kRows * RowsPlace<kWidth, true>::kRow;
  static constexpr int kTileElements = kTileRows * RowsPlace<kWidth, true>::kRow;
  static constexpr size_t kSharedBytes = (kStays * kStay + 4 * kTileElements) * sizeof(T);

  // Calls use(first, x, y) for the tiles of x and y, rows from `first` on. What was started to be
  // copied before is there, too.
  template <class Use>
  __device__ static void walk(const MatrixFactor<T>& x, const MatrixFactor<T>& y, int64_t begin,
                              int64_t end, const Use& use) {
    T* const stages = dynamic_shared<T>() + kStays * kStay;
    const int count = static_cast<int>((end - begin + kTileRows - 1) / kTileRows);
    const auto start = [&](int tile) {
      if (tile < count) {
        T* const stage = stages + tile % 2 * 2 * kTileElements;
        copy_rows<T, kWidth, kTileRows>(stage, x, begin + tile * kTileRows);
        copy_rows<T, kWidth, kTileRows>(stage + kTileElements, y, begin + tile * kTileRows);
      }
      commit_copies();
    };
    start(0);
    for (int tile = 0; tile < count; ++tile) {
      start(tile + 1);
      wait_for_copies<1>();
      __syncthreads();
      const T* const stage = stages + tile % 2 * 2 * kTileElements;
      use(begin + tile * kTileRows, stage, stage + kTileElements);
      __syncthreads();  // the stage is to be overwritten
    }
    wait_for_copies<0>();  // of what stays, where there was no tile
  }
};

// Matrices whose rows stay: q, and for gradients another one.
constexpr int kForwardStays = 1, kBackwardStays = 2;

// A block's head, and its and its warp's first row.
struct WarpPlace {
  int64_t head, block_row, row;

  __device__ explicit WarpPlace(int64_t rows) : head(blockIdx.x) {
    block_row = next_dim(head, (rows + kRows - 1) / kRows) * kRows;
    row = block_row + threadIdx.x / 32 * kWarpRows;
  }
};

// What combine makes of the values of the four lanes that have the same rows.
template <class Combine>
__device__ float of_quad(float value, Combine combine) {
  value = combine(value, __shfl_xor_sync(kAllLanes, value, 1));
  return combine(value, __shfl_xor_sync(kAllLanes, value, 2));
}

// Which scores of a tile count: those of keys that there are and that their queries may see.
// Counted from the tile's first query and key, so that 32 bits are enough.
struct Seen {
  int queries, keys;  // how many there are from the first one on
  int lag;            // query i sees keys up to i + lag

  template <class T>
  __device__ Seen(const Attention<T>& g, int64_t query, int64_t key)
      : queries(small(g.queries - query)),
        keys(small(g.keys - key)),
        lag(g.causal ? small(query - key) : kFar) {}

  __device__ bool all(int tile_queries, int tile_keys) const {
    return queries >= tile_queries && keys >= tile_keys && lag >= tile_keys - 1;
  }
  __device__ bool has(int query, int key) const {
    return query < queries && key < keys && key <= query + lag;
  }

 private:
  static constexpr int kFar = 1 << 20;  // larger than any tile
  __device__ static int small(int64_t x) {
    return static_cast<int>(x > kFar ? kFar : x < -kFar ? -kFar : x);
  }
};

// Makes scores of a warp's products. kRowsAre: what its rows are, kQ or kK.
template <class T, int kCount, Array kRowsAre>
__device__ void make_scores(const Attention<T>& g, const Matrix<float>& mask, int64_t row,
                            int64_t column, Sums<kCount>& products) {
  constexpr bool kTurned = kRowsAre == kK;
  const int64_t query = kTurned ? column : row, key = kTurned ? row : column;
  const Seen seen(g, query, key);
  const float scale = g.scale * kLog2E;
  if (!mask.data && seen.all(kTurned ? 8 * kCount : kWarpRows, kTurned ? kWarpRows : 8 * kCount)) {
    products.for_each([&](int, int, float& s) { s *= scale; });
    return;
  }
  products.for_each([&](int row, int column, float& s) {
    const int i = kTurned ? column : row, j = kTurned ? row : column;
    s *= scale;
    if (!seen.has(i, j))
      s = -INFINITY;
    else if (mask.data)
      s += mask.at(query + i, key + j) * kLog2E;
  });
}

// ---- forward ------------------------------------------------------------------------------------

template <class T, int kWidth, int kTileRows>
__global__ void __launch_bounds__(kThreads, 2) forward_rows(const Attention<T> g) {
  using All = Tiles<T, kWidth, kTileRows, kForwardStays>;
  const WarpPlace place(g.queries);
  T* const q = dynamic_shared<T>();
  copy_rows<T, kWidth, kRows>(q, rows_of(g.of_head(kQ, place.head), g.queries, g.width),
                              place.block_row);
  const Matrix<float> mask = g.mask_of(place.head);
  float peak[2] = {-INFINITY, -INFINITY}, sum[2] = {};  // of the lane's rows
  Sums<kWidth / 8> out;
  const auto visit = [&](int64_t key, const T* k, const T* v) {
    Sums<kTileRows / 8> scores;
    scores.template add_product<T, kWidth>(q, k);
    make_scores<T, kTileRows / 8, kQ>(g, mask, place.row, key, scores);
    float new_peak[2] = {peak[0], peak[1]}, keep[2], shift[2];
    scores.for_each(
        [&](int row, int, float s) { new_peak[row / 8] = fmaxf(new_peak[row / 8], s); });
    TT_UNROLL
    for (int half = 0; half < 2; ++half) {
      new_peak[half] = of_quad(new_peak[half], [](float a, float b) { return fmaxf(a, b); });
      shift[half] = new_peak[half] == -INFINITY ? 0 : new_peak[half];  // -inf less -inf: no number
      keep[half] = exp2f(peak[half] - shift[half]);
      peak[half] = new_peak[half];
      sum[half] *= keep[half];
    }
    scores.for_each([&](int row, int, float& s) {
      s = exp2f(s - shift[row / 8]);
      sum[row / 8] += s;
    });
    out.for_each([&](int row, int, float& x) { x *= keep[row / 8]; });
    out.template add_weighted<T>(scores, v);
  };
  All::walk(rows_of(g.of_head(kK, place.head), g.keys, g.width),
            rows_of(g.of_head(kV, place.head), g.keys, g.value_width), 0,
            g.keys_seen(place.block_row + kRows), visit);
  float factors[2];
  TT_UNROLL
  for (int half = 0; half < 2; ++half) {
    sum[half] = of_quad(sum[half], [](float a, float b) { return a + b; });
    const bool is_empty = sum[half] == 0;  // no key may be seen
    factors[half] = is_empty ? 0 : 1 / sum[half];
    const int lane = threadIdx.x % 32;
    const int64_t query = place.row + lane / 4 + half * 8;
    if (lane % 4 == 0 && query < g.queries)
      g.log_sums[place.head * g.queries + query] =
          is_empty ? 0 : peak[half] * kLn2 + logf(sum[half]);
  }
  out.write(g.of_head(kOut, place.head), place.row, g.queries, g.value_width, factors);
}

// ---- backward -----------------------------------------------------------------------------------

// What is known of a query before its scores are: the log of their sum, times log2 e, and
// sum(grad out).
struct OfQuery {
  float log_sum = 0, dot = 0;

  OfQuery() = default;
  template <class T>
  __device__ OfQuery(const Attention<T>& g, const float* dots, int64_t head, int64_t query) {
    if (query >= g.queries) return;
    log_sum = g.log_sums[head * g.queries + query] * kLog2E;
    dot = dots[head * g.queries + query];
  }
  // A score becomes p, a product of grad and v becomes ds.
  __device__ void find(float& score_then_p, float& dp_then_ds) const {
    const float s = score_then_p;
    score_then_p = exp2f(s - log_sum);
    dp_then_ds = s == -INFINITY ? 0 : score_then_p * (dp_then_ds - dot);
  }
};

// dq: the block's rows are queries.
template <class T, int kWidth, int kTileRows>
__global__ void __launch_bounds__(kThreads)
    backward_rows(const Attention<T> g, const float* const dots) {
  using All = Tiles<T, kWidth, kTileRows, kBackwardStays>;
  const WarpPlace place(g.queries);
  T* const q = dynamic_shared<T>();
  T* const grad = q + All::kStay;
  copy_rows<T, kWidth, kRows>(q, rows_of(g.of_head(kQ, place.head), g.queries, g.width),
                              place.block_row);
  copy_rows<T, kWidth, kRows>(grad, rows_of(g.of_head(kGrad, place.head), g.queries, g.value_width),
                              place.block_row);
  const Matrix<float> mask = g.mask_of(place.head);
  const int64_t query = place.row + threadIdx.x % 32 / 4;  // the lane's first; the other: + 8
  const OfQuery of_rows[2] = {{g, dots, place.head, query}, {g, dots, place.head, query + 8}};
  Sums<kWidth / 8> dq;
  const auto visit = [&](int64_t key, const T* k, const T* v) {
    Sums<kTileRows / 8> p, ds;
    p.template add_product<T, kWidth>(q, k);
    ds.template add_product<T, kWidth>(grad, v);
    make_scores<T, kTileRows / 8, kQ>(g, mask, place.row, key, p);
    TT_UNROLL
    for (int j = 0; j < kTileRows / 8; ++j) {
      TT_UNROLL
      for (int r = 0; r < 4; ++r) of_rows[r / 2].find(p.of[j][r], ds.of[j][r]);
    }
    dq.template add_weighted<T>(ds, k);
  };
  All::walk(rows_of(g.of_head(kK, place.head), g.keys, g.width),
            rows_of(g.of_head(kV, place.head), g.keys, g.value_width), 0,
            g.keys_seen(place.block_row + kRows), visit);
  dq.write(g.of_head(kQGrad, place.head), place.row, g.queries, g.width, {g.scale, g.scale});
}

// dk and dv: the block's rows are keys, its columns queries.
template <class T, int kWidth, int kTileRows>
__global__ void __launch_bounds__(kThreads)
    backward_columns(const Attention<T> g, const float* const dots) {
  using All = Tiles<T, kWidth, kTileRows, kBackwardStays>;
  const WarpPlace place(g.keys);
  T* const k = dynamic_shared<T>();
  T* const v = k + All::kStay;
  copy_rows<T, kWidth, kRows>(k, rows_of(g.of_head(kK, place.head), g.keys, g.width),
                              place.block_row);
  copy_rows<T, kWidth, kRows>(v, rows_of(g.of_head(kV, place.head), g.keys, g.value_width),
                              place.block_row);
  const Matrix<float> mask = g.mask_of(place.head);
  Sums<kWidth / 8> dk, dv;
  const auto visit = [&](int64_t query, const T* q, const T* grad) {
    Sums<kTileRows / 8> p, ds;
    p.template add_product<T, kWidth>(k, q);
    ds.template add_product<T, kWidth>(v, grad);
    make_scores<T, kTileRows / 8, kK>(g, mask, place.row, query, p);
    TT_UNROLL
    for (int j = 0; j < kTileRows / 8; ++j) {
      const int64_t column = query + j * 8 + threadIdx.x % 4 * 2;
      const OfQuery of_columns[2] = {{g, dots, place.head, column},
                                     {g, dots, place.head, column + 1}};
      TT_UNROLL
      for (int r = 0; r < 4; ++r) of_columns[r % 2].find(p.of[j][r], ds.of[j][r]);
    }
    dv.template add_weighted<T>(p, grad);
    dk.template add_weighted<T>(ds, q);
  };
  All::walk(rows_of(g.of_head(kQ, place.head), g.queries, g.width),
            rows_of(g.of_head(kGrad, place.head), g.queries, g.value_width),
            g.causal ? at_most(place.block_row, g.queries) : 0, g.queries, visit);
  dk.write(g.of_head(kKGrad, place.head), place.row, g.keys, g.width, {g.scale, g.scale});
  dv.write(g.of_head(kVGrad, place.head), place.row, g.keys, g.value_width, {1, 1});
}

// ---- which -------------------------------------------------------------------------------------

// Widths up to 128, of which a warp's sums fit into registers, and at least half a tile of rows.
bool has_kernels(const AttentionArgs& a) {
  return a.width <= 128 && a.value_width <= 128 && a.queries >= 32 && a.keys >= 32;
}

// Calls run(kWidth, kForwardRows, kBackwardRows), the last two of a tile, with types of constants:
// of them follow shared memory and registers. The least that a GPU lets a block have is 99 KiB.
template <class Run>
void with_width(const AttentionArgs& a, const Run& run) {
  const auto call = [&](auto width, auto forward_rows, auto backward_rows) {
    static_assert(Tiles<Half, width(), forward_rows(), kForwardStays>::kSharedBytes <= 99 << 10);
    static_assert(Tiles<Half, width(), backward_rows(), kBackwardStays>::kSharedBytes <= 99 << 10);
    run(width, forward_rows, backward_rows);
  };
  const std::integral_constant<int, 16> kSixteen;
  const std::integral_constant<int, 32> kThirtyTwo;
  const std::integral_constant<int, 64> kSixtyFour;
  if (a.width <= 64 && a.value_width <= 64)
    call(kSixtyFour, kSixtyFour, kSixtyFour);
  else
    call(std::integral_constant<int, 128>{}, kThirtyTwo, kSixteen);
}

Grid grid_of_rows(int64_t heads, int64_t rows, size_t shared_bytes) {
  return {heads * ((rows + kRows - 1) / kRows), kThreads, shared_bytes};
}

}  // namespace

template <class T>
bool attend_on_tensor_cores(const AttentionArgs& args) {
  if (!has_kernels(args)) return false;
  const Attention<T> g(args);
  with_width(args, [&](auto width, auto tile_rows, auto) {
    constexpr size_t kSharedBytes = Tiles<T, width(), tile_rows(), kForwardStays>::kSharedBytes;
    launch<forward_rows<T, width(), tile_rows()>>(grid_of_rows(g.heads, g.queries, kSharedBytes),
                                                  g);
  });
  return true;
}

template <class T>
bool attend_backward_on_tensor_cores(const AttentionArgs& args, const float* dots) {
  if (!has_kernels(args)) return false;
  const Attention<T> g(args);
  with_width(args, [&](auto width, auto, auto tile_rows) {
    constexpr size_t kSharedBytes = Tiles<T, width(), tile_rows(), kBackwardStays>::kSharedBytes;
    launch<backward_rows<T, width(), tile_rows()>>(grid_of_rows(g.heads, g.queries, kSharedBytes),
                                                   g, dots);
    launch<backward_columns<T, width(), tile_rows()>>(grid_of_rows(g.heads, g.keys, kSharedBytes),
                                                      g, dots);
  });
  return true;
}

template bool attend_on_tensor_cores<Half>(const AttentionArgs&);
template bool attend_on_tensor_cores<BFloat16>(const AttentionArgs&);
template bool attend_backward_on_tensor_cores<Half>(const AttentionArgs&, const float*);
template bool attend_backward_on_tensor_cores<BFloat16>(const AttentionArgs&, const float*);

}  // namespace tt::cuda
