// Pixels as columns of a product: panels gathered from a window, or from the source itself where
// every tap's view of L pixels is a few vectors of which some lanes count.
#pragma once
#include "cpu/conv/window.h"

namespace tt::cpu {
namespace {

template <class T>
inline Mask<T> mask_of(int64_t bits) {
  Mask<T> lane{};
  using Int = decltype(lane[0] + 0);
  for (int i = 0; i < lanes<T>; ++i) lane[i] = Int{1} << i;
  return (lane & static_cast<Int>(bits)) != 0;
}

// Lanes, as bits, that show source[offset + lane * along].
struct LanePiece {
  int64_t offset, lanes;
};

// Adds a piece, to the last one if it is the same vector; answers how many there are.
inline int add_piece(LanePiece* pieces, int count, const Piece& piece) {
  const int64_t lanes = (int64_t{1} << piece.high) - (int64_t{1} << piece.low);
  if (count > 0 && pieces[count - 1].offset == piece.offset) {
    pieces[count - 1].lanes |= lanes;
    return count;
  }
  pieces[count] = {piece.offset, lanes};
  return count + 1;
}

constexpr int kMostPieces = 4;  // that vectors are joined from

// ---- Strips of a window.

// L pixels of a part, as pieces of the window.
template <class T>
struct ColumnStrip {
  int64_t places[lanes<T>];  // of pixels, without a tap
  int64_t lowest, highest;   // of what whole vectors would read
  int count, piece_count;
  LanePiece pieces[lanes<T>];
};

template <class T>
ColumnStrip<T> make_strip(const ConvSum& g, const ConvPart& part, const Window<T>& window,
                          int64_t first, int64_t count) {
  ColumnStrip<T> strip;
  strip.count = count > 0 ? int(count) : 0;
  strip.piece_count = 0;
  strip.lowest = strip.highest = 0;
  const int64_t along = g.step[2] * window.strides[2];
  Run runs[lanes<T>];
  const int run_count = find_runs(part.size, first, strip.count, runs);
  for (int r = 0; r < run_count; ++r) {
    const Run& run = runs[r];
    const int64_t place = window.offset(run);
    for (int64_t i = 0; i < run.length; ++i) strip.places[run.lane + i] = place + i * along;
    const Piece piece = {place - run.lane * along, run.lane, run.lane + run.length};
    strip.piece_count = add_piece(strip.pieces, strip.piece_count, piece);
    const int64_t end = piece.offset + lanes<T> * along;
    if (r == 0 || piece.offset < strip.lowest) strip.lowest = piece.offset;
    if (r == 0 || end > strip.highest) strip.highest = end;
  }
  return strip;
}

// Whether its pixels are L neighbours of the window.
template <class T>
bool is_whole(const ColumnStrip<T>& strip) {
  return strip.count == lanes<T> && strip.piece_count == 1;
}

// to[k * kCols + lane] for `depth` rows of the patch matrix, from up to four pieces.
template <class T, int Along, int Count>
void gather_pieces(const T* source, const LanePiece* pieces, const int64_t* offsets, int64_t depth,
                   T* to) {
  const T* from[Count];
  Mask<T> masks[Count];
  for (int i = 0; i < Count; ++i) {
    from[i] = source + pieces[i].offset;
    masks[i] = mask_of<T>(pieces[i].lanes);
  }
  for (int64_t k = 0; k < depth; ++k) {
    Vec<T> x = masked<T>(load_along<T, Along>(from[0] + offsets[k]), masks[0]);
#pragma GCC unroll 4
    for (int i = 1; i < Count; ++i) {
      x = joined<T>(x, masked<T>(load_along<T, Along>(from[i] + offsets[k]), masks[i]));
    }
    store(to + k * kCols<T>, x);
  }
}

// The same from any number of them, `along` (1 or 2) elements from lane to lane.
template <class T>
void gather_vectors(const T* source, const LanePiece* pieces, int count, int64_t along,
                    const int64_t* offsets, int64_t depth, T* to) {
  using Gather = void (*)(const T*, const LanePiece*, const int64_t*, int64_t, T*);
  static constexpr Gather gather[2][kMostPieces] = {
      {gather_pieces<T, 1, 1>, gather_pieces<T, 1, 2>, gather_pieces<T, 1, 3>,
       gather_pieces<T, 1, 4>},
      {gather_pieces<T, 2, 1>, gather_pieces<T, 2, 2>, gather_pieces<T, 2, 3>,
       gather_pieces<T, 2, 4>}};
  gather[along - 1][count - 1](source, pieces, offsets, depth, to);
}

// `readable`: whole vectors are.
template <class T>
void gather_strip(const T* source, const ColumnStrip<T>& strip, int64_t along, bool readable,
                  const int64_t* offsets, int64_t depth, T* to) {
  if (strip.count == 0) {
    for (int64_t k = 0; k < depth; ++k) store(to + k * kCols<T>, Vec<T>{});
  } else if (readable && strip.piece_count <= kMostPieces && (along == 1 || along == 2)) {
    gather_vectors(source, strip.pieces, strip.piece_count, along, offsets, depth, to);
  } else {
    for (int64_t k = 0; k < depth; ++k) {
      Vec<T> x{};
      for (int i = 0; i < strip.count; ++i) x[i] = element(source + strip.places[i] + offsets[k]);
      store(to + k * kCols<T>, x);
    }
  }
}

// ---- Views of the source.

// What each tap of a part shows of each strip of a block: pieces [ends[i - 1], ends[i]) for
// i = strip * taps + tap.
constexpr int kMostViews = 1024;
struct Views {
  LanePiece pieces[kMostViews * kMostPieces];
  int ends[kMostViews];
};

// Answers whether there are views. Of few channels they cost more than they save, and channels of
// a page or more keep to the same few sets of the L1 cache: of those a window is better.
template <class T>
bool find_views(const ConvSum& g, const ConvPart& part, int64_t j, int64_t j_end, Views& views) {
  constexpr int64_t n = lanes<T>;
  const bool whole_strips = part.size[2] % n == 0 && g.step[2] == 1;
  if (g.source_strides[4] != 1 || g.step[2] > 2 || g.channels < 16 || whole_strips ||
      g.source_strides[1] * int64_t(sizeof(T)) >= 4096 ||
      blocks(j_end - j, n) * part.tap_count > kMostViews) {
    return false;
  }
  int found = 0;
  int64_t view = 0;
  for (; j < j_end; j += n) {
    Run runs[n];
    const int run_count = find_runs(part.size, j, smaller(n, j_end - j), runs);
    for (int64_t tap = 0; tap < part.tap_count; ++tap) {
      Piece seen[n];
      const int count = find_pieces(g, part.taps[tap].shift, runs, run_count, seen);
      LanePiece pieces[n];
      int joined = 0;
      for (int i = 0; i < count; ++i) joined = add_piece(pieces, joined, seen[i]);
      if (joined > kMostPieces) return false;
      for (int i = 0; i < joined; ++i) views.pieces[found++] = pieces[i];
      views.ends[view++] = found;
    }
  }
  return true;
}

// The panels of strips [first, first + count), two in each, from the first channel of a block on.
template <class T>
void gather_views(const ConvSum& g, const Views& views, int64_t taps, const SumBlock& block,
                  int64_t first_channel, int64_t first, int64_t count, int64_t strips,
                  const int64_t* offsets, T* panels) {
  const int64_t start = first_channel * g.source_strides[1], along = g.step[2];
  const T* source = static_cast<const T*>(g.source) + start;
  for (int64_t v = first; v < first + count; ++v) {
    T* to = panels + (v - first) / 2 * kCols<T> * block.depth() + (v - first) % 2 * lanes<T>;
    for (int64_t t = 0; t < block.taps; ++t, to += block.channels * kCols<T>) {
      const int64_t view = v * taps + block.tap + t;
      const int begin = view > 0 && v < strips ? views.ends[view - 1] : 0;
      const int pieces = v < strips ? views.ends[view] - begin : 0;
      if (pieces == 0) {
        for (int64_t c = 0; c < block.channels; ++c) store(to + c * kCols<T>, Vec<T>{});
        continue;
      }
      int64_t lowest = views.pieces[begin].offset, highest = lowest;
      for (int i = 1; i < pieces; ++i) {
        const int64_t offset = views.pieces[begin + i].offset;
        if (offset < lowest) lowest = offset;
        if (offset > highest) highest = offset;
      }
      highest += offsets[block.channels - 1] + lanes<T> * along;
      if (start + lowest >= 0 && start + highest <= g.source_extent) {
        gather_vectors(source, views.pieces + begin, pieces, along, offsets, block.channels, to);
        continue;
      }
      for (int64_t c = 0; c < block.channels; ++c) {
        Vec<T> x{};
        for (int i = begin; i < begin + pieces; ++i) {
          for (int lane = 0; lane < lanes<T>; ++lane) {
            if (views.pieces[i].lanes >> lane & 1) {
              x[lane] = element(source + views.pieces[i].offset + lane * along + offsets[c]);
            }
          }
        }
        store(to + c * kCols<T>, x);
      }
    }
  }
}

}  // namespace
}  // namespace tt::cpu
