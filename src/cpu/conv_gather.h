// The patches that a convolution multiplies with its weights, gathered while a panel is packed.
//
// A row of the patch matrix is a (tap, channel), numbered k = tap * channels + channel; a column is
// a pixel of the part, numbered by (n, d, h, w). Nothing of that matrix exists but the panel in
// hand. Pixels outside of the source read as 0. L is lanes<T> throughout.
#pragma once
#include "core/kernels/conv.h"
#include "cpu/gemm_tile.h"

namespace tt::cpu {
namespace {

// Pixels that follow one another along w, at places [lane, lane + length) of a strip.
struct Run {
  int64_t lane, length, n, p[3];
};

// Cuts the strip of `count` pixels from `first` on into runs; answers how many.
inline int find_runs(const int64_t* size, int64_t first, int64_t count, Run* runs) {
  int64_t w = first % size[2], rest = first / size[2];
  int64_t h = rest % size[1];
  rest /= size[1];
  int64_t d = rest % size[0], n = rest / size[0];
  int found = 0;
  for (int64_t lane = 0; lane < count;) {
    const int64_t length = smaller(count - lane, size[2] - w);
    runs[found++] = {lane, length, n, {d, h, w}};
    lane += length;
    w = 0;
    if (++h == size[1]) {
      h = 0;
      if (++d == size[0]) {
        d = 0;
        ++n;
      }
    }
  }
  return found;
}

inline bool inside(int64_t at, int64_t size) { return uint64_t(at) < uint64_t(size); }

// Of pixels at + i * step, i in [0, count), those inside of [0, size): i in [low, high).
struct Span {
  int64_t low, high;
};
inline Span inside_span(int64_t at, int64_t step, int64_t count, int64_t size) {
  if (step == 1) return {at < 0 ? -at : 0, smaller(count, size - at)};
  const int64_t left = size - at;
  return {at < 0 ? (step - 1 - at) / step : 0,
          left <= 0 ? 0 : smaller(count, (left + step - 1) / step)};
}

// What a tap sees of a run: place i in [low, high) of the strip shows source[offset + i * along],
// `along` being the distance of neighbours in the source.
struct Piece {
  int64_t offset, low, high;
};

inline int find_pieces(const ConvSum& g, const int64_t* shift, const Run* runs, int run_count,
                       Piece* pieces) {
  const int64_t* strides = g.source_strides;
  int found = 0;
  for (int i = 0; i < run_count; ++i) {
    const Run& run = runs[i];
    const int64_t d = run.p[0] * g.step[0] + shift[0], h = run.p[1] * g.step[1] + shift[1];
    if (!inside(d, g.source_size[0]) || !inside(h, g.source_size[1])) continue;
    const int64_t w = run.p[2] * g.step[2] + shift[2];
    const Span span = inside_span(w, g.step[2], run.length, g.source_size[2]);
    if (span.low >= span.high) continue;
    pieces[found++] = {run.n * strides[0] + d * strides[2] + h * strides[3] +
                           (w - run.lane * g.step[2]) * strides[4],
                       run.lane + span.low, run.lane + span.high};
  }
  return found;
}

// All bits of lanes [low, high), none of the others.
template <class T>
inline Mask<T> lanes_between(int64_t low, int64_t high) {
  Mask<T> lane{};
  for (int i = 0; i < lanes<T>; ++i) lane[i] = i;
  using Int = decltype(lane[0] + 0);
  return (lane >= static_cast<Int>(low)) & (lane < static_cast<Int>(high));
}

template <class T>
inline Vec<T> masked(Vec<T> x, Mask<T> mask) {
  return reinterpret_cast<Vec<T>>(reinterpret_cast<Mask<T>>(x) & mask);
}

template <class T>
inline Vec<T> joined(Vec<T> x, Vec<T> y) {
  return reinterpret_cast<Vec<T>>(reinterpret_cast<Mask<T>>(x) | reinterpret_cast<Mask<T>>(y));
}

// Elements 0, 2, 4, ... of 2 L.
template <class T, int... E>
inline Vec<T> even_lanes(const T* from, std::integer_sequence<int, E...>) {
  return __builtin_shufflevector(load(from), load(from + lanes<T>), (2 * E)...);
}

// L elements, `Along` apart.
template <class T, int Along>
inline Vec<T> load_along(const T* from) {
  if constexpr (Along == 1)
    return load(from);
  else
    return even_lanes<T>(from, std::make_integer_sequence<int, lanes<T>>());
}

// to[c * Width + lane] = what `Count` pieces show of channel c; `join`: and other pieces before.
template <class T, int Width, int Along, int Count>
void gather_lanes(const T* const* from, const Mask<T>* masks, int64_t channel, int64_t count,
                  bool join, T* to) {
  for (int64_t c = 0; c < count; ++c) {
    Vec<T> x = masked<T>(load_along<T, Along>(from[0] + c * channel), masks[0]);
#pragma GCC unroll 4
    for (int i = 1; i < Count; ++i) {
      x = joined<T>(x, masked<T>(load_along<T, Along>(from[i] + c * channel), masks[i]));
    }
    if (join) x = joined<T>(x, load(to + c * Width));
    store(to + c * Width, x);
  }
}

// A piece that has all lanes.
template <class T, int Width, int Along>
void gather_whole(const T* from, int64_t channel, int64_t count, T* to) {
  for (int64_t c = 0; c < count; ++c) {
    store(to + c * Width, load_along<T, Along>(from + c * channel));
  }
}

template <class T, int Width, int Along>
void gather_pieces(const T* source, const Piece* pieces, int piece_count, int64_t channel,
                   int64_t count, T* to) {
  if (piece_count == 1 && pieces[0].low == 0 && pieces[0].high == lanes<T>) {
    return gather_whole<T, Width, Along>(source + pieces[0].offset, channel, count, to);
  }
  for (int first = 0; first < piece_count; first += 4) {
    const T* from[4];
    Mask<T> masks[4];
    const int here = piece_count - first < 4 ? piece_count - first : 4;
    for (int i = 0; i < here; ++i) {
      const Piece& piece = pieces[first + i];
      from[i] = source + piece.offset;
      masks[i] = lanes_between<T>(piece.low, piece.high);
    }
    const auto gather = here == 1   ? gather_lanes<T, Width, Along, 1>
                        : here == 2 ? gather_lanes<T, Width, Along, 2>
                        : here == 3 ? gather_lanes<T, Width, Along, 3>
                                    : gather_lanes<T, Width, Along, 4>;
    gather(from, masks, channel, count, first > 0, to);
  }
}

// Channels that lie side by side: L of them are read at once, and transposed. The source ends at
// `end`.
template <class T, int Width>
void gather_side_by_side(const T* source, const T* end, const Piece* pieces, int piece_count,
                         int64_t along, int64_t count, T* to) {
  constexpr int n = lanes<T>;
  const T* from[n] = {};
  for (int i = 0; i < piece_count; ++i) {
    for (int64_t lane = pieces[i].low; lane < pieces[i].high; ++lane) {
      from[lane] = source + pieces[i].offset + lane * along;
    }
  }
  for (int64_t c = 0; c < count; c += n) {
    const int64_t here = smaller(n, count - c);
    Vec<T> block[n];
    for (int lane = 0; lane < n; ++lane) {
      const T* at = from[lane] + c;
      block[lane] = !from[lane] ? Vec<T>{} : end - at >= n ? load(at) : load_partial(at, here);
    }
    transpose<T>(block);
    for (int64_t r = 0; r < here; ++r) store(to + (c + r) * Width, block[r]);
  }
}

// L pixels of one tap, `count` channels: a vector for each. `offset` is added to the pieces'.
template <class T, int Width>
void gather_tap(const ConvSum& g, const Piece* pieces, int piece_count, int64_t offset,
                int64_t count, T* to) {
  constexpr int n = lanes<T>;
  const T* source = static_cast<const T*>(g.source) + offset;
  const int64_t channel = g.source_strides[1], along = g.step[2] * g.source_strides[4];
  if (piece_count == 0) {
    for (int64_t c = 0; c < count; ++c) store(to + c * Width, Vec<T>{});
    return;
  }
  bool readable = along == 1 || along == 2;
  for (int i = 0; i < piece_count; ++i) {
    const int64_t first = pieces[i].offset + offset;
    readable =
        readable && first >= 0 && first + (count - 1) * channel + n * along <= g.source_extent;
  }
  if (readable) {
    const auto gather = along == 1 ? gather_pieces<T, Width, 1> : gather_pieces<T, Width, 2>;
    gather(source, pieces, piece_count, channel, count, to);
  } else if (channel == 1) {
    const T* end = static_cast<const T*>(g.source) + g.source_extent;
    gather_side_by_side<T, Width>(source, end, pieces, piece_count, along, count, to);
  } else {
    for (int64_t c = 0; c < count; ++c) {
      store(to + c * Width, Vec<T>{});
      for (int i = 0; i < piece_count; ++i) {
        const T* from = source + pieces[i].offset + c * channel;
        for (int64_t lane = pieces[i].low; lane < pieces[i].high; ++lane) {
          to[c * Width + lane] = element(from + lane * along);
        }
      }
    }
  }
}

// Calls visit(tap, first channel, channels, place) for every tap that has rows in [k, k + depth) of
// the patch matrix; `place` counts from k.
template <class Visit>
void for_each_tap(int64_t channels, int64_t k, int64_t depth, const Visit& visit) {
  for (int64_t place = 0; place < depth;) {
    const int64_t tap = (k + place) / channels, first = (k + place) % channels;
    const int64_t count = smaller(channels - first, depth - place);
    visit(tap, first, count, place);
    place += count;
  }
}

// L pixels of a part. Where no tap reaches outside of the source, pieces are found once for all.
template <class T>
struct GatherStrip {
  Run runs[lanes<T>];
  int run_count;
  Piece pieces[lanes<T> < 4 ? 4 : lanes<T>];  // without the tap's offset
  int piece_count;
  bool interior;
};

template <class T>
GatherStrip<T> make_strip(const ConvSum& g, const ConvPart& part, int64_t first, int64_t count) {
  GatherStrip<T> strip;
  strip.run_count = count > 0 ? find_runs(part.size, first, count, strip.runs) : 0;
  strip.interior = true;
  for (int r = 0; r < strip.run_count && strip.interior; ++r) {
    const Run& run = strip.runs[r];
    for (int d = 0; d < 3; ++d) {
      const int64_t low = run.p[d] * g.step[d] + part.lowest_shift[d];
      const int64_t steps = d == 2 ? run.length - 1 : 0;
      const int64_t high = (run.p[d] + steps) * g.step[d] + part.highest_shift[d];
      strip.interior = strip.interior && low >= 0 && high < g.source_size[d];
    }
  }
  strip.piece_count = 0;
  if (strip.interior) {
    for (int r = 0; r < strip.run_count; ++r) {
      const Run& run = strip.runs[r];
      const int64_t* strides = g.source_strides;
      strip.pieces[strip.piece_count++] = {run.n * strides[0] + run.p[0] * g.step[0] * strides[2] +
                                               run.p[1] * g.step[1] * strides[3] +
                                               (run.p[2] - run.lane) * g.step[2] * strides[4],
                                           run.lane, run.lane + run.length};
    }
  }
  return strip;
}

// All taps of an interior strip of `Count` pieces, which need no further test.
template <class T, int Width, int Along, int Count>
void gather_interior(const ConvSum& g, const ConvPart& part, const GatherStrip<T>& strip,
                     int64_t first_channel, int64_t k, int64_t depth, T* panel) {
  const T* from[Count];
  Mask<T> masks[Count];
  for (int i = 0; i < Count; ++i) {
    from[i] = static_cast<const T*>(g.source) + strip.pieces[i].offset;
    masks[i] = lanes_between<T>(strip.pieces[i].low, strip.pieces[i].high);
  }
  const int64_t stride = g.source_strides[1];
  for_each_tap(g.channels, k, depth, [&](int64_t tap, int64_t channel, int64_t count, int64_t at) {
    const int64_t offset = part.taps[tap].offset + (first_channel + channel) * stride;
    T* to = panel + at * Width;
    for (int64_t c = 0; c < count; ++c) {
      Vec<T> x{};
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i) {
        x = joined<T>(x, masked<T>(load_along<T, Along>(from[i] + offset + c * stride), masks[i]));
      }
      store(to + c * Width, x);
    }
  });
}

// Answers false where a strip is not like that.
template <class T, int Width>
bool try_interior(const ConvSum& g, const ConvPart& part, const GatherStrip<T>& strip,
                  int64_t first_channel, int64_t k, int64_t depth, T* panel) {
  const int64_t along = g.step[2] * g.source_strides[4], count = strip.piece_count;
  if (!strip.interior || along != 1 || count < 1 || count > 3) return false;
  // Channels of the group, and taps, lie between these.
  int64_t low = first_channel * g.source_strides[1];
  int64_t high = (first_channel + g.channels - 1) * g.source_strides[1] + lanes<T>;
  for (int d = 0; d < 3; ++d) {
    low += part.lowest_shift[d] * g.source_strides[d + 2];
    high += part.highest_shift[d] * g.source_strides[d + 2];
  }
  for (int i = 0; i < count; ++i) {
    const int64_t offset = strip.pieces[i].offset;
    if (offset + low < 0 || offset + high > g.source_extent) return false;
  }
  const auto gather = count == 1   ? gather_interior<T, Width, 1, 1>
                      : count == 2 ? gather_interior<T, Width, 1, 2>
                                   : gather_interior<T, Width, 1, 3>;
  gather(g, part, strip, first_channel, k, depth, panel);
  return true;
}

// Pixels as columns: rows [k, k + depth) of the patch matrix, columns [j, j + kCols).
template <class T>
void gather_columns(const ConvSum& g, const ConvPart& part, int64_t first_channel, int64_t j,
                    int64_t columns, int64_t k, int64_t depth, T* panel) {
  constexpr int n = lanes<T>;
  for (int v = 0; v < 2; ++v) {
    const GatherStrip<T> strip = make_strip<T>(g, part, j + v * n, smaller(n, columns - v * n));
    if (try_interior<T, kCols<T>>(g, part, strip, first_channel, k, depth, panel + v * n)) continue;
    for_each_tap(
        g.channels, k, depth, [&](int64_t tap, int64_t channel, int64_t count, int64_t at) {
          const int64_t offset = (first_channel + channel) * g.source_strides[1];
          Piece pieces[n];
          const int found =
              find_pieces(g, part.taps[tap].shift, strip.runs, strip.run_count, pieces);
          gather_tap<T, kCols<T>>(g, pieces, found, offset, count, panel + at * kCols<T> + v * n);
        });
  }
}

// A row of the panels that gather_rows makes: what it writes too much goes behind.
constexpr int64_t kPanelRow = kDepth + 16;

// Elements `stride` apart, side by side. Whole vectors are written; `readable` elements are there.
template <class T>
inline void copy_channels(T* to, const T* from, int64_t stride, int64_t count, int64_t readable) {
  int64_t c = 0;
  if (stride == 1) {
    for (; c < count && c + lanes<T> <= readable; c += lanes<T>) store(to + c, load(from + c));
  }
  for (; c < count; ++c) to[c] = element(from + c * stride);
}

// Rows of the patch matrix that are neighbours in the source, from `offset` on, too.
struct Segment {
  int64_t offset, place, count;
};
constexpr int kMostSegments = int(kDepth);

// Cuts rows [k, k + depth) into segments: a tap's channels, or where channels lie side by side
// those of taps that do; answers how many.
inline int find_segments(const ConvSum& g, const ConvPart& part, int64_t first_channel, int64_t k,
                         int64_t depth, Segment* segments) {
  int found = 0;
  for_each_tap(g.channels, k, depth, [&](int64_t tap, int64_t channel, int64_t count, int64_t at) {
    const int64_t offset = part.taps[tap].offset + (first_channel + channel) * g.source_strides[1];
    if (found > 0 && g.source_strides[1] == 1) {
      Segment& before = segments[found - 1];
      if (before.offset + before.count == offset) {
        before.count += count;
        return;
      }
    }
    segments[found++] = {offset, at, count};
  });
  return found;
}

inline bool sees_inside(const ConvSum& g, const ConvPart& part, const int64_t* p) {
  for (int d = 0; d < 3; ++d) {
    if (p[d] * g.step[d] + part.lowest_shift[d] < 0 ||
        p[d] * g.step[d] + part.highest_shift[d] >= g.source_size[d]) {
      return false;
    }
  }
  return true;
}

// Pixels as rows: panel[i * kPanelRow + q] = row k + q of column j + i, for i < count.
template <class T>
void gather_rows(const ConvSum& g, const ConvPart& part, int64_t first_channel, int64_t j,
                 int64_t count, int64_t k, int64_t depth, const Segment* segments,
                 int segment_count, T* panel) {
  static_assert(lanes<T> <= kPanelRow - kDepth);
  const T* source = static_cast<const T*>(g.source);
  const int64_t* strides = g.source_strides;
  Run runs[kRows];
  const int run_count = find_runs(part.size, j, count, runs);
  for (int r = 0; r < run_count; ++r) {
    const Run& run = runs[r];
    for (int64_t i = 0; i < run.length; ++i) {
      const int64_t p[] = {run.p[0], run.p[1], run.p[2] + i};
      T* row = panel + (run.lane + i) * kPanelRow;
      const int64_t pixel = run.n * strides[0] + p[0] * g.step[0] * strides[2] +
                            p[1] * g.step[1] * strides[3] + p[2] * g.step[2] * strides[4];
      if (sees_inside(g, part, p)) {
        for (int s = 0; s < segment_count; ++s) {
          const int64_t from = pixel + segments[s].offset;
          copy_channels(row + segments[s].place, source + from, strides[1], segments[s].count,
                        g.source_extent - from);
        }
        continue;
      }
      for_each_tap(
          g.channels, k, depth, [&](int64_t tap, int64_t channel, int64_t size, int64_t at) {
            const int64_t* shift = part.taps[tap].shift;
            bool seen = true;
            for (int d = 0; d < 3; ++d) {
              seen = seen && inside(p[d] * g.step[d] + shift[d], g.source_size[d]);
            }
            if (seen) {
              const int64_t from =
                  pixel + part.taps[tap].offset + (first_channel + channel) * strides[1];
              copy_channels(row + at, source + from, strides[1], size, g.source_extent - from);
            } else {
              for (int64_t c = 0; c < size; c += lanes<T>) store(row + at + c, Vec<T>{});
            }
          });
    }
  }
}

}  // namespace
}  // namespace tt::cpu
