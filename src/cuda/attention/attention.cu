// Attention without a matrix of scores: a block has kTile queries (in the gradients of keys and
// values: keys) and goes through the keys (queries) a tile at a time.
//
// Forward keeps, per query, the largest score so far and the sum of exp; where a larger one turns
// up, what has been summed is scaled down to it (Milakov and Gimelshein 2018; Dao et al. 2022). It
// leaves the log of the sum, from which backward computes the probabilities again:
//
//   p = e^(s - log_sum)   ds = p (grad v^T - sum(grad out))
//   dq = scale ds k       dk = scale ds^T q       dv = p^T grad
//
// A block makes kBlockColumns columns of its result; where there are more, other blocks compute the
// same scores for the others.
#include "core/tables/attention.h"
#include "cuda/attention/attention.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/images.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

constexpr int kColumns = 4;  // of a thread, kTile apart
constexpr int64_t kBlockColumns = kColumns * kTile;

// At least one, in which rows have something to say even without columns.
TT_HOST_DEVICE inline int64_t chunks_of(int64_t columns) {
  return columns > kBlockColumns ? (columns + kBlockColumns - 1) / kBlockColumns : 1;
}

// What a block makes: rows from `row` on, columns from `column` on, of a head.
struct Place {
  int64_t head, row, column;
  int chunk;

  __device__ Place(int64_t rows, int64_t columns) : head(blockIdx.x) {
    chunk = static_cast<int>(next_dim(head, chunks_of(columns)));
    column = chunk * kBlockColumns;
    row = next_dim(head, tiles_of(rows)) * kTile;
  }
};

// The thread's score: query + threadIdx.y with key + threadIdx.x.
template <class T>
__device__ SumOf<T> score(const Attention<T>& g, int64_t head, int64_t query, int64_t key) {
  using Sum = SumOf<T>;
  const Matrix<T> q = g.of_head(kQ, head), k = g.of_head(kK, head);
  const Sum product = product_of_tile<Sum>(
      g.width,
      [&](int row, int64_t e) {
        return query + row < g.queries ? static_cast<Sum>(q.at(query + row, e)) * g.scale : Sum(0);
      },
      [&](int64_t e, int column) {
        return key + column < g.keys ? static_cast<Sum>(k.at(key + column, e)) : Sum(0);
      },
      /*a_turned=*/false, /*b_turned=*/true);
  return g.score(g.mask_of(head), product, query + threadIdx.y, key + threadIdx.x);
}

// What combine makes of the values of the threads with the same threadIdx.y: half a warp.
template <class T, class Combine>
__device__ T of_row(T value, Combine combine) {
  for (int distance = kTile / 2; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
  return value;
}

// The thread's columns of a row of sums.
template <class T>
struct Sums {
  using Sum = SumOf<T>;

  Sum of[kColumns] = {};
  int64_t column, columns;  // its first one, and how many there are

  __device__ Sums(int64_t first_column, int64_t columns)
      : column(first_column + threadIdx.x), columns(columns) {}

  // Adds the products of weight(k) and row first + k of m, for all k of a tile. What weight reads
  // of shared memory may have been written right before, and be overwritten right after.
  template <class Weight>
  __device__ void add(const Matrix<T>& m, int64_t first, int64_t rows, const Weight& weight) {
    __shared__ Sum tile[kTile][kBlockColumns];
    const int row = threadIdx.y, lane = threadIdx.x;
    for (int c = 0; c < kColumns; ++c) {
      const int64_t j = column + c * kTile;
      tile[row][lane + c * kTile] =
          first + row < rows && j < columns ? static_cast<Sum>(m.at(first + row, j)) : Sum(0);
    }
    __syncthreads();
    for (int k = 0; k < kTile; ++k)
      for (int c = 0; c < kColumns; ++c)
        if (column - lane + c * kTile < columns) of[c] += weight(k) * tile[k][lane + c * kTile];
    __syncthreads();
  }
  __device__ void write(const Matrix<T>& m, int64_t row, int64_t rows, Sum factor) const {
    for (int c = 0; c < kColumns; ++c)
      if (row < rows && column + c * kTile < columns)
        m.at(row, column + c * kTile) = T(of[c] * factor);
  }
};

// ---- forward: a block per (head, tile of queries, chunk of out) ---------------------------------

template <class T>
__global__ void forward_tile(const Attention<T> g) {
  using Sum = SumOf<T>;
  __shared__ Sum p[kTile][kTile];  // of queries and keys
  const Place place(g.queries, g.value_width);
  const int64_t query = place.row + threadIdx.y;
  const int64_t end = g.keys_seen(place.row + kTile);
  const auto larger = [](Sum a, Sum b) { return a > b ? a : b; };
  Sum peak = -INFINITY, sum = 0;
  Sums<T> out(place.column, g.value_width);
  for (int64_t key = 0; key < end; key += kTile) {
    const Sum s = score(g, place.head, place.row, key);
    const Sum new_peak = larger(of_row(s, larger), peak);
    const Sum shift = new_peak == -INFINITY ? Sum(0) : new_peak;  // -inf less -inf is no number
    const Sum keep = exp(peak - shift), own = exp(s - shift);
    peak = new_peak;
    sum = sum * keep + of_row(own, [](Sum a, Sum b) { return a + b; });
    for (Sum& x : out.of) x *= keep;
    p[threadIdx.y][threadIdx.x] = own;
    out.add(g.of_head(kV, place.head), key, g.keys, [&](int k) { return p[threadIdx.y][k]; });
  }
  const bool is_empty = sum == 0;  // no key may be seen
  out.write(g.of_head(kOut, place.head), query, g.queries, is_empty ? Sum(0) : 1 / sum);
  if (place.chunk == 0 && threadIdx.x == 0 && query < g.queries)
    g.log_sums[place.head * g.queries + query] = is_empty ? Sum(0) : peak + log(sum);
}

// ---- backward -----------------------------------------------------------------------------------

// dots (heads, queries) = sum(grad out): a thread per row.
template <class T>
__global__ void find_dots(const Attention<T> g, SumOf<T>* const dots) {
  int64_t head = thread_index();
  const int64_t row = head, query = next_dim(head, g.queries);
  if (head >= g.heads) return;
  const Matrix<T> grad = g.of_head(kGrad, head), out = g.of_head(kOut, head);
  SumOf<T> sum = 0;
  for (int64_t e = 0; e < g.value_width; ++e)
    sum += static_cast<SumOf<T>>(grad.at(query, e)) * static_cast<SumOf<T>>(out.at(query, e));
  dots[row] = sum;
}

// The gradient of one product: the thread's query and key.
template <class Sum>
struct Gradient {
  Sum p, ds;
};
template <class T, class Sum = SumOf<T>>
__device__ Gradient<Sum> gradient(const Attention<T>& g, const Sum* dots, int64_t head,
                                  int64_t query, int64_t key) {
  const Matrix<T> grad = g.of_head(kGrad, head), v = g.of_head(kV, head);
  const Sum s = score(g, head, query, key);
  const Sum dp = product_of_tile<Sum>(
      g.value_width,
      [&](int row, int64_t e) {
        return query + row < g.queries ? static_cast<Sum>(grad.at(query + row, e)) : Sum(0);
      },
      [&](int64_t e, int column) {
        return key + column < g.keys ? static_cast<Sum>(v.at(key + column, e)) : Sum(0);
      },
      /*a_turned=*/false, /*b_turned=*/true);
  const int64_t row = query + threadIdx.y;
  if (row >= g.queries) return {0, 0};
  const Sum p = exp(s - g.log_sums[head * g.queries + row]);
  return {p, p * (dp - dots[head * g.queries + row])};
}

// A block per (head, tile of queries, chunk of dq).
template <class T>
__global__ void backward_queries(const Attention<T> g, const SumOf<T>* const dots) {
  __shared__ SumOf<T> ds[kTile][kTile];  // of queries and keys
  const Place place(g.queries, g.width);
  const int64_t end = g.keys_seen(place.row + kTile);
  Sums<T> dq(place.column, g.width);
  for (int64_t key = 0; key < end; key += kTile) {
    ds[threadIdx.y][threadIdx.x] = gradient(g, dots, place.head, place.row, key).ds;
    dq.add(g.of_head(kK, place.head), key, g.keys, [&](int k) { return ds[threadIdx.y][k]; });
  }
  dq.write(g.of_head(kQGrad, place.head), place.row + threadIdx.y, g.queries, g.scale);
}

// A block per (head, tile of keys, chunk of dk and of dv).
template <class T>
__global__ void backward_keys(const Attention<T> g, const SumOf<T>* const dots) {
  __shared__ SumOf<T> p[kTile][kTile], ds[kTile][kTile];  // of queries and keys
  const Place place(g.keys, g.width > g.value_width ? g.width : g.value_width);
  Sums<T> dk(place.column, g.width), dv(place.column, g.value_width);
  for (int64_t query = g.causal ? place.row : 0; query < g.queries; query += kTile) {
    const auto own = gradient(g, dots, place.head, query, place.row);
    p[threadIdx.y][threadIdx.x] = own.p;
    ds[threadIdx.y][threadIdx.x] = own.ds;
    dv.add(g.of_head(kGrad, place.head), query, g.queries,
           [&](int k) { return p[k][threadIdx.y]; });
    dk.add(g.of_head(kQ, place.head), query, g.queries, [&](int k) { return ds[k][threadIdx.y]; });
  }
  const int64_t key = place.row + threadIdx.y;
  dk.write(g.of_head(kKGrad, place.head), key, g.keys, g.scale);
  dv.write(g.of_head(kVGrad, place.head), key, g.keys, SumOf<T>(1));
}

template <class T>
void forward(const AttentionArgs& args) {
  if constexpr (is_half_type<T>)
    if (attend_on_tensor_cores<T>(args)) return;
  const Attention<T> g(args);
  launch<forward_tile<T>>(grid_of_tiles(g.heads * tiles_of(g.queries) * chunks_of(g.value_width)),
                          g);
}

template <class T>
void backward(const AttentionArgs& args) {
  const Attention<T> g(args);
  const Scratch<SumOf<T>> dots(g.heads * g.queries);
  launch<find_dots<T>>(grid_of(g.heads * g.queries), g, dots.data());
  if constexpr (is_half_type<T>)
    if (attend_backward_on_tensor_cores<T>(args, dots.data())) return;
  launch<backward_queries<T>>(grid_of_tiles(g.heads * tiles_of(g.queries) * chunks_of(g.width)), g,
                              dots.data());
  const int64_t chunks = chunks_of(g.width > g.value_width ? g.width : g.value_width);
  launch<backward_keys<T>>(grid_of_tiles(g.heads * tiles_of(g.keys) * chunks), g, dots.data());
}

}  // namespace

const AttentionTable attention_table = {
    {forward<float>, forward<double>, forward<Half>, forward<BFloat16>},
    {backward<float>, backward<double>, backward<Half>, backward<BFloat16>}};

}  // namespace tt::cuda
