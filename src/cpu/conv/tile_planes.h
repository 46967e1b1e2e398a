// What convolutions by tiles see of an image: planes, copied with the zeros around them.
//
// A plane has a row for every row of pixels and those that taps see besides, so that pixel p, in
// the order of the plane, sees element p + offset(tap) through each tap: 16 pixels side by side are
// 16 elements side by side. Behind a row of pixels lie some that nobody asked for. Where pixels
// are s apart in the source, there is a plane for each of the s phases that a tap has.
#pragma once
#include "cpu/conv/gather.h"
#include "cpu/matmul/gemm_half_tile.h"

namespace tt::cpu {
namespace {

constexpr int64_t kMostTileTaps = 256;
constexpr int kStep = 2 * kTile;  // what a product of tiles sums over

struct Planes {
  int64_t size[3], extent[3];  // of pixels; of a plane
  int64_t first[3], step[3];   // the source's place under element 0 of phase 0; from one to another
  const int64_t* source_size;
  int phase_count;
  int64_t phases[kMostTileTaps][3];
  int phase[kMostTileTaps];  // of a tap
  int64_t offset[kMostTileTaps];

  // Pixels of a part, of which those along `dim` are `count` at a time.
  Planes(const ConvPart& part, const int64_t* steps, const int64_t* source_size, int dim,
         int64_t count)
      : source_size(source_size), phase_count(0) {
    for (int d = 0; d < 3; ++d) {
      size[d] = d == dim ? count : part.size[d];
      step[d] = steps[d];
      first[d] = part.lowest_shift[d];
      extent[d] = size[d] + (part.highest_shift[d] - part.lowest_shift[d]) / step[d];
    }
    for (int64_t t = 0; t < part.tap_count; ++t) {
      int64_t at[3], of[3];
      for (int d = 0; d < 3; ++d) {
        const int64_t shift = part.taps[t].shift[d] - first[d];
        of[d] = shift % step[d], at[d] = shift / step[d];
      }
      offset[t] = (at[0] * extent[1] + at[1]) * extent[2] + at[2];
      phase[t] = 0;
      while (phase[t] < phase_count && std::memcmp(phases[phase[t]], of, sizeof of) != 0)
        ++phase[t];
      if (phase[t] == phase_count) std::memcpy(phases[phase_count++], of, sizeof of);
    }
  }

  int64_t plane() const { return extent[0] * extent[1] * extent[2]; }
  // Behind the last pixel.
  int64_t reach() const { return ((size[0] - 1) * extent[1] + size[1] - 1) * extent[2] + size[2]; }
};

// The pixels of a plane that are asked for, among `count` of it from `first` on: use(place, length,
// d, h, w) with places from `first` on, and length along w.
template <class Use>
void for_pixels(const Planes& planes, const int64_t* size, int64_t first, int64_t count,
                const Use& use) {
  int64_t w = first % planes.extent[2], rest = first / planes.extent[2];
  int64_t h = rest % planes.extent[1], d = rest / planes.extent[1];
  for (int64_t place = 0; place < count; w = 0) {
    const int64_t length = smaller(count - place, size[2] - w);
    if (d >= size[0]) return;
    if (length > 0 && h < size[1]) use(place, length, d, h, w);
    place += planes.extent[2] - w;
    if (++h == planes.extent[1]) h = 0, ++d;
  }
}

inline void clear(BFloat16* from, int64_t count) {
  if (count > 0)
    std::memset(static_cast<void*>(from), 0, static_cast<size_t>(count) * sizeof *from);
}

// The plane of a phase, for bands that begin `moved` elements of it behind the first; strides are
// the source's.
inline void copy_plane(BFloat16* to, const BFloat16* source, const int64_t* strides,
                       const Planes& planes, const int64_t* phase, const int64_t* moved) {
  const int64_t *extent = planes.extent, *step = planes.step;
  int64_t from[3];
  for (int d = 0; d < 3; ++d) from[d] = planes.first[d] + phase[d] + moved[d] * step[d];
  const Span span = inside_span(from[2], step[2], extent[2], planes.source_size[2]);
  const int64_t low = smaller(span.low, extent[2]), high = larger(low, span.high);
  const int64_t along = strides[2] * step[2];
  for (int64_t d = 0; d < extent[0]; ++d) {
    for (int64_t h = 0; h < extent[1]; ++h, to += extent[2]) {
      const int64_t at_d = from[0] + d * step[0], at_h = from[1] + h * step[1];
      if (!inside(at_d, planes.source_size[0]) || !inside(at_h, planes.source_size[1])) {
        clear(to, extent[2]);
        continue;
      }
      const BFloat16* const row = source + at_d * strides[0] + at_h * strides[1];
      const BFloat16* const here = row + (from[2] + low * step[2]) * strides[2];
      clear(to, low);
      if (along == 1) {
        std::memcpy(to + low, here, static_cast<size_t>(high - low) * sizeof *to);
      } else {
        for (int64_t w = low; w < high; ++w) to[w] = element(here + (w - low) * along);
      }
      clear(to + high, extent[2] - high);
    }
  }
}

// Whether one of these is subnormal, infinite or NaN: what tiles take for 0, and what makes NaN of
// the zeros around.
inline bool has_special(const BFloat16* from, int64_t count) {
  constexpr int n = lanes<uint16_t>;
  const auto* const bits = reinterpret_cast<const uint16_t*>(from);
  Vec<uint16_t> least = Vec<uint16_t>{} - 1;
  const auto see = [&](Vec<uint16_t> x) {
    x = ((x + x + 0x100) ^ 0x100) - 1;  // below 0x1ff for these; 0 becomes the largest
    least = x < least ? x : least;
  };
  int64_t i = 0;
  for (; i + n <= count; i += n) see(load(bits + i));
  if (i < count) see(load_partial(bits + i, count - i));
  for (int lane = 0; lane < n; ++lane)
    if (least[lane] < 0x1ff) return true;
  return false;
}

}  // namespace
}  // namespace tt::cpu
