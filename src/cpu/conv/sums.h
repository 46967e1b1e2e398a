// The product of a block of pixels and the weights: its operands, and where its tiles go.
#pragma once
#include "cpu/conv/pack.h"

namespace tt::cpu {
namespace {

constexpr int kMostStretches = 32;  // of a tile: as many as pixels
static_assert(kCols<float> <= kMostStretches && kRows <= kMostStretches);

// Where a product goes: rows [i, i_end) of a group's result, pixels [j, j_end) of a part.
struct Block {
  int64_t group, i, i_end, j, j_end;
};

template <class T>
struct Sums {
  const ConvSum& g;
  const ConvPart& part;
  Weights<T> weights;  // of this group; without panels: there is but one tile of pixels
  int64_t group;

  T* result(int64_t row) const {
    return static_cast<T*>(g.result) + part.result + (group * g.rows + row) * g.result_row;
  }
  // With row 0 added.
  T bias(int64_t row) const {
    return element(static_cast<const T*>(g.bias) + (group * g.rows + row) * g.bias_stride);
  }
};

// Panels of the rows of `at` in block b of the sum, if they are not packed yet.
template <class T>
void pack_own(const Sums<T>& s, const Block& at, int64_t b) {
  if (!s.weights.each) return;
  for (int64_t i = at.i; i < at.i_end; i += s.weights.width()) {
    pack_panel(s.g, s.part, s.weights, s.group, b, i);
  }
}

// Pixels that follow one another in the result, from `offset` on, at places [lane, lane + length)
// of a tile.
struct Stretch {
  int64_t lane, length, offset;
};

// Whether an image's pixels follow one another in the result, too.
inline bool is_flat(const ConvPart& part) {
  const int64_t *size = part.size, *strides = part.strides;
  return (size[2] == 1 || strides[2] == 1) && (size[1] == 1 || strides[1] == size[2]) &&
         (size[0] == 1 || strides[0] == size[1] * size[2]);
}

// From one pixel of a stretch to the next.
inline int64_t pixel_step(const ConvPart& part) { return is_flat(part) ? 1 : part.strides[2]; }

// Cuts `count` pixels from j on into stretches; answers how many.
inline int find_stretches(const ConvSum& g, const ConvPart& part, int64_t j, int64_t count,
                          Stretch* stretches) {
  const int64_t *size = part.size, *strides = part.strides;
  const int64_t whole[] = {1, 1, pixels_of(part)};
  Run runs[kMostStretches];
  const int found = find_runs(is_flat(part) ? whole : size, j, count, runs);
  for (int i = 0; i < found; ++i) {
    const Run& run = runs[i];
    stretches[i] = {run.lane, run.length,
                    run.n * g.result_batch + run.p[0] * strides[0] + run.p[1] * strides[1] +
                        run.p[2] * pixel_step(part)};
  }
  return found;
}

}  // namespace
}  // namespace tt::cpu
