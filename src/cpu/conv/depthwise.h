// Convolutions whose channels do not mix: every group has one channel of x and one of y.
//
// No product of matrices is in them, only multiply-adds of vectors: of L pixels of a channel, or,
// where channels lie side by side in memory, of L channels of a pixel. Both see the pixels of an
// image as strips of L, and a table of what each tap shows of each strip serves all channels of all
// images. It is made for a band of strips at a time. L is lanes<T> throughout. Groups of four or
// eight channels side by side are computed in the same way, a channel of each group at a time.
// Sums over taps are in their order. The gradient of w is in depthwise_weight.h.
#pragma once
#include "cpu/conv/window.h"
#include "cpu/infra/scratch.h"
#include "cpu/infra/tasks.h"

namespace tt::cpu {
namespace {

struct TapPiece {
  Piece piece;
  int64_t tap;
};

template <class T>
struct Strip {
  int64_t first, end;        // its pieces in the table
  int64_t count;             // its pixels
  int64_t places[lanes<T>];  // where they are in an image of the result
  bool in_order;             // one after another
};

template <class T>
struct Band {
  int64_t strips, most_pieces;
  Strip<T>* strip;
  TapPiece* pieces;
  int64_t lowest, highest;  // offsets of the first and the last element that pieces show
};

constexpr int64_t kBandPieces = 2048, kBandStrips = 64;

template <class T>
int64_t strip_bytes(const Band<T>& band) {
  return round_up(band.strips * int64_t(sizeof(Strip<T>)), 64);
}
template <class T>
int64_t band_bytes(const Band<T>& band) {
  return strip_bytes(band) +
         round_up(band.strips * band.most_pieces * int64_t(sizeof(TapPiece)), 64);
}

// An empty band, in memory of band_bytes.
template <class T>
Band<T> make_band(const ConvPart& part, char* memory = nullptr) {
  const int64_t runs = smaller(lanes<T>, 2 + lanes<T> / part.size[2]);
  Band<T> band{};
  band.most_pieces = 1 + part.tap_count * runs;  // of a strip
  band.strips = smaller(kBandStrips, 1 + kBandPieces / band.most_pieces);
  band.strips = smaller(band.strips, blocks(pixels_of(part), lanes<T>));
  if (memory) {
    band.strip = reinterpret_cast<Strip<T>*>(memory);
    band.pieces = reinterpret_cast<TapPiece*>(memory + strip_bytes(band));
  }
  return band;
}

// Describes the strips from `first` on; answers how many there are.
template <class T>
int64_t fill_band(Band<T>& band, const ConvSum& g, const ConvPart& part, int64_t first) {
  constexpr int n = lanes<T>;
  const int64_t pixels = pixels_of(part), along = g.step[2] * g.source_strides[4];
  const int64_t count = smaller(band.strips, blocks(pixels, n) - first);
  int64_t next = 0;
  band.lowest = band.highest = 0;
  for (int64_t s = 0; s < count; ++s) {
    Strip<T>& strip = band.strip[s];
    const int64_t begin = (first + s) * n;
    Run runs[n];
    strip.count = smaller(n, pixels - begin);
    const int run_count = find_runs(part.size, begin, strip.count, runs);
    for (int r = 0; r < run_count; ++r) {
      const Run& run = runs[r];
      for (int64_t i = 0; i < run.length; ++i) {
        strip.places[run.lane + i] = part.result + run.p[0] * part.strides[0] +
                                     run.p[1] * part.strides[1] + (run.p[2] + i) * part.strides[2];
      }
    }
    strip.in_order = strip.count == n;
    for (int64_t i = 1; i < strip.count; ++i) {
      strip.in_order = strip.in_order && strip.places[i] == strip.places[0] + i;
    }
    strip.first = next;
    for (int64_t tap = 0; tap < part.tap_count; ++tap) {
      Piece pieces[n];
      const int found = find_pieces(g, part.taps[tap].shift, runs, run_count, pieces);
      for (int i = 0; i < found; ++i) {
        const Piece& piece = pieces[i];
        band.pieces[next++] = {piece, tap};
        const int64_t low = piece.offset, high = piece.offset + n * along;
        if (low < band.lowest) band.lowest = low;
        if (high > band.highest) band.highest = high;
      }
    }
    strip.end = next;
  }
  return count;
}

// ---- Vectors of pixels: one channel of one image at a time. -------------------------------------

// sum += factor times the source in the lanes of a piece. In the others both are 0: a factor may be
// infinite or NaN. `Along` is 0 where lanes must be read one by one.
template <class T, int Along>
inline void add_piece(Vec<T>& sum, Vec<T> factor, const T* source, const Piece& piece,
                      int64_t along) {
  constexpr int n = lanes<T>;
  Vec<T> x;
  if constexpr (Along == 0) {
    T lane[n] = {};
    for (int64_t i = piece.low; i < piece.high; ++i)
      lane[i] = element(source + piece.offset + i * along);
    x = load(lane);
  } else {
    x = load_along<T, Along>(source + piece.offset);
  }
  if (piece.low > 0 || piece.high < n) {
    const Mask<T> mask = lanes_between<T>(piece.low, piece.high);
    x = masked<T>(x, mask);
    factor = masked<T>(factor, mask);
  }
  sum += factor * x;
}

template <class T, int Along>
void plane_result(const ConvSum& g, const Band<T>& band, int64_t count, const T* source,
                  const T* weights, T bias, T* result) {
  const int64_t along = g.step[2] * g.source_strides[4];
  for (int64_t s = 0; s < count; ++s) {
    const Strip<T>& strip = band.strip[s];
    Vec<T> sum{};
    for (int64_t i = strip.first; i < strip.end; ++i) {
      const TapPiece& at = band.pieces[i];
      add_piece<T, Along>(sum, splat(weights[at.tap]), source, at.piece, along);
    }
    sum += bias;
    if (strip.in_order) {
      store(result + strip.places[0], sum);
    } else {
      for (int64_t i = 0; i < strip.count; ++i) result[strip.places[i]] = sum[i];
    }
  }
}

// The distance of pixels if whole vectors may be loaded, else 0. `offset`: of the plane.
template <class T>
int loadable(const ConvSum& g, const Band<T>& band, int64_t offset) {
  const int64_t along = g.step[2] * g.source_strides[4];
  const bool inside = offset + band.lowest >= 0 && offset + band.highest <= g.source_extent;
  return inside && (along == 1 || along == 2) ? int(along) : 0;
}

// ---- Vectors of channels: `width` channels side by side, the last vector perhaps not full.
// -------

template <class T, bool Whole>
inline Vec<T> load_channels(const T* from, int64_t width) {
  if constexpr (Whole)
    return load(from);
  else
    return load_partial(from, width);
}

// sum += the products of a pixel's channels with those of a group's channels C, C + 1, ...
template <class T, int Group, int C = 0>
inline void add_group(Vec<T>& sum, const T* weight, int64_t row, const Vec<T>& x) {
  sum +=
      load(weight + C * row) * spread<T, Group, C>(x, std::make_integer_sequence<int, lanes<T>>());
  if constexpr (C + 1 < Group) add_group<T, Group, C + 1>(sum, weight, row, x);
}

// `Count` vectors of channels of one pixel of a strip, with weights (taps, Group, `row`) of the
// same.
template <class T, int Group, int Count, bool Whole>
inline void pixel_result(const Band<T>& band, const Strip<T>& strip, int64_t lane, const T* source,
                         int64_t along, const T* weights, int64_t row, const T* bias, int64_t width,
                         T* result) {
  constexpr int n = lanes<T>;
  Vec<T> sums[Count] = {};
  for (int64_t i = strip.first; i < strip.end; ++i) {
    const Piece& piece = band.pieces[i].piece;
    if (lane < piece.low || lane >= piece.high) continue;
    const T* from = source + piece.offset + lane * along;
    const T* weight = weights + band.pieces[i].tap * Group * row;
#pragma GCC unroll 8
    for (int v = 0; v < Count; ++v) {
      add_group<T, Group>(sums[v], weight + v * n, row,
                          load_channels<T, Whole>(from + v * n, width));
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < Count; ++v) {
    const Vec<T> x = sums[v] + load(bias + v * n);
    Whole ? store(result + v * n, x) : store_partial(result + v * n, x, width);
  }
}

// Pixel by pixel, so that memory is read and written in its order.
template <class T, int Group>
void pixels_result(const ConvSum& g, const Band<T>& band, int64_t count, const T* source,
                   const T* weights, int64_t row, const T* bias, int64_t width, T* result) {
  constexpr int n = lanes<T>;
  const int64_t along = g.step[2] * g.source_strides[4];
  for (int64_t s = 0; s < count; ++s) {
    const Strip<T>& strip = band.strip[s];
    for (int64_t lane = 0; lane < strip.count; ++lane) {
      for (int64_t c = 0, taken; c < width; c += taken * n) {
        const int64_t left = width - c;
        taken = left >= 8 * n ? 8 : left >= 4 * n ? 4 : left >= 2 * n ? 2 : 1;
        const auto compute = taken == 8   ? pixel_result<T, Group, 8, true>
                             : taken == 4 ? pixel_result<T, Group, 4, true>
                             : taken == 2 ? pixel_result<T, Group, 2, true>
                             : left >= n  ? pixel_result<T, Group, 1, true>
                                          : pixel_result<T, Group, 1, false>;
        compute(band, strip, lane, source + c, along, weights + c, row, bias + c, left,
                result + strip.places[lane] + c);
      }
    }
  }
}

// ---- All channels of all images. ----------------------------------------------------------------

// Channels are taken one by one, or where they lie side by side, some vectors at a time.
template <class T>
int64_t channel_unit(const ConvSum& g) {
  const bool side_by_side = g.source_strides[1] == 1 && g.result_row == 1;
  return side_by_side ? smaller(8 * lanes<T>, round_up(g.groups * g.rows, lanes<T>)) : 1;
}

// Weights (taps, Group, unit) of a unit of channels from `first` on.
template <class T, int Group>
void gather_weights(const ConvSum& g, const ConvPart& part, int64_t first, int64_t count,
                    int64_t unit, T* to) {
  const T* weight = static_cast<const T*>(g.weight) + first / Group * g.weight_group;
  for (int64_t tap = 0; tap < part.tap_count; ++tap) {
    for (int64_t c = 0; c < Group; ++c, to += unit) {
      const T* from = weight + part.taps[tap].weight + c * g.weight_channel;
      for (int64_t i = 0; i < unit; ++i) {
        to[i] = i < count ? element(from + i / Group * g.weight_group + i % Group * g.weight_row)
                          : T(0);
      }
    }
  }
}

// Units [begin, end) of the channels of images, in one part.
template <class T, int Group>
void depthwise_part(const ConvSum& g, const ConvPart& part, int64_t begin, int64_t end,
                    char* scratch) {
  const int64_t channels = g.groups * Group;
  const int64_t unit = channel_unit<T>(g), units = blocks(channels, unit);
  const T* source = static_cast<const T*>(g.source);
  const T* bias = static_cast<const T*>(g.bias);
  Band<T> band = make_band<T>(part, scratch);
  T* weights = reinterpret_cast<T*>(scratch + band_bytes(band));
  T* more = weights + part.tap_count * Group * unit;
  for (int64_t first = 0; first < blocks(pixels_of(part), lanes<T>); first += band.strips) {
    const int64_t count = fill_band(band, g, part, first);
    for (int64_t at = begin; at < end; ++at) {
      const int64_t n = at / units, c = at % units * unit, width = smaller(unit, channels - c);
      const int64_t offset = n * g.source_strides[0] + c * g.source_strides[1];
      T* result = static_cast<T*>(g.result) + n * g.result_batch + c * g.result_row;
      gather_weights<T, Group>(g, part, c, width, unit, weights);
      for (int64_t i = 0; i < unit; ++i)
        more[i] = bias && i < width ? element(bias + (c + i) * g.bias_stride) : T(0);
      if (Group > 1 || unit > 1) {
        pixels_result<T, Group>(g, band, count, source + offset, weights, unit, more, width,
                                result);
        continue;
      }
      const int along = loadable(g, band, offset);
      const auto compute = along == 1   ? plane_result<T, 1>
                           : along == 2 ? plane_result<T, 2>
                                        : plane_result<T, 0>;
      compute(g, band, count, source + offset, weights, *more, result);
    }
  }
}

template <class T, int Group = 1>
void depthwise(const ConvSum& g) {
  const int workers = workers_for(g);
  int64_t bytes = 64;
  for (int64_t i = 0; i < g.part_count; ++i) {
    const int64_t size = band_bytes(make_band<T>(g.parts[i])) + (g.parts[i].tap_count * Group + 1) *
                                                                    channel_unit<T>(g) *
                                                                    int64_t(sizeof(T));
    if (size > bytes) bytes = size;
  }
  bytes = round_up(bytes, 64);
  const int64_t units = g.batch * blocks(g.groups * Group, channel_unit<T>(g));
  const int64_t tasks = smaller(units, workers == 1 ? 1 : 4 * workers);
  const Scratch<char> memory(workers * bytes);
  run_tasks(tasks, workers, [&](int64_t task, int64_t worker) {
    for (int64_t i = 0; i < g.part_count; ++i) {
      depthwise_part<T, Group>(g, g.parts[i], units * task / tasks, units * (task + 1) / tasks,
                               memory.data + worker * bytes);
    }
  });
}

// Whether a convolution of groups of 4 or 8 channels is computed like one of channels that do not
// mix: where a vector holds whole groups of channels, and the order of the sum is the same.
template <class T>
bool is_mixed_in_vectors(const ConvSum& g) {
  if (g.groups == 1 || g.rows != g.channels || (g.rows != 4 && g.rows != 8) ||
      lanes<T> % g.rows != 0 || g.source_strides[1] != 1 || g.result_row != 1) {
    return false;
  }
  for (int64_t i = 0; i < g.part_count; ++i) {
    if (order_of<T>(g, g.parts[i]).size() > 1) return false;
  }
  return true;
}

template <class T>
void mixed_in_vectors(const ConvSum& g) {
  if constexpr (lanes<T> >= 8) {
    if (g.rows == 8) return depthwise<T, 8>(g);
  }
  if constexpr (lanes<T> >= 4) depthwise<T, 4>(g);
}

}  // namespace
}  // namespace tt::cpu
