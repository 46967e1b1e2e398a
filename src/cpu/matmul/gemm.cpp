// float32 and float64 matrix products, compiled per instruction set with contraction to FMA.
//
// Reading order: `naive`, the definition; `vector_product` for a C of a single row or column; then
// how the work is cut into tasks. docs/kernels.md explains the blocks. Not here: `block_product`,
// the fast form of `naive`, and what is packed or read in place (gemm_block.h), the register tile
// (gemm_tile.h), the sums of vector products (gemm_vector.h), integers (gemm_int.cpp).
#include "core/tables/matmul.h"
#include "cpu/infra/scratch.h"
#include "cpu/infra/tasks.h"
#include "cpu/matmul/gemm_block.h"
#include "cpu/matmul/gemm_vector.h"

namespace tt::cpu {
namespace {

// The definition. Along k, products are summed in blocks (as good for accuracy as for the cache),
// and the blocks' sums are added one after another. Inside a block products are summed one after
// another too, except if C is a row or a column: then product p goes to sum p % L of L, which are
// added as a tree. All that follows does the same additions in the same order; it differs only in
// what it has in hand at a time.
template <class T>
void naive(const MatmulArgs& gemm) {
  const int partials = gemm.m == 1 || gemm.n == 1 ? lanes<T> : 1;
  const int64_t batch = batch_size(gemm), depth = block_depth<T>(gemm.k);
  for (int64_t index = 0; index < batch; ++index) {
    const Product<T> g = product_at<T>(gemm, depth, index);
    for (int64_t i = 0; i < g.m; ++i) {
      for (int64_t j = 0; j < g.n; ++j) {
        T& c = g.c[i * g.c_row + j * g.c_col];
        for (int64_t begin = 0; begin == 0 || begin < g.k; begin += depth) {
          T sums[lanes<T>] = {};
          for (int64_t p = begin; p < smaller(begin + depth, g.k); ++p) {
            sums[p % partials] +=
                element(g.a + i * g.a_row + p * g.a_col) * element(g.b + p * g.b_row + j * g.b_col);
          }
          for (int step = partials / 2; step > 0; step /= 2) {
            for (int s = 0; s < step; ++s) sums[s] += sums[s + step];
          }
          c = begin == 0 && !g.accumulate ? sums[0] : c + sums[0];
        }
        if (g.bias) c += element(g.bias + j * g.bias_col);
      }
    }
  }
}

// ---- C as a single row: C[0, j:j_end], at most kStrip elements. ---------------------------------

template <class T>
void vector_product(const Product<T>& g, int64_t j, int64_t j_end) {
  const int64_t width = j_end - j;
  T sums[kStrip];
  for (int64_t p = 0; p == 0 || p < g.k; p += g.depth) {
    sum_strip(g, p, smaller(g.depth, g.k - p), j, width, sums);
    write_sums(g, sums, 0, 0, j, 1, width, g.accumulate || p > 0);
  }
  if (g.bias) add_bias(g, 0, j, 1, width);
}

// ---- Cutting the work into tasks. Nothing here changes a bit of the result. ---------------------

// Multiply-adds that make a task of several small products.
constexpr double kTaskWork = 32 * 1024;

// C's rows, or its columns, cut into parts that differ by at most one unit: a register tile's.
struct Cut {
  int64_t size, unit, parts;
  int64_t units() const { return blocks(size, unit); }
  int64_t most() const { return smaller(size, blocks(units(), parts) * unit); }
  int64_t begin(int64_t part) const { return smaller(size, units() * part / parts * unit); }
};
struct Grid {
  Cut rows, cols;
  int64_t size() const { return rows.parts * cols.parts; }
};

template <class T>
Grid cut(const Product<T>& g, int64_t batch, int workers) {
  const bool vector = g.m == 1;
  const int64_t widest = vector ? kStrip : 512;
  Cut rows = {g.m, vector ? 1 : kRows, blocks(g.m, 1024)};
  Cut cols = {g.n, kCols<T>, blocks(g.n, widest)};
  const int64_t wanted = workers == 1 ? 1 : vector ? workers : 2 * workers;
  // What is packed by transposing is not to be packed by many.
  const int64_t row_worth = g.a_col == 1 ? 1 : 4, col_worth = g.b_col == 1 ? 1 : 4;
  while (batch * rows.parts * cols.parts < wanted) {
    const bool by_rows = rows.units() > 4 * rows.parts, by_cols = cols.units() > 2 * cols.parts;
    if (by_rows && (!by_cols || rows.most() * row_worth >= cols.most() * col_worth)) {
      rows.parts *= 2;
    } else if (by_cols) {
      cols.parts *= 2;
    } else {
      break;
    }
  }
  // Few tasks are as many for each worker, or some would wait for the last one.
  const int64_t others = batch * cols.parts, most = blocks(rows.units(), 4);
  while (rows.parts < most && rows.parts * others < 8 * workers &&
         rows.parts * others % workers != 0) {
    ++rows.parts;
  }
  return {rows, cols};
}

template <class T>
void compute_tile(const Product<T>& g, const Grid& grid, int64_t tile, T* scratch) {
  const int64_t row = tile / grid.cols.parts, col = tile % grid.cols.parts;
  const int64_t i = grid.rows.begin(row), i_end = grid.rows.begin(row + 1);
  const int64_t j = grid.cols.begin(col), j_end = grid.cols.begin(col + 1);
  if (g.m == 1) {
    vector_product(g, j, j_end);
  } else {
    block_product(g, {i, i_end, j, j_end, 0, 0, i_end - i}, scratch);
  }
}

// Small C and large k: the blocks of k are tasks of their own, whose sums `partial` (blocks, m, n)
// holds until they are added in order.
template <class T>
void split_product(const Product<T>& g, const Grid& grid, int workers, T* scratch,
                   int64_t per_worker, T* partial) {
  const int64_t depth = g.depth, depth_blocks = blocks(g.k, depth), size = g.m * g.n;
  run_tasks(depth_blocks * grid.size(), workers, [&](int64_t task, int64_t worker) {
    const int64_t block = task / grid.size(), p = block * depth;
    Product<T> part = g;
    part.k = smaller(depth, g.k - p);
    part.a += p * g.a_col;
    part.b += p * g.b_row;
    part.c = partial + block * size;
    part.c_row = g.n, part.c_col = 1;
    part.bias = nullptr;
    part.accumulate = false;
    compute_tile(part, grid, task % grid.size(), scratch + worker * per_worker);
  });
  parallel_for(g.m, 1 + kGrain / (g.n * depth_blocks), [&](int64_t begin, int64_t end) {
    for (int64_t block = 0; block < depth_blocks; ++block) {
      write_sums(g, partial + block * size + begin * g.n, g.n, begin, 0, end - begin, g.n,
                 g.accumulate || block > 0);
    }
    if (g.bias) add_bias(g, begin, 0, end - begin, g.n);
  });
}

// What C takes, in multiply-adds of vectors: register tiles, which count whole, and for operands
// that lie across the order in which tiles read and write them, the transposing, by element.
template <class T>
double cost(const Product<T>& g) {
  const double rows = double(round_up(g.m, kRows / 3)), vectors = double(blocks(g.n, lanes<T>));
  const double k = double(g.k), a = double(g.m) * k, b = k * double(g.n);
  const double times = turns_sums(g) ? 1.25 : double(blocks(g.k, g.depth));
  const double c = double(g.m) * double(g.n) * times;
  const auto across = [](int64_t good, int64_t bad, double some) {
    return good == 1 ? 0 : bad == 1 ? some : 3;
  };
  return rows * vectors * k + a * across(g.a_col, g.a_row, 0.3) +
         b * across(g.b_col, g.b_row, g.m <= kFew ? 0.3 : 0.8) + c * across(g.c_col, g.c_row, 1.2);
}

// Whether C^T is computed, as B^T @ A^T.
template <class T>
bool better_transposed(const Product<T>& g) {
  if (g.m == 1 || g.n == 1) return g.m != 1;
  return cost(transposed(g)) < cost(g);
}

template <class T>
void fast(const MatmulArgs& request) {
  const MatmulArgs gemm = folded(request);
  const int64_t batch = batch_size(gemm), depth = block_depth<T>(gemm.k);
  if (gemm.m == 0 || gemm.n == 0 || batch == 0) return;
  const Product<T> first = product_at<T>(gemm, depth, 0);
  const bool turn = better_transposed(first);
  const auto product = [&](int64_t index) {
    const Product<T> g = product_at<T>(gemm, depth, index);
    return turn ? transposed(g) : g;
  };
  const Product<T> g = turn ? transposed(first) : first;
  const double work = double(g.m) * double(g.n) * double(g.k);
  const int workers = work * double(batch) > kParallelWork ? num_threads() : 1;
  const Grid grid = cut(g, batch, workers);
  const int64_t tiles = batch * grid.size();
  const bool split = tiles < workers && g.k > kDeepest<T>;

  const int64_t per_worker = g.m == 1 ? 0 : scratch_size(g, grid.rows.most(), grid.cols.most());
  const int64_t partial_size = split ? blocks(g.k, depth) * g.m * g.n : 0;
  const int64_t size = workers * per_worker + partial_size;
  const Scratch<T> memory(size);
  T* const scratch = memory.data;
  if (split) {
    T* partial = scratch + workers * per_worker;
    for (int64_t index = 0; index < batch; ++index) {
      split_product(product(index), grid, workers, scratch, per_worker, partial);
    }
  } else {
    const int64_t group = grid.size() > 1 ? 1 : 1 + int64_t(kTaskWork / (work + 1));
    run_tasks(blocks(tiles, group), workers, [&](int64_t task, int64_t worker) {
      for (int64_t at = task * group; at < smaller((task + 1) * group, tiles); ++at) {
        const int64_t index = grid.size() == 1 ? at : at / grid.size();
        compute_tile(product(index), grid, at - index * grid.size(), scratch + worker * per_worker);
      }
    });
  }
}

constexpr MatmulTable make_table() {
  MatmulTable table{};
  constexpr int f32 = static_cast<int>(DType::Float32), f64 = static_cast<int>(DType::Float64);
  table.product[f32] = fast<float>, table.product[f64] = fast<double>;
  table.naive[f32] = naive<float>, table.naive[f64] = naive<double>;
  return table;
}

}  // namespace

namespace TT_ISA {
extern const MatmulTable matmul_table = make_table();
}  // namespace TT_ISA

}  // namespace tt::cpu
