// Convolutions of floats as products of matrices that are never stored: a block computes a tile of
// the product (infra/tiles.h), and reads what the matrices would hold from where it lies in x, w
// and y. Large products of float32 and of halves have faster kernels (products.cu).
//
//   y or x (rows, pixels)                = (rows, taps * channels) @ (taps * channels, pixels)
//   w      (y_channels, channels * taps) = (y_channels, pixels) @ (pixels, channels * taps)
//
// Where every channel is a group of its own there is nothing to share: those have a thread per
// element of y or x, and a block per element of w. Integers are in naive.h.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/tables/conv.h"
#include "cuda/conv/channels_last.h"
#include "cuda/conv/naive.h"
#include "cuda/conv/products.h"
#include "cuda/infra/images.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"
#include "cuda/infra/tiles.h"

namespace tt::cuda {
namespace {

// ---- y or x: a part of its pixels, which see the source through the same taps -------------------

// Pixel `index` of a part, and what it sees.
struct PartPixel {
  int64_t n, at[3];

  __device__ PartPixel(const ConvPart& part, int64_t index) {
    for (int d = 2; d >= 0; --d) at[d] = next_dim(index, part.size[d]);
    n = index;
  }
  __device__ int64_t offset(const ConvSum& g, const ConvPart& part, int64_t channel) const {
    return n * g.result_batch + channel * g.result_row + part.result + at[0] * part.strides[0] +
           at[1] * part.strides[1] + at[2] * part.strides[2];
  }
  template <class T>
  __device__ Padded<SumOf<T>> seen(const ConvSum& g, const ConvTap& tap, int64_t channel) const {
    int64_t from = n * g.source_strides[0] + channel * g.source_strides[1];
    bool is_inside = true;
    for (int d = 0; d < 3; ++d) {
      const int64_t i = at[d] * g.step[d] + tap.shift[d];
      is_inside = is_inside && 0 <= i && i < g.source_size[d];
      from += i * g.source_strides[d + 2];
    }
    using Sum = SumOf<T>;
    return {is_inside ? static_cast<Sum>(static_cast<const T*>(g.source)[from]) : Sum(0),
            is_inside};
  }
};

TT_HOST_DEVICE inline int64_t pixels_of(const ConvSum& g, const ConvPart& part) {
  return g.batch * part.size[0] * part.size[1] * part.size[2];
}

// The sum of pixel's products with the weights of a channel, and the bias.
template <class T>
__device__ void finish(const ConvSum& g, int64_t channel, int64_t offset, SumOf<T> sum) {
  if (g.bias) sum += static_cast<SumOf<T>>(static_cast<const T*>(g.bias)[channel * g.bias_stride]);
  static_cast<T*>(g.result)[offset] = static_cast<T>(sum);
}

// A block per tile of the (rows, pixels) of each group.
template <class T>
__global__ void sum_of_part(const ConvSum g, const ConvPart part) {
  int64_t group = blockIdx.x;
  const int64_t pixels = pixels_of(g, part);
  const int64_t index = next_dim(group, tiles_of(pixels)) * kTile + threadIdx.x;
  const int64_t first_row = next_dim(group, tiles_of(g.rows)) * kTile;
  const int64_t row = first_row + threadIdx.y;
  const PartPixel pixel(part, index < pixels ? index : 0);
  const T* const weight = static_cast<const T*>(g.weight) + group * g.weight_group;
  using Sum = SumOf<T>;
  const Sum sum = product_of_tile<Sum>(
      part.tap_count * g.channels,
      [&](int, int64_t k) {
        const int64_t tap = k / g.channels, channel = k % g.channels;
        return row < g.rows ? static_cast<Sum>(weight[part.taps[tap].weight + row * g.weight_row +
                                                      channel * g.weight_channel])
                            : Sum(0);
      },
      [&](int64_t k, int) {
        const int64_t tap = k / g.channels, channel = group * g.channels + k % g.channels;
        return pixel.seen<T>(g, part.taps[tap], channel);
      });
  if (row >= g.rows || index >= pixels) return;
  const int64_t channel = group * g.rows + row;
  finish<T>(g, channel, pixel.offset(g, part, channel), sum);
}

// A thread per element.
template <class T>
__global__ void depthwise_part(const ConvSum g, const ConvPart part) {
  int64_t channel = thread_index();
  const int64_t index = next_dim(channel, pixels_of(g, part));
  if (channel >= g.groups) return;
  const PartPixel pixel(part, index);
  const T* const weight = static_cast<const T*>(g.weight) + channel * g.weight_group;
  SumOf<T> sum = 0;
  for (int64_t k = 0; k < part.tap_count; ++k) {
    const auto x = pixel.seen<T>(g, part.taps[k], channel);
    if (x.is_inside) sum += static_cast<SumOf<T>>(weight[part.taps[k].weight]) * x.value;
  }
  finish<T>(g, channel, pixel.offset(g, part, channel), sum);
}

// Calls run(sum, part, on_host) for each part, of which no pointer is the host's any more, and as
// the host can read it. Offsets of weights are multiplied by `weight_scale`.
template <class Run>
void for_each_part(const ConvSum& g, const Run& run, int64_t weight_scale = 1) {
  std::vector<ConvTap> taps;
  for (int64_t i = 0; i < g.part_count; ++i)
    taps.insert(taps.end(), g.parts[i].taps, g.parts[i].taps + g.parts[i].tap_count);
  for (ConvTap& tap : taps) tap.weight *= weight_scale;
  const Scratch<ConvTap> copy(taps.data(), static_cast<int64_t>(taps.size()));
  ConvSum sum = g;
  sum.parts = nullptr;
  int64_t first = 0;
  for (int64_t i = 0; i < g.part_count; ++i) {
    ConvPart part = g.parts[i], on_host = part;
    part.taps = copy.data() + first;
    on_host.taps = taps.data() + first;
    first += part.tap_count;
    run(sum, part, on_host);
  }
}

// Whether a sum is worth copies of what it reads (channels_last.h): chunks of channels, large
// tiles.
template <class T>
bool is_worth_copies(const ConvSum& g) {
  const ConvPart& part = g.parts[0];
  const Plan plan(g.rows, pixels_of(g, part), part.tap_count * g.channels, g.groups);
  return is_half_type<T> && g.channels % kChunk<T> == 0 && plan.kernel == Plan::kTiles &&
         g.source_size[0] * g.source_size[1] * g.source_size[2] <= INT32_MAX;
}

// The taps of weights that lie densely with the taps last, else 0.
int64_t dense_taps(const ConvSum& g) {
  const int64_t pairs = g.groups * g.rows * g.channels;  // of channels
  const int64_t taps = std::min(g.weight_row, g.weight_channel);
  const bool channel_first = g.weight_channel < g.weight_row;
  const int64_t other = taps * (channel_first ? g.channels : g.rows);
  const bool is_dense = g.weight_extent == pairs * taps &&
                        std::max(g.weight_row, g.weight_channel) == other &&
                        (g.groups == 1 || g.weight_group == g.rows * g.channels * taps);
  return is_dense ? taps : 0;
}

template <class T>
void sum(const ConvSum& request) {
  ConvSum all = request;
  std::optional<ChannelsLast> source, weight;
  int64_t weight_scale = 1;
  if (is_worth_copies<T>(all)) {
    if (all.source_strides[1] != 1) {
      Images images{all.source, all.batch, all.groups * all.channels, {}, {}};
      std::copy_n(all.source_size, 3, images.size);
      std::copy_n(all.source_strides, 5, images.strides);
      source.emplace(images);
      all.source = source->data();
      std::copy_n(source->strides, 5, all.source_strides);
    }
    if (const int64_t taps = dense_taps(all); taps > 1) {  // an image whose pixels are the taps
      weight_scale = all.groups * all.rows * all.channels;
      weight.emplace(Images{all.weight, 1, weight_scale, {1, 1, taps}, {0, taps, 0, 0, 1}});
      all.weight = weight->data();
      all.weight_row /= taps;
      all.weight_channel /= taps;
      all.weight_group /= taps;
    }
  }
  const auto run = [](const ConvSum& g, const ConvPart& part, const ConvPart& on_host) {
    if constexpr (!std::is_same_v<T, double>)
      if (sum_by_large_tiles<T>(g, part, on_host)) return;
    const int64_t tiles = g.groups * tiles_of(g.rows) * tiles_of(pixels_of(g, part));
    launch<sum_of_part<T>>(grid_of_tiles(tiles), g, part);
  };
  for_each_part(all, run, weight_scale);
}
template <class T>
void depthwise(const ConvSum& all) {
  for_each_part(all, [](const ConvSum& g, const ConvPart& part, const ConvPart&) {
    launch<depthwise_part<T>>(grid_of(g.groups * pixels_of(g, part)), g, part);
  });
}

// No product with what lies outside of the source is made, so that no infinite weight shows there.
bool is_finite(const ConvSum&) { return true; }

// ---- w ------------------------------------------------------------------------------------------

// Sums are over all pixels of y, of which there may be many, and tiles of w few: so the pixels are
// cut into parts, each of which has blocks of its own. How many depends on the shapes alone.
struct Cut {
  int64_t pixels, parts, tiles;

  explicit Cut(const ConvArgs& g) : pixels(g.batch * g.y_size[0] * g.y_size[1] * g.y_size[2]) {
    constexpr int64_t kFewest = 1024, kBlocks = 512;  // pixels of a part; blocks in all
    const int64_t columns = g.x_channels * g.taps[0] * g.taps[1] * g.taps[2];
    tiles = g.groups * tiles_of(g.y_channels) * tiles_of(columns);
    const int64_t most = ceil_div(pixels, kFewest), wanted = ceil_div(kBlocks, tiles);
    parts = most < wanted ? most : wanted;
  }
  __device__ int64_t first(int64_t part) const { return pixels * part / parts; }
};

// A block per tile of the (y_channels, x_channels * taps) of each group, and part of the pixels.
// sums (parts, groups * y_channels, x_channels * taps).
template <class T>
__global__ void weight_tile(const ConvArgs g, const Cut cut, SumOf<T>* const sums) {
  using Sum = SumOf<T>;
  int64_t part = blockIdx.x;
  const int64_t columns = g.x_channels * g.taps[0] * g.taps[1] * g.taps[2];
  const int64_t column = next_dim(part, tiles_of(columns)) * kTile + threadIdx.x;
  const int64_t row = next_dim(part, tiles_of(g.y_channels)) * kTile + threadIdx.y;
  const int64_t group = next_dim(part, g.groups), first = cut.first(part);
  const int64_t o = group * g.y_channels + row;
  int64_t tap[3], c = column;
  for (int d = 2; d >= 0; --d) tap[d] = next_dim(c, g.taps[d]);
  // Pixel `index` of y, and of x what it sees through the tap.
  const auto y = [&](int, int64_t index) {
    const Pixel pixel = pixel_at(first + index, 1, g.y_size, false);
    return row < g.y_channels ? static_cast<Sum>(static_cast<const T*>(
                                    g.y)[pixel.offset(g.y_strides) + o * g.y_strides[1]])
                              : Sum(0);
  };
  const auto x = [&](int64_t index, int) -> Padded<Sum> {
    Pixel pixel = pixel_at(first + index, 1, g.y_size, false);
    bool is_inside = column < columns;
    for (int d = 0; d < 3; ++d) {
      pixel.at[d] = pixel.at[d] * g.stride[d] - g.padding[d] + tap[d] * g.dilation[d];
      is_inside = is_inside && 0 <= pixel.at[d] && pixel.at[d] < g.x_size[d];
    }
    pixel.c = group * g.x_channels + c;
    const T* const data = static_cast<const T*>(g.x);
    return {is_inside ? static_cast<Sum>(data[pixel.offset(g.x_strides)]) : Sum(0), is_inside};
  };
  const Sum sum = product_of_tile<Sum>(cut.first(part + 1) - first, y, x);
  if (row < g.y_channels && column < columns)
    sums[(part * g.groups * g.y_channels + o) * columns + column] = sum;
}

// A thread per element of w adds the sums of the parts.
template <class T>
__global__ void add_parts(const ConvArgs g, const Cut cut, const SumOf<T>* const sums) {
  const Pixel to = pixel_at(thread_index(), g.x_channels, g.taps, false);  // n is its O
  if (to.n >= g.groups * g.y_channels) return;
  const int64_t numel = g.groups * g.y_channels * g.x_channels * g.taps[0] * g.taps[1] * g.taps[2];
  SumOf<T> sum = 0;
  for (int64_t part = 0; part < cut.parts; ++part) sum += sums[part * numel + thread_index()];
  static_cast<T*>(g.w)[to.offset(g.w_strides)] = static_cast<T>(sum);
}

template <class T>
void weight(const ConvArgs& request) {
  ConvArgs g = request;
  std::optional<ChannelsLast> x_last, y_last;
  const int64_t taps = g.taps[0] * g.taps[1] * g.taps[2];
  const int64_t image = g.y_size[0] * g.y_size[1] * g.y_size[2];
  const Plan plan(g.y_channels, g.x_channels * taps, g.batch * image, g.groups);
  if (is_half_type<T> && plan.kernel == Plan::kTiles &&
      g.x_size[0] * g.x_size[1] * g.x_size[2] <= INT32_MAX && image <= INT32_MAX) {
    const auto put_last = [&](auto& copy, void*& data, int64_t channels, const int64_t (&size)[3],
                              int64_t (&strides)[5]) {
      if (strides[1] == 1 || channels % kChunk<T> != 0) return;
      Images images{data, g.batch, g.groups * channels, {size[0], size[1], size[2]}, {}};
      std::copy_n(strides, 5, images.strides);
      copy.emplace(images);
      data = copy->data();
      std::copy_n(copy->strides, 5, strides);
    };
    put_last(x_last, g.x, g.x_channels, g.x_size, g.x_strides);
    if (image % kChunk<T> != 0) put_last(y_last, g.y, g.y_channels, g.y_size, g.y_strides);
  }
  if constexpr (!std::is_same_v<T, double>)
    if (weight_by_large_tiles<T>(g)) return;
  const Cut cut(g);
  const int64_t numel = g.groups * g.y_channels * g.x_channels * g.taps[0] * g.taps[1] * g.taps[2];
  const Scratch<SumOf<T>> sums(cut.parts * numel);
  launch<weight_tile<T>>(grid_of_tiles(cut.parts * cut.tiles), g, cut, sums.data());
  launch<add_parts<T>>(grid_of(numel), g, cut, sums.data());
}

// A block per element: a channel and a tap.
template <class T>
__global__ void depthwise_weight_element(const ConvSum g, const ConvPart part, T* const w) {
  int64_t channel = blockIdx.x;
  const ConvTap tap = part.taps[next_dim(channel, part.tap_count)];
  const T* const y = static_cast<const T*>(g.result);
  SumOf<T> sum = 0;
  for (int64_t i = threadIdx.x; i < pixels_of(g, part); i += kThreads) {
    const PartPixel pixel(part, i);
    const auto x = pixel.seen<T>(g, tap, channel);
    if (x.is_inside) sum += static_cast<SumOf<T>>(y[pixel.offset(g, part, channel)]) * x.value;
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) w[channel * g.weight_group + tap.weight] = static_cast<T>(sum);
}

template <class T>
void depthwise_weight(const ConvSum& all, void* w) {
  for_each_part(all, [w](const ConvSum& g, const ConvPart& part, const ConvPart&) {
    const Grid grid{g.groups * part.tap_count, kThreads};
    launch<depthwise_weight_element<T>>(grid, g, part, static_cast<T*>(w));
  });
}

template <class T>
constexpr void set_naive(ConvTable& table, DType dtype) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    table.naive[static_cast<int>(dtype)] = naive<T>;
}
template <class T>
constexpr void set_floats(ConvTable& table, int kind) {
  table.sum[kind] = sum<T>;
  table.weight[kind] = weight<T>;
  table.depthwise[kind] = depthwise<T>;
  table.depthwise_weight[kind] = depthwise_weight<T>;
  table.is_finite[kind] = is_finite;
}
constexpr ConvTable make_table() {
  ConvTable table{};
  set_floats<float>(table, 0);
  set_floats<double>(table, 1);
  set_floats<Half>(table, 2);
  set_floats<BFloat16>(table, 3);
#define X(name, type, text, category) set_naive<type>(table, DType::name);
  TT_FOR_EACH_DTYPE(X)
#undef X
  return table;
}

}  // namespace

const ConvTable conv_table = make_table();

}  // namespace tt::cuda
