// Convolutions as products of large tiles: of float32 on CUDA cores (infra/blocked.h), of halves on
// tensor cores (infra/tensor_tiles.h). What the factors are: factors.h.
//
// Where y sees nothing of x a product is with 0. With an infinite weight that is no number, where
// there should be nothing: a block that has met one computes its elements again by the definition.
#include "cuda/conv/factors.h"
#include "cuda/conv/products.h"
#include "cuda/infra/blocked.h"
#include "cuda/infra/images.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/plan.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tensor_tiles.h"

namespace tt::cuda {
namespace {

template <class T, int kSize, bool kADeep, bool kBDeep>
struct TileOf {
  using type = TensorTile<T, kSize, kADeep, kBDeep>;
};
template <int kSize, bool kADeep, bool kBDeep>
struct TileOf<float, kSize, kADeep, kBDeep> {
  using type = BlockedTile<kSize>;
};

// Calls run(size, a_deep, b_deep) with these as types of constants. On CUDA cores tiles lie one
// way.
template <class T, class Run>
void with_tile(int size, bool a_deep, bool b_deep, const Run& run) {
  const auto by_depth = [&](auto size) {
    if constexpr (std::is_same_v<T, float>)
      return run(size, std::false_type{}, std::false_type{});
    else if (a_deep)
      b_deep ? run(size, std::true_type{}, std::true_type{})
             : run(size, std::true_type{}, std::false_type{});
    else
      b_deep ? run(size, std::false_type{}, std::true_type{})
             : run(size, std::false_type{}, std::false_type{});
  };
  if (size == 128)
    by_depth(std::integral_constant<int, 128>{});
  else
    by_depth(std::integral_constant<int, 64>{});
}

constexpr int64_t kMost = INT32_MAX;  // that a Divisor divides

bool are_multiples(const int64_t* strides, int count, int64_t of) {
  for (int d = 0; d < count; ++d)
    if (strides[d] % of != 0) return false;
  return true;
}

// ---- y or x -------------------------------------------------------------------------------------

template <class T>
__device__ float exact_sum(const PartSum& g, const WeightFactor<T>& weights,
                           const PixelFactor<T>& pixels, int64_t row, int64_t pixel) {
  const auto weight_line = weights.line(row);
  const auto pixel_line = pixels.line(pixel);
  float sum = 0;
  for (int64_t k = 0; k < g.depth; ++k)
    if (const T* const from = pixels.at(pixel_line, k))
      sum += static_cast<float>(*weights.at(weight_line, k)) * static_cast<float>(*from);
  return sum;
}

// The offset of a pixel in the result.
__device__ int64_t result_offset(const PartSum& g, int64_t pixel) {
  int n = static_cast<int>(pixel);
  int64_t offset = g.part.result;
  for (int d = 2; d >= 0; --d) offset += g.size[d].next_dim(n) * g.part.strides[d];
  return offset + n * g.sum.result_batch;
}

// Where the sums of a group's tile go.
template <class T>
struct PixelSums {
  const PartSum& g;
  int64_t group;
  int* is_wrong;  // perhaps

  __device__ T* place(int64_t row, int64_t pixel) const {
    return static_cast<T*>(g.sum.result) + (group * g.sum.rows + row) * g.sum.result_row +
           result_offset(g, pixel);
  }
  __device__ T finish(int64_t row, float sum) const {
    const T* const bias = static_cast<const T*>(g.sum.bias);
    if (bias) sum += static_cast<float>(bias[(group * g.sum.rows + row) * g.sum.bias_stride]);
    return T(sum);
  }
  __device__ bool has(int64_t row, int64_t pixel) const {
    return row < g.sum.rows && pixel < g.pixels;
  }
  __device__ auto operator()(int64_t pixel) const {
    T* const first = place(0, pixel < g.pixels ? pixel : 0);
    return [this, pixel, first](int64_t row, float sum) {
      if (!has(row, pixel)) return;
      if (sum != sum) *is_wrong = 1;
      first[row * g.sum.result_row] = finish(row, sum);
    };
  }
  template <int kRun>
  __device__ bool takes_runs() const {
    return g.run % kRun == 0;
  }
  template <int kRun>
  __device__ void put(int64_t row, int64_t pixel, const float (&sums)[kRun]) const {
    if (!has(row, pixel)) return;
    Run<T, kRun> run;
    TT_UNROLL
    for (int i = 0; i < kRun; ++i) {
      if (sums[i] != sums[i]) *is_wrong = 1;
      run.of[i] = finish(row, sums[i]);
    }
    *reinterpret_cast<Run<T, kRun>*>(place(row, pixel)) = run;
  }
};

// How many pixels of the result lie side by side, and aligned: 1, 2 or 4.
int run_of(const ConvSum& g, const ConvPart& part, int64_t item) {
  const int64_t (&size)[3] = part.size, (&strides)[3] = part.strides;
  const bool is_dense = strides[1] == size[2] && strides[0] == size[2] * size[1];
  for (const int run : {4, 2}) {
    const int64_t address = reinterpret_cast<int64_t>(g.result) + part.result * item;
    const bool in_rows = size[2] % run == 0 && are_multiples(strides, 2, run);
    const bool in_images = is_dense && size[0] * size[1] * size[2] % run == 0;
    if (strides[2] == 1 && (in_rows || in_images) && g.result_row % run == 0 &&
        g.result_batch % run == 0 && address % (run * item) == 0)
      return run;
  }
  return 1;
}

// A block per tile of the (rows, pixels) of each group.
template <class T, int kSize, bool kADeep, bool kBDeep>
__global__ void __launch_bounds__(kThreads, 2) sum_of_tile(const PartSum g) {
  int64_t group = blockIdx.x;
  const int64_t first_row = next_dim(group, (g.sum.rows + kSize - 1) / kSize) * kSize;
  const int64_t first_pixel = next_dim(group, (g.pixels + kSize - 1) / kSize) * kSize;
  const WeightFactor<T> weights(g, group);
  const PixelFactor<T> pixels(g, group);
  int is_wrong = 0;
  const PixelSums<T> sums{g, group, &is_wrong};
  TileOf<T, kSize, kADeep, kBDeep>::type::multiply(weights, pixels, first_row, first_pixel, 0,
                                                   g.depth, sums);
  if (!max_of_block(is_wrong)) return;
  for (int i = threadIdx.x; i < kSize * kSize; i += kThreads) {
    const int64_t row = first_row + i / kSize, pixel = first_pixel + i % kSize;
    if (sums.has(row, pixel))
      *sums.place(row, pixel) = sums.finish(row, exact_sum(g, weights, pixels, row, pixel));
  }
}

// ---- w ------------------------------------------------------------------------------------------

// Where the sums of a tile go: to (y_channels, taps * x_channels).
struct WeightSums {
  int64_t rows, columns;
  float* to;

  __device__ auto operator()(int64_t column) const {
    return [this, column](int64_t row, float sum) {
      if (row < rows && column < columns) to[row * columns + column] = sum;
    };
  }
  template <int kRun>
  __device__ bool takes_runs() const {
    return columns % kRun == 0;  // memory for a call is aligned
  }
  template <int kRun>
  __device__ void put(int64_t row, int64_t column, const float (&sums)[kRun]) const {
    if (row < rows && column < columns) store_run(to + row * columns + column, sums);
  }
};

// A block per tile of the (y_channels, taps * x_channels) of each group, and split of the pixels.
// sums (splits, groups * y_channels, taps * x_channels).
template <class T, int kSize, bool kADeep, bool kBDeep>
__global__ void __launch_bounds__(kThreads, 2)
    weight_of_tile(const WeightSum g, int64_t split_depth, float* const sums) {
  int64_t split = blockIdx.x;
  const int64_t first_row = next_dim(split, (g.args.y_channels + kSize - 1) / kSize) * kSize;
  const int64_t first_column = next_dim(split, (g.columns + kSize - 1) / kSize) * kSize;
  const int64_t group = next_dim(split, g.args.groups), begin = split * split_depth;
  float* const to = sums + (split * g.args.groups + group) * g.args.y_channels * int64_t{g.columns};
  TileOf<T, kSize, kADeep, kBDeep>::type::multiply(
      GradFactor<T>(g, group), SeenFactor<T>(g, group), first_row, first_column, begin,
      at_most(begin + split_depth, g.pixels), WeightSums{g.args.y_channels, g.columns, to});
}

// A thread per element of w adds the sums of the splits.
template <class T>
__global__ void add_splits(const ConvArgs g, int64_t splits, const float* const sums) {
  const Pixel to = pixel_at(thread_index(), g.x_channels, g.taps, true);  // n is its O
  if (to.n >= g.groups * g.y_channels) return;
  const int64_t numel = g.groups * g.y_channels * g.x_channels * g.taps[0] * g.taps[1] * g.taps[2];
  float sum = 0;
  for (int64_t split = 0; split < splits; ++split) sum += sums[split * numel + thread_index()];
  static_cast<T*>(g.w)[to.offset(g.w_strides)] = T(sum);
}

}  // namespace

template <class T>
bool sum_by_large_tiles(const ConvSum& g, const ConvPart& part, const ConvPart& on_host) {
  const int64_t depth = part.tap_count * g.channels;
  const int64_t pixels = g.batch * part.size[0] * part.size[1] * part.size[2];
  const Plan plan(g.rows, pixels, depth, g.groups);
  if (plan.kernel != Plan::kTiles || depth > kMost || pixels > kMost) return false;
  constexpr int kOf = kChunk<T>;
  const bool is_deep = g.weight_channel <= g.weight_row;
  bool weight_chunks =
      is_deep ? g.weight_channel == 1 && g.channels % kOf == 0 && g.weight_row % kOf == 0
              : g.weight_row == 1 && g.weight_channel % kOf == 0;
  for (int64_t i = 0; i < on_host.tap_count; ++i)
    weight_chunks = weight_chunks && on_host.taps[i].weight % kOf == 0;
  const bool source_chunks = g.source_strides[1] == 1 && g.channels % kOf == 0 &&
                             are_multiples(g.source_strides + 2, 3, kOf) &&
                             g.source_strides[0] % kOf == 0;
  const PartSum all{g,
                    part,
                    static_cast<int>(depth),
                    static_cast<int>(pixels),
                    Divisor(g.channels),
                    {Divisor(part.size[0]), Divisor(part.size[1]), Divisor(part.size[2])},
                    weight_chunks,
                    source_chunks,
                    run_of(g, part, sizeof(T))};
  const int64_t tiles = g.groups * ceil_div(g.rows, plan.size) * ceil_div(pixels, plan.size);
  with_tile<T>(plan.size, is_deep, source_chunks, [&](auto size, auto a_deep, auto b_deep) {
    using Tile = typename TileOf<T, size(), a_deep(), b_deep()>::type;
    const Grid grid{tiles, kThreads, Tile::kSharedBytes};
    launch<sum_of_tile<T, size(), a_deep(), b_deep()>>(grid, all);
  });
  return true;
}

template <class T>
bool weight_by_large_tiles(const ConvArgs& g) {
  const int64_t taps = g.taps[0] * g.taps[1] * g.taps[2], columns = g.x_channels * taps;
  const int64_t image = g.y_size[0] * g.y_size[1] * g.y_size[2], pixels = g.batch * image;
  const Plan plan(g.y_channels, columns, pixels, g.groups);
  if (plan.kernel != Plan::kTiles || columns > kMost || pixels > kMost) return false;
  constexpr int kOf = kChunk<T>;
  const bool y_last = g.y_strides[1] == 1;
  const bool is_dense = g.y_strides[4] == 1 && g.y_strides[3] == g.y_size[2] &&
                        g.y_strides[2] == g.y_size[2] * g.y_size[1];
  const bool y_chunks = y_last ? are_multiples(g.y_strides + 2, 3, kOf) && g.y_strides[0] % kOf == 0
                               : is_dense && image % kOf == 0 && are_multiples(g.y_strides, 2, kOf);
  const bool x_chunks = g.x_strides[1] == 1 && g.x_channels % kOf == 0 &&
                        are_multiples(g.x_strides + 2, 3, kOf) && g.x_strides[0] % kOf == 0;
  const WeightSum all{g,
                      static_cast<int>(pixels),
                      static_cast<int>(columns),
                      {Divisor(g.y_size[0]), Divisor(g.y_size[1]), Divisor(g.y_size[2])},
                      Divisor(g.x_channels),
                      {Divisor(g.taps[0]), Divisor(g.taps[1]), Divisor(g.taps[2])},
                      x_chunks,
                      y_chunks};
  const int64_t numel = g.groups * g.y_channels * columns;
  const int64_t tiles = g.groups * ceil_div(g.y_channels, plan.size) * ceil_div(columns, plan.size);
  const Scratch<float> sums(plan.splits * numel);
  with_tile<T>(plan.size, !y_last, false, [&](auto size, auto a_deep, auto b_deep) {
    if constexpr (!b_deep()) {
      using Tile = typename TileOf<T, size(), a_deep(), false>::type;
      const Grid grid{plan.splits * tiles, kThreads, Tile::kSharedBytes};
      launch<weight_of_tile<T, size(), a_deep(), false>>(grid, all, plan.split_depth, sums.data());
    }
  });
  launch<add_splits<T>>(grid_of(numel), g, plan.splits, sums.data());
  return true;
}

template bool sum_by_large_tiles<float>(const ConvSum&, const ConvPart&, const ConvPart&);
template bool sum_by_large_tiles<Half>(const ConvSum&, const ConvPart&, const ConvPart&);
template bool sum_by_large_tiles<BFloat16>(const ConvSum&, const ConvPart&, const ConvPart&);
template bool weight_by_large_tiles<float>(const ConvArgs&);
template bool weight_by_large_tiles<Half>(const ConvArgs&);
template bool weight_by_large_tiles<BFloat16>(const ConvArgs&);

}  // namespace tt::cuda
