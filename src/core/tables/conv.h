// What a device computes of a convolution, in one to three dims: those that are missing have
// size 1.
#pragma once
#include <cstdint>

#include "core/dtypes/dtype.h"

namespace tt {

// Three arrays, one of which is the result of the other two:
//   y[n, o, p] = sum over channels c and taps t of x[n, c, p * stride - padding + t * dilation]
//                                                  * w[o, c, t]
// for every group of channels on its own. Products that reach outside of x count as 0. Channels are
// those of one group; those of all groups follow one another in x, y and w's first dim. Strides are
// in elements.
struct ConvArgs {
  int64_t batch, groups, x_channels, y_channels;
  int64_t x_size[3], y_size[3], taps[3], stride[3], padding[3], dilation[3];
  void *x, *w, *y;
  int64_t x_strides[5], w_strides[5], y_strides[5];  // (N, C, D, H, W); w (O, C, D, H, W)
  const void* bias;                                  // by channels of the result, or null
  int64_t bias_stride;
  bool winograd;  // may be computed by minimal filtering
};

// A tap of a ConvPart: where it looks in the source, and the offset of its weights.
struct ConvTap {
  int64_t shift[3], weight;
};

// Pixels of the result that lie on a grid, and see the source through the same taps, one or more:
//   result[n, m, p] = sum over taps, channels c of source[n, c, p * step + shift] * weight[m, c]
struct ConvPart {
  int64_t size[3];             // of the grid
  int64_t result, strides[3];  // offset of its first pixel in the result
  const ConvTap* taps;
  int64_t tap_count;
  int64_t lowest_shift[3], highest_shift[3];  // of its taps
};

// y from x and w, or x from y and w, as a sum of products: parts that do not overlap. What they do
// not cover holds its value already. Seen from y every pixel has the same taps. Of x, only pixels
// that are `stride` apart do.
struct ConvSum {
  int64_t batch, groups, rows, channels;  // channels of the result and of the source, in one group
  const void *source, *weight, *bias;
  void* result;
  int64_t source_size[3], step[3];
  int64_t source_strides[5];  // (N, C, D, H, W)
  int64_t weight_group, weight_row, weight_channel;
  int64_t result_batch, result_row, bias_stride;
  int64_t source_extent, weight_extent;  // elements from the first to behind the last
  const ConvPart* parts;
  int64_t part_count;
  bool winograd;  // as in ConvArgs
};

enum class ConvResult : int { X, W, Y };

// Products of bfloat16, two of which are summed at once: source and weight, or x and y, are pairs
// of those that follow one another along channels of the source (for w along the batch), in the
// place of a float32; the results are float32. All or none.
struct ConvPairs {
  void (*sum)(const ConvSum&);
  void (*weight)(const ConvArgs&);
  // to (outer, ceil(size / 2), inner) = pairs of x (outer, size, inner), the last with a 0 if need
  // be.
  void (*interleave)(uint32_t* to, const void* x, int64_t outer, int64_t size, int64_t inner);
};

// Convolutions of bfloat16 without groups, of which the results are bfloat16, too. They answer
// false for what they are not made for, whatever is written by then: few channels, hundreds of
// taps, and values that are subnormal, infinite or NaN. Both or none.
struct ConvTiles {
  bool (*sum)(const ConvSum&);
  bool (*weight)(const ConvArgs&);
};

struct ConvTable {
  // The definition; the only one that there is for integers.
  void (*naive[kDTypes])(const ConvArgs&, ConvResult);
  // float32, float64, float16 and bfloat16: halves have all of these or none, and are then computed
  // in float32.
  static constexpr int kKinds = 4;
  void (*sum[kKinds])(const ConvSum&);      // x or y
  void (*weight[kKinds])(const ConvArgs&);  // w
  // The same for groups of one channel of x and one of y; w from the sum that gives y.
  void (*depthwise[kKinds])(const ConvSum&);
  void (*depthwise_weight[kKinds])(const ConvSum&, void* w);
  // Whether the first pixel of each part that reaches outside of the source is finite.
  bool (*is_finite[kKinds])(const ConvSum&);
  // Or sums of bfloat16 as float32, where the processor multiplies pairs; without groups.
  ConvPairs pairs;
  ConvTiles tiles;
};

}  // namespace tt
