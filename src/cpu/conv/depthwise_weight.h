// The gradient of the weights of convolutions whose channels do not mix, from the strips and bands
// of depthwise.h: lane i sums the pixels i of strips, by band, image and strip; then lanes are
// added one after another.
#pragma once
#include "cpu/conv/depthwise.h"

namespace tt::cpu {
namespace {

// ---- Vectors of pixels. ------------------------------------------------------------------------

// sums (taps) += the products of an image's channel, lane by lane.
template <class T, int Along>
void plane_weight(const ConvSum& g, const Band<T>& band, int64_t count, const T* source,
                  const T* result, Vec<T>* sums) {
  const int64_t along = g.step[2] * g.source_strides[4];
  for (int64_t s = 0; s < count; ++s) {
    const Strip<T>& strip = band.strip[s];
    Vec<T> y{};
    if (strip.in_order) {
      y = load(result + strip.places[0]);
    } else {
      for (int64_t i = 0; i < strip.count; ++i) y[i] = element(result + strip.places[i]);
    }
    for (int64_t i = strip.first; i < strip.end; ++i) {
      const TapPiece& at = band.pieces[i];
      add_piece<T, Along>(sums[at.tap], y, source, at.piece, along);
    }
  }
}

// ---- Vectors of channels. ----------------------------------------------------------------------

// Where a pixel's channels are in y; in x, without the shift of a tap; and as bits, which of the
// taps in hand see x.
struct SeenPixel {
  int64_t y, x, taps;
};

constexpr int kTapsInHand = 9;  // taps whose sums are in registers at a time

// Describes the pixels of the strips of a band, L for each, as taps [tap, tap + count) see them.
template <class T>
void see_pixels(const Band<T>& band, int64_t strips, int64_t tap, int64_t count,
                const int64_t* offsets, int64_t along, SeenPixel* pixels) {
  for (int64_t s = 0; s < strips; ++s, pixels += lanes<T>) {
    const Strip<T>& strip = band.strip[s];
    for (int lane = 0; lane < lanes<T>; ++lane) {
      pixels[lane] = {lane < strip.count ? strip.places[lane] : 0, 0, 0};
    }
    for (int64_t i = strip.first; i < strip.end; ++i) {
      const Piece& piece = band.pieces[i].piece;
      const int64_t at = band.pieces[i].tap - tap;
      if (at < 0 || at >= count) continue;
      for (int64_t lane = piece.low; lane < piece.high; ++lane) {
        pixels[lane].x = piece.offset + lane * along - offsets[at];
        pixels[lane].taps |= int64_t{1} << at;
      }
    }
  }
}

// sums (taps, L pixels, L channels) of one of the pixels += its products in all strips.
template <class T, int Taps, bool Whole>
void add_products_of_pixels(const SeenPixel* pixels, int64_t strips, const T* x, const T* y,
                            const int64_t* offsets, int64_t width, Vec<T>* sums) {
  constexpr int n = lanes<T>;
  int64_t at[Taps];
  Vec<T> sum[Taps];
#pragma GCC unroll 16
  for (int t = 0; t < Taps; ++t) {
    at[t] = offsets[t];
    sum[t] = sums[t * n];
  }
  for (int64_t s = 0; s < strips; ++s, pixels += n) {
    if (pixels->taps == 0) continue;
    const T* from = x + pixels->x;
    const Vec<T> of_y = load_channels<T, Whole>(y + pixels->y, width);
#pragma GCC unroll 16
    for (int t = 0; t < Taps; ++t) {
      if (pixels->taps >> t & 1) sum[t] += of_y * load_channels<T, Whole>(from + at[t], width);
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < Taps; ++t) sums[t * n] = sum[t];
}

// sums (vectors of channels, all taps, lanes) += the products of channels with `Taps` taps, from
// the first of those in hand on.
template <class T, int Taps>
void pixels_weight(const SeenPixel* pixels, int64_t strips, const T* x, const T* y,
                   const int64_t* offsets, int64_t all_taps, int64_t width, Vec<T>* sums) {
  constexpr int n = lanes<T>;
  for (int64_t c = 0; c < width; c += n) {
    const auto add = width - c >= n ? add_products_of_pixels<T, Taps, true>
                                    : add_products_of_pixels<T, Taps, false>;
    for (int lane = 0; lane < n; ++lane) {
      add(pixels + lane, strips, x + c, y + c, offsets, width - c, sums + c * all_taps + lane);
    }
  }
}

// ---- All channels of all images. ---------------------------------------------------------------

// The gradient of w, from the sum that gives y: one part with all taps.
template <class T>
void depthwise_weight(const ConvSum& g, void* result) {
  constexpr int n = lanes<T>;
  T* w = static_cast<T*>(result);
  const ConvPart& part = g.parts[0];
  const int workers = workers_for(g);
  const bool many = g.groups >= 2 * n * workers;
  const int64_t unit = smaller(many ? 2 * n : n, channel_unit<T>(g));
  const int64_t units = blocks(g.groups, unit);
  const int64_t taps = part.tap_count, sums_size = taps * unit;
  const int64_t tasks = smaller(units, workers == 1 ? 1 : 4 * workers);
  const int64_t most = blocks(units, tasks), along = g.step[2] * g.source_strides[4];
  const int64_t band_size = band_bytes(make_band<T>(part));
  const int64_t sums_bytes = most * sums_size * int64_t(sizeof(Vec<T>));
  const int64_t bytes = band_size + sums_bytes + kBandStrips * n * int64_t(sizeof(SeenPixel));
  const Scratch<char> memory(workers * bytes);
  run_tasks(tasks, workers, [&](int64_t task, int64_t worker) {
    const int64_t begin = units * task / tasks, end = units * (task + 1) / tasks;
    const T *x = static_cast<const T*>(g.source), *y = static_cast<const T*>(g.result);
    char* own = memory.data + worker * bytes;
    Band<T> band = make_band<T>(part, own);
    Vec<T>* all_sums = reinterpret_cast<Vec<T>*>(own + band_size);
    SeenPixel* pixels = reinterpret_cast<SeenPixel*>(own + band_size + sums_bytes);
    for (int64_t i = 0; i < (end - begin) * sums_size; ++i) all_sums[i] = Vec<T>{};
    for (int64_t first = 0; first < blocks(pixels_of(part), n); first += band.strips) {
      const int64_t count = fill_band(band, g, part, first);
      int64_t offsets[kTapsInHand];
      for (int64_t tap = 0, taken = taps; tap < taps; tap += taken) {
        decltype(&pixels_weight<T, 1>) add_pixels = nullptr;
        if (unit > 1) {
          add_pixels = choose_height<kTapsInHand, 5, 3, 1>(taps - tap, &taken, [](auto count) {
            return pixels_weight<T, decltype(count)::value>;
          });
          for (int64_t t = 0; t < taken; ++t) {
            const int64_t* shift = part.taps[tap + t].shift;
            offsets[t] = shift[0] * g.source_strides[2] + shift[1] * g.source_strides[3] +
                         shift[2] * g.source_strides[4];
          }
          see_pixels(band, count, tap, taken, offsets, along, pixels);
        }
        // Images before channels: where those are side by side, they share pages of memory.
        for (int64_t i = 0; i < g.batch * (end - begin); ++i) {
          const int64_t image = unit > 1 ? i / (end - begin) : i % g.batch;
          const int64_t own_unit = unit > 1 ? i % (end - begin) : i / g.batch;
          const int64_t c = (begin + own_unit) * unit;
          const int64_t offset = image * g.source_strides[0] + c * g.source_strides[1];
          const T *own_x = x + offset, *own_y = y + image * g.result_batch + c * g.result_row;
          Vec<T>* sums = all_sums + own_unit * sums_size;
          if (unit > 1) {
            add_pixels(pixels, count, own_x, own_y, offsets, taps, smaller(unit, g.groups - c),
                       sums + tap * n);
            continue;
          }
          const int place = loadable(g, band, offset);
          const auto compute = place == 1   ? plane_weight<T, 1>
                               : place == 2 ? plane_weight<T, 2>
                                            : plane_weight<T, 0>;
          compute(g, band, count, own_x, own_y, sums);
        }
      }
    }
    for (int64_t at = begin; at < end; ++at) {
      const Vec<T>* sums = all_sums + (at - begin) * sums_size;
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t i = 0; i < smaller(unit, g.groups - at * unit); ++i) {
          T total = 0;
          for (int lane = 0; lane < n; ++lane) {
            total += unit > 1 ? sums[(i / n * taps + tap) * n + lane][i % n] : sums[tap][lane];
          }
          w[(at * unit + i) * g.weight_group + part.taps[tap].weight] = total;
        }
      }
    }
  });
}

}  // namespace
}  // namespace tt::cpu
