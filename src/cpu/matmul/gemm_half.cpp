// float16 and bfloat16 matrix products with sums in float32, rounded once. Compiled per instruction
// set with contraction to FMA; for a set that multiplies pairs of bfloat16, these products alone.
//
// Reading order: how a part of C is computed, block by block of k; a C of a single row; how the
// work is cut into tasks. Panels and the register tile are in gemm_half_tile.h. The sum of an
// element is that of blocks along k, added one after another: it follows from the shape alone.
#include "cpu/infra/scratch.h"
#include "cpu/infra/tasks.h"
#include "cpu/matmul/gemm_half_tile.h"
#include "cpu/matmul/gemm_request.h"
#include "cpu/matmul/gemm_vector.h"

namespace tt::cpu {
namespace {

// What a task computes of C at most, with By::kMostRows: packed rows of A and sums stay in the L2
// cache together.
constexpr int64_t kMostCols = 512;

// Products along k that are summed at once.
template <class By>
int64_t half_depth(int64_t k) {
  return k == 0 ? 1 : round_up(blocks(k, blocks(k, By::kMostDepth)), 32);
}

// C[i:, j:] (rows, cols) = sums, with what C held and the bias, rounded.
template <class Stored>
void finish(const Product<Stored>& g, const float* sums, int64_t sums_row, int64_t i, int64_t j,
            int64_t rows, int64_t cols) {
  constexpr int n = lanes<float>;
  for (int64_t r = i; r < i + rows; ++r, sums += sums_row) {
    Stored* const c = g.c + r * g.c_row + j * g.c_col;
    const Stored* const bias = g.bias ? g.bias + r * g.bias_row + j * g.bias_col : nullptr;
    int64_t s = 0;
    if (!g.accumulate && !bias && g.c_col == 1) {
      for (; s + n <= cols; s += n) Whole<float>().store(c + s, load(sums + s));
    }
    for (; s < cols; s += n) {
      Vec<float> sum = load(sums + s);
      const int64_t count = smaller(n, cols - s);
      Stored line[n];
      const auto widened = [&](const Stored* from, int64_t stride) {
        return from_bits(
            Widened<Stored>::along(whole_line(from + s * stride, stride, count, line)));
      };
      if (g.accumulate) sum = widened(c, g.c_col) + sum;
      if (bias) sum += widened(bias, g.bias_col);
      store_line(c + s * g.c_col, g.c_col, sum, count);
    }
  }
}

// ---- A part of C. -------------------------------------------------------------------------------

struct Part {
  int64_t i, i_end, j, j_end;
  int64_t rows() const { return i_end - i; }
  int64_t cols() const { return j_end - j; }
};

// Entries of a panel of A, and what packing may write behind it.
template <class By>
int64_t panel_size(int64_t depth) {
  return round_up(By::kHeight * By::entries(depth) + kCols<float>, 16);
}
// All panels of B, which several parts of C read: strips of By::kCols columns for each block of k.
template <class By>
struct SharedPanels {
  uint32_t* panels = nullptr;
  bool* loses = nullptr;  // whether a panel has subnormals
  int64_t strips = 0;

  static constexpr int64_t kPanels = By::kCols / By::kWidth;  // of a strip
  static int64_t size(int64_t depth) { return By::kCols * (By::entries(depth) + 2); }
  int64_t strip_at(const Product<typename By::Half>& g, int64_t p, int64_t j) const {
    return p / g.depth * strips + j / By::kCols;
  }

  void pack(const Product<typename By::Half>& g, int64_t strip) const {
    const int64_t p = strip / strips * g.depth, j = strip % strips * By::kCols;
    const int64_t depth = smaller(g.depth, g.k - p), entries = By::entries(depth);
    uint32_t* const to = panels + strip * size(g.depth);
    const int64_t cols = smaller(By::kCols, g.n - j);
    By::pack_b(to, g.b + p * g.b_row + j * g.b_col, g.b_row, g.b_col, depth, cols, g.n - j);
    for (int64_t s = 0; s < cols; s += By::kWidth)
      loses[strip * kPanels + s / By::kWidth] =
          By::Entry::loses(to + s * entries, entries * By::width(cols - s));
  }
};

// Panels of A, some of B, and sums.
template <class By>
struct Memory {
  uint32_t *a, *b;
  float* sums;

  Memory(uint32_t* from, int64_t rows, int64_t depth)
      : a(from),
        b(a + blocks(rows, By::kHeight) * panel_size<By>(depth)),
        sums(reinterpret_cast<float*>(b + By::kCols * (By::entries(depth) + 2))) {}

  // In entries, for sums of so many columns.
  static int64_t size(int64_t rows, int64_t cols, int64_t depth) {
    return blocks(rows, By::kHeight) * panel_size<By>(depth) +
           By::kCols * (By::entries(depth) + 2) +
           round_up(rows, By::kHeight) * round_up(cols, By::kWidth);
  }
};

// The sums of a block of k, [p, p + depth), for a part of C whose sums lie `sums_row` apart: added
// to what stands there unless p is 0 or `alone`, and finished behind the last block.
template <class By>
void add_block(const Product<typename By::Half>& g, const Part& part, int64_t p, bool alone,
               const Memory<By>& memory, const SharedPanels<By>& shared, float* sums,
               int64_t sums_row) {
  using Entry = typename By::Entry;
  By by;
  const int64_t depth = smaller(g.depth, g.k - p);
  const int64_t entries = By::entries(depth), size = panel_size<By>(g.depth);
  const bool last = !alone && p + depth >= g.k;
  const bool rounds = By::kRounds && last && !g.accumulate && g.c_col == 1 &&
                      (!g.bias || (g.bias_row == 0 && g.bias_col == 1));
  bool loses = false;  // subnormals
  for (int64_t i = part.i; i < part.i_end; i += By::kHeight) {
    const int height = By::height(part.i_end - i);
    uint32_t* const panel = memory.a + (i - part.i) / By::kHeight * size;
    By::pack_a(panel, g.a + i * g.a_row + p * g.a_col, g.a_col, g.a_row, depth, g.m - i, height);
    loses = loses || Entry::loses(panel, entries * height);
  }
  for (int64_t j = part.j; j < part.j_end; j += By::kWidth) {
    const int width = By::width(part.j_end - j);
    const uint32_t* b;
    bool strip_loses;
    if (shared.panels) {
      const int64_t strip = shared.strip_at(g, p, j), within = j % By::kCols;
      b = shared.panels + strip * shared.size(g.depth) + within * entries;
      strip_loses = loses || shared.loses[strip * shared.kPanels + within / By::kWidth];
    } else {
      const int64_t within = (j - part.j) % By::kCols;
      if (within == 0)
        By::pack_b(memory.b, g.b + p * g.b_row + j * g.b_col, g.b_row, g.b_col, depth,
                   smaller(By::kCols, part.j_end - j), g.n - j);
      b = memory.b + within * entries;
      strip_loses = loses || Entry::loses(b, entries * width);
    }
    for (int64_t i = part.i; i < part.i_end; i += By::kHeight) {
      const int height = By::height(part.i_end - i);
      const uint32_t* const a = memory.a + (i - part.i) / By::kHeight * size;
      TileOut<typename By::Half> out{sums + (i - part.i) * sums_row + j - part.j, sums_row,
                                     !alone && p > 0};
      const int64_t rows = smaller(height, part.i_end - i), cols = smaller(width, part.j_end - j);
      if (rounds && !strip_loses && rows == height && cols == width) {
        out.c = g.c + i * g.c_row + j, out.c_row = g.c_row;
        if (g.bias) out.bias = g.bias + j;
      }
      by.multiply(a, b, entries, height, width, out);
      if constexpr (Entry::kGroup == 2) {
        const auto a_of = [&](int r, int64_t q) { return a[By::place(r, q, height)]; };
        if (strip_loses) Entry::add_subnormals(a_of, b, entries, height, width, out.sums, sums_row);
      }
      if (last && !out.c) finish(g, out.sums, sums_row, i, j, rows, cols);
    }
  }
}

template <class By>
void compute_part(const Product<typename By::Half>& g, const Part& part, const Memory<By>& memory,
                  const SharedPanels<By>& shared) {
  const int64_t sums_row = round_up(part.cols(), By::kWidth);
  for (int64_t p = 0; p == 0 || p < g.k; p += g.depth)
    add_block(g, part, p, false, memory, shared, memory.sums, sums_row);
}

// ---- C as a single row: C[0, j:j_end], at most kStrip elements. ---------------------------------

// The sums are those of gemm_vector.h.
template <class Stored>
void half_vector_product(const Product<Stored>& g, int64_t j, int64_t j_end) {
  const int64_t width = j_end - j;
  float sums[kStrip], total[kStrip] = {};
  for (int64_t p = 0; p < g.k; p += g.depth) {
    sum_strip(g, p, smaller(g.depth, g.k - p), j, width, sums);
    for (int64_t s = 0; s < width; ++s) total[s] += sums[s];
  }
  finish(g, total, width, 0, j, 1, width);
}

template <class Stored>
void vector_products(const MatmulArgs& gemm, bool turn, int workers) {
  const int64_t n = turn ? gemm.m : gemm.n;
  const int64_t strip = smaller(kStrip, round_up(blocks(n, 2 * workers), 64));
  const int64_t strips = blocks(n, strip);
  run_tasks(batch_size(gemm) * strips, workers, [&](int64_t task, int64_t) {
    const auto g = product_at<Stored>(gemm, block_depth<float>(gemm.k), task / strips);
    const int64_t j = task % strips * strip;
    half_vector_product(turn ? transposed(g) : g, j, smaller(n, j + strip));
  });
}

// ---- Cutting the work into tasks. Nothing here changes a bit of the result. ---------------------

// Parts of C that differ by at most one tile.
template <class By>
struct HalfGrid {
  int64_t m, n, row_parts, col_parts;

  HalfGrid(int64_t m, int64_t n, int64_t batch, int workers)
      : m(m), n(n), row_parts(blocks(m, By::kMostRows)), col_parts(blocks(n, kMostCols)) {
    while (workers > 1 && batch * size() < 2 * workers) {
      const int64_t rows = m / row_parts, cols = n / col_parts;
      if (rows >= 4 * By::kHeight && rows >= cols) {
        row_parts *= 2;
      } else if (cols >= 2 * By::kWidth) {
        col_parts *= 2;
      } else {
        break;
      }
    }
    // Few parts are as many for each worker, or some would wait for the last one.
    const int64_t others = batch * col_parts, most = blocks(blocks(m, By::kHeight), 4);
    while (row_parts < most && row_parts * others < 8 * workers &&
           row_parts * others % workers != 0) {
      ++row_parts;
    }
  }
  int64_t size() const { return row_parts * col_parts; }
  Part part(int64_t index) const {
    const auto cut = [](int64_t whole, int64_t unit, int64_t parts, int64_t at) {
      return smaller(whole, blocks(whole, unit) * at / parts * unit);
    };
    const int64_t row = index / col_parts, col = index % col_parts;
    return {cut(m, By::kHeight, row_parts, row), cut(m, By::kHeight, row_parts, row + 1),
            cut(n, By::kWidth, col_parts, col), cut(n, By::kWidth, col_parts, col + 1)};
  }
  int64_t most_rows() const {
    return smaller(m, blocks(blocks(m, By::kHeight), row_parts) * By::kHeight);
  }
  int64_t most_cols() const {
    return smaller(n, blocks(blocks(n, By::kWidth), col_parts) * By::kWidth);
  }
};

// Small C and large k: the blocks of k are tasks of their own, whose sums are added in order.
template <class By>
void split_half_product(const Product<typename By::Half>& g, int workers) {
  const int64_t count = blocks(g.k, g.depth), sums_row = round_up(g.n, By::kWidth);
  const int64_t size = round_up(g.m, By::kHeight) * sums_row;
  const int64_t per_worker = Memory<By>::size(g.m, 0, g.depth);
  const Scratch<uint32_t> scratch(workers * per_worker + count * size);
  float* const sums = reinterpret_cast<float*>(scratch.data + workers * per_worker);
  run_tasks(count, workers, [&](int64_t block, int64_t worker) {
    const int64_t p = block * g.depth;
    const Memory<By> memory(scratch.data + worker * per_worker, g.m, g.depth);
    add_block(g, {0, g.m, 0, g.n}, p, true, memory, {}, sums + block * size, sums_row);
  });
  for (int64_t block = 1; block < count; ++block) {
    for (int64_t i = 0; i < size; i += lanes<float>)
      store(sums + i, load(sums + i) + load(sums + block * size + i));
  }
  finish(g, sums, sums_row, 0, 0, g.m, g.n);
}

// Sums that products which are split along k keep at most.
constexpr double kMostSums = 1 << 24;

// Multiply-adds that make a task of several small products.
constexpr double kHalfTaskWork = 64 * 1024;

template <class By>
void half_product(const MatmulArgs& request) {
  using Stored = typename By::Half;
  const MatmulArgs gemm = folded(request);
  const int64_t batch = batch_size(gemm);
  if (gemm.m == 0 || gemm.n == 0 || batch == 0) return;
  const double work = double(gemm.m) * double(gemm.n) * double(gemm.k);
  const int workers = work * double(batch) > kParallelWork ? num_threads() : 1;
  if (gemm.m == 1 || gemm.n == 1) return vector_products<Stored>(gemm, gemm.m != 1, workers);
  const bool turn = gemm.c_col != 1 && gemm.c_row == 1;
  const int64_t depth = half_depth<By>(gemm.k);
  const auto product = [&](int64_t index) {
    const auto g = product_at<Stored>(gemm, depth, index);
    return turn ? transposed(g) : g;
  };
  const HalfGrid<By> grid(turn ? gemm.n : gemm.m, turn ? gemm.m : gemm.n, batch, workers);
  const double sums = double(gemm.m) * double(gemm.n) * double(blocks(gemm.k, depth));
  if (batch * grid.size() < workers && gemm.k > depth && sums <= kMostSums) {
    for (int64_t index = 0; index < batch; ++index) split_half_product<By>(product(index), workers);
    return;
  }
  const int64_t per_worker = Memory<By>::size(grid.most_rows(), grid.most_cols(), depth);
  const Scratch<uint32_t> scratch(workers * per_worker);
  SharedPanels<By> shared;
  const bool shares = batch == 1 && grid.row_parts > 1;
  if (shares) shared.strips = blocks(grid.n, By::kCols);
  const int64_t strips = shared.strips * blocks(gemm.k, depth);
  const Scratch<uint32_t> panels(strips * shared.size(depth));
  const Scratch<bool> losing(strips * shared.kPanels);
  shared.panels = panels.data, shared.loses = losing.data;
  run_tasks(strips, workers, [&](int64_t strip, int64_t) { shared.pack(product(0), strip); });
  const int64_t parts = batch * grid.size();
  const int64_t group = grid.size() > 1 ? 1 : 1 + int64_t(kHalfTaskWork / (work + 1));
  run_tasks(blocks(parts, group), workers, [&](int64_t task, int64_t worker) {
    const Memory<By> memory(scratch.data + worker * per_worker, grid.most_rows(), depth);
    for (int64_t at = task * group; at < smaller((task + 1) * group, parts); ++at)
      compute_part(product(at / grid.size()), grid.part(at % grid.size()), memory, shared);
  });
}

constexpr MatmulTable make_half_table() {
  MatmulTable table{};
#if defined(__AMX_BF16__) || defined(TT_TILES_EMULATED)
  table.product[static_cast<int>(DType::BFloat16)] = half_product<ByTiles>;
#elif defined(__AVX512BF16__)
  table.product[static_cast<int>(DType::BFloat16)] = half_product<ByVectors<Pair>>;
#else
  table.product[static_cast<int>(DType::BFloat16)] = half_product<ByVectors<Widened<BFloat16>>>;
  table.product[static_cast<int>(DType::Float16)] = half_product<ByVectors<Widened<Half>>>;
#endif
  return table;
}

}  // namespace

namespace TT_ISA {
extern const MatmulTable matmul_half_table = make_half_table();
}  // namespace TT_ISA

}  // namespace tt::cpu
