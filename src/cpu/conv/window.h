// What a block of pixels sees of the source of a convolution, and the panels gathered from it.
//
// A row of the patch matrix is a (tap, channel), a column is a pixel of the part, numbered by
// (n, d, h, w). Nothing of that matrix exists but the panels in hand, whose elements are read from
// a window: the source itself if no tap reaches outside of it, else a copy with zeros around, made
// for some channels at a time. L is lanes<T> throughout.
#pragma once
#include "cpu/conv/gather.h"
#include "cpu/infra/tasks.h"

namespace tt::cpu {
namespace {

constexpr int64_t kMostPixels = 512;           // of a block
constexpr int64_t kWindow = int64_t{1} << 18;  // elements of a window, if a channel has not more

// Elements of a channel in the windows of a part, at most.
inline int64_t most_of_channel(const ConvSum& g, const ConvPart& part) {
  const int64_t* size = part.size;
  int64_t more[3];
  for (int d = 0; d < 3; ++d) more[d] = part.highest_shift[d] - part.lowest_shift[d] + 1;
  const int64_t images = smaller(g.batch, kMostPixels / pixels_of(part) + 2);
  const int64_t columns = (size[2] - 1) * g.step[2] + more[2];
  if (size[0] > 1) {
    const int64_t planes = smaller(images * size[0], kMostPixels / (size[1] * size[2]) + 2);
    return (planes * g.step[0] + images * more[0]) * ((size[1] - 1) * g.step[1] + more[1]) *
           columns;
  }
  const int64_t rows = smaller(images * size[1], kMostPixels / size[2] + 2);
  return (rows * g.step[1] + images * more[1]) * more[0] * columns;
}

// ---- The order of the sum: blocks of (tap, channel), tap by tap inside of a block. It follows
// from shapes alone, and for products is that of matmul/gemm.cpp.

struct SumBlock {
  int64_t channel, channels, tap, taps;
  int64_t depth() const { return channels * taps; }
};

struct SumOrder {
  int64_t channels, taps, channel_step, tap_step;
  int64_t tap_blocks() const { return blocks(taps, tap_step); }
  int64_t size() const { return blocks(channels, channel_step) * tap_blocks(); }
  int64_t depth() const { return channel_step * tap_step; }  // of the deepest block
  SumBlock at(int64_t index) const {
    const int64_t channel = index / tap_blocks() * channel_step;
    const int64_t tap = index % tap_blocks() * tap_step;
    return {channel, smaller(channel_step, channels - channel), tap, smaller(tap_step, taps - tap)};
  }
};

// Whether every pixel sees itself alone, through one tap, and images have more than one.
inline bool is_product(const ConvSum& g) {
  if (g.part_count != 1 || g.parts[0].tap_count != 1 || g.groups > 1) return false;
  const ConvPart& part = g.parts[0];
  for (int d = 0; d < 3; ++d) {
    if (g.step[d] > 1 || part.taps[0].shift[d] != 0 || part.size[d] != g.source_size[d]) {
      return false;
    }
  }
  return pixels_of(part) > 1;
}

template <class T>
SumOrder order_of(const ConvSum& g, const ConvPart& part) {
  if (is_product(g)) return {g.channels, 1, smaller(g.channels, block_depth<T>(g.channels)), 1};
  SumOrder order = {g.channels, part.tap_count, 1, smaller(part.tap_count, kDepth)};
  int64_t most = smaller(kDepth / order.tap_step, kWindow / most_of_channel(g, part));
  if (most < 1) most = 1;
  order.channel_step = blocks(g.channels, blocks(g.channels, most));
  if (round_up(order.channel_step, 8) <= most) {
    order.channel_step = round_up(order.channel_step, 8);
  }
  return order;
}

// ---- Windows.

// Elements side by side, in ascending order: up to L too many are written, none is read at `end` or
// behind.
template <class T>
inline void copy_elements(T* to, const T* from, int64_t count, const T* end) {
  for (int64_t i = 0; i < count; i += lanes<T>) {
    const bool whole = end - from >= i + lanes<T>;
    store(to + i, whole ? load(from + i) : load_partial(from + i, smaller(lanes<T>, count - i)));
  }
}

template <class T>
inline void clear_elements(T* to, int64_t count) {
  for (int64_t i = 0; i < count; i += lanes<T>) store(to + i, Vec<T>{});
}

// The rows of an image that a block sees: [d, d_end) and [h, h_end), in the source's coordinates.
struct Slab {
  int64_t first_row, d, d_end, h, h_end;  // first_row: in the window
};

// Pixels [j, j_end) of a part. Element (n, d, h, w) of channel c, in the source's coordinates, is
// at channels(...)[offset(n, d, h, w) + c * channel].
template <class T>
class Window {
 public:
  int64_t channel, strides[3];

  struct Form {
    bool last;    // channels are next to each other
    bool copied;  // in any case, so that whole vectors may be read everywhere
  };

  // A copy goes to `memory`, of `size_of` elements.
  Window(const ConvSum& g, const ConvPart& part, Form form, int64_t j, int64_t j_end, T* memory)
      : g_(g), memory_(memory + kSlack), last_(form.last), flat_(part.size[0] == 1) {
    const int64_t image = pixels_of(part);
    first_image_ = j / image;
    copied_ = form.copied ||
              (last_ ? g.source_strides[1] != 1 : g.source_strides[4] != 1 && part.size[2] > 1);
    for (int d = 0; d < 3; ++d) {
      copied_ = copied_ || part.lowest_shift[d] < 0 ||
                (part.size[d] - 1) * g.step[d] + part.highest_shift[d] >= g.source_size[d];
    }
    if (!copied_) {
      channel = g.source_strides[1];
      for (int d = 0; d < 3; ++d) strides[d] = g.source_strides[d + 2];
      return;
    }
    low_ = part.lowest_shift[2];
    columns_ = (part.size[2] - 1) * g.step[2] + part.highest_shift[2] - low_ + 1;
    slab_count_ = 0;
    rows_ = 0;
    for (int64_t n = first_image_; n * image < j_end; ++n) {
      const int64_t first = n * image < j ? j - n * image : 0;
      const int64_t end = smaller(j_end - n * image, image);
      add_slab(part, first / part.size[2], (end - 1) / part.size[2],
               j_end <= (first_image_ + 1) * image);
    }
    set_strides(0);
  }

  static int64_t size_of(const ConvSum& g, const ConvPart& part, int64_t channels) {
    return channels * (most_of_channel(g, part) + lanes<T>)+2 * kSlack;
  }

  int64_t offset(int64_t n, int64_t d, int64_t h, int64_t w) const {
    const int64_t within = d * strides[0] + h * strides[1] + w * strides[2];
    if (!copied_) return n * g_.source_strides[0] + within;
    const Slab& slab = slabs_[n - first_image_];
    return slab.first_row * row() - slab.d * strides[0] - slab.h * strides[1] - low_ * strides[2] +
           within;
  }

  // Where the first pixel of a run looks, without a tap.
  int64_t offset(const Run& run) const {
    return offset(run.n, run.p[0] * g_.step[0], run.p[1] * g_.step[1], run.p[2] * g_.step[2]);
  }

  // Elements from `first` to `last` of channels(...) may be read.
  bool readable(int64_t first, int64_t last, int64_t from_channel) const {
    if (copied_) return true;
    const int64_t start = from_channel * channel;
    return start + first >= 0 && start + last < g_.source_extent;
  }

  // Behind the last element that may be read.
  const T* end() const {
    return copied_ ? memory_ + rows_ * row() + kSlack
                   : static_cast<const T*>(g_.source) + g_.source_extent;
  }

  // Channels [first, first + count) of all groups.
  const T* channels(int64_t first, int64_t count) {
    const T* source = static_cast<const T*>(g_.source) + first * g_.source_strides[1];
    if (!copied_) return source;
    set_strides(count);
    const int64_t inside_low = low_ < 0 ? smaller(-low_, columns_) : 0;
    const int64_t inside_high = smaller(columns_, g_.source_size[2] - low_);
    for (int i = 0; i < slab_count_; ++i) {
      const Slab& slab = slabs_[i];
      const int64_t d_count = slab.d_end - slab.d, h_count = slab.h_end - slab.h;
      T* to = memory_ + slab.first_row * row();
      for (int64_t at = 0; at < d_count * h_count; ++at, to += row()) {
        const int64_t d = slab.d + (flat_ ? at % d_count : at / h_count);
        const int64_t h = slab.h + (flat_ ? at / d_count : at % h_count);
        const bool seen = inside(d, g_.source_size[0]) && inside(h, g_.source_size[1]) &&
                          inside_low < inside_high;
        const int64_t from = (first_image_ + i) * g_.source_strides[0] + d * g_.source_strides[2] +
                             h * g_.source_strides[3] + low_ * g_.source_strides[4];
        copy_rows(to, source, from, seen ? inside_low : columns_, seen ? inside_high : columns_,
                  count);
      }
    }
    return memory_;
  }

 private:
  static constexpr int64_t kSlack = 2 * lanes<T>;  // read or written too much, at each end

  void set_strides(int64_t count) {
    channel = last_ ? 1 : rows_ * columns_ + lanes<T>;
    strides[2] = last_ ? count : 1;
    // The dim of which all slabs have as many rows is the inner one.
    strides[flat_ ? 0 : 1] = row();
    strides[flat_ ? 1 : 0] =
        row() * (flat_ ? slabs_[0].d_end - slabs_[0].d : slabs_[0].h_end - slabs_[0].h);
  }

  int64_t row() const { return columns_ * strides[2]; }

  // For pixels of the rows [first, last] of an image, rows being numbered by (d, h). All slabs have
  // as many rows h if pixels have more than one d, else as many rows d. One that is alone, and of
  // one d, has those rows h that it needs: a plane may be far larger than a block.
  void add_slab(const ConvPart& part, int64_t first, int64_t last, bool alone) {
    const int64_t height = part.size[1], d = first / height;
    const bool some = flat_ || (alone && d == last / height);
    const int64_t pixels[2][2] = {{flat_ ? 0 : d, flat_ ? 0 : last / height},
                                  {some ? first % height : 0, some ? last % height : height - 1}};
    int64_t span[2][2];
    for (int d = 0; d < 2; ++d) {
      span[d][0] = pixels[d][0] * g_.step[d] + part.lowest_shift[d];
      span[d][1] = pixels[d][1] * g_.step[d] + part.highest_shift[d] + 1;
    }
    slabs_[slab_count_++] = {rows_, span[0][0], span[0][1], span[1][0], span[1][1]};
    rows_ += (span[0][1] - span[0][0]) * (span[1][1] - span[1][0]);
  }

  // A row of `count` channels, whose column 0 is (or would be) at source[from], columns [low, high)
  // inside. What it writes too much, of up to L elements, lies behind the row.
  void copy_rows(T* to, const T* source, int64_t from, int64_t low, int64_t high, int64_t count) {
    const T* end = static_cast<const T*>(g_.source) + g_.source_extent;
    const int64_t across = g_.source_strides[1], along = g_.source_strides[4];
    if (last_) {
      clear_elements(to, low * count);
      if (across == 1 && along == count) {
        copy_elements(to + low * count, source + from + low * along, (high - low) * count, end);
      } else {
        for (int64_t w = low; w < high; ++w) {
          const T* pixel = source + from + w * along;
          if (across == 1) copy_elements(to + w * count, pixel, count, end);
          for (int64_t c = 0; across != 1 && c < count; ++c) {
            to[w * count + c] = element(pixel + c * across);
          }
        }
      }
      clear_elements(to + high * count, (columns_ - high) * count);
      return;
    }
    if (along == 1 && low < high && columns_ <= 3 * lanes<T>) {
      const int64_t start = source - static_cast<const T*>(g_.source) + from;
      const int vectors = int(blocks(columns_, lanes<T>));
      if (start >= 0 && start + (count - 1) * across + vectors * lanes<T> <= g_.source_extent) {
        vectors == 1   ? copy_masked<1>(to, source + from, low, high, count)
        : vectors == 2 ? copy_masked<2>(to, source + from, low, high, count)
                       : copy_masked<3>(to, source + from, low, high, count);
        return;
      }
    }
    if (across == 1 && along != 1 && high - low >= 4) {
      for (int64_t c = 0; c < count; ++c) clear_elements(to + c * channel, low);
      for (int64_t w = low; w < high; w += lanes<T>) {
        copy_block(to + w, source + from + w * along, smaller(lanes<T>, high - w), count, end);
      }
      for (int64_t c = 0; c < count; ++c) clear_elements(to + c * channel + high, columns_ - high);
      return;
    }
    for (int64_t c = 0; c < count; ++c, to += channel) {
      clear_elements(to, low);
      const T* row = source + from + c * across;
      if (along == 1) {
        copy_elements(to + low, row + low, high - low, end);
      } else {
        for (int64_t w = low; w < high; ++w) to[w] = element(row + w * along);
      }
      clear_elements(to + high, columns_ - high);
    }
  }

  template <int Vectors>
  void copy_masked(T* to, const T* from, int64_t low, int64_t high, int64_t count) {
    constexpr int n = lanes<T>;
    Mask<T> masks[Vectors];
    for (int v = 0; v < Vectors; ++v) masks[v] = lanes_between<T>(low - v * n, high - v * n);
    for (int64_t c = 0; c < count; ++c, to += channel, from += g_.source_strides[1]) {
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) store(to + v * n, masked<T>(load(from + v * n), masks[v]));
    }
  }

  // Up to L pixels of channels that lie side by side, transposed.
  void copy_block(T* to, const T* from, int64_t pixels, int64_t count, const T* end) {
    constexpr int n = lanes<T>;
    for (int64_t c = 0; c < count; c += n) {
      const int64_t here = smaller(n, count - c);
      Vec<T> block[n];
      for (int64_t p = 0; p < n; ++p) {
        const T* at = from + smaller(p, pixels - 1) * g_.source_strides[4] + c;
        block[p] = end - at >= n ? load(at) : load_partial(at, here);
      }
      transpose<T>(block);
      for (int64_t r = 0; r < here; ++r) store(to + (c + r) * channel, block[r]);
    }
  }

  const ConvSum& g_;
  T* memory_;
  bool last_, copied_, flat_;  // flat_: all pixels of an image have one d
  int slab_count_;
  int64_t first_image_, rows_, low_, columns_;  // low_: the first column, in the source
  Slab slabs_[kMostPixels + 1];
};

// ---- Pixels as rows.

// Rows of the patch matrix that are neighbours in the window: `count` from `offset` on, at `place`.
struct Segment {
  int64_t offset, place, count;
};
constexpr int kMostSegments = int(kDepth);

// A row of the panels that gather_rows makes: what it writes too much goes behind.
constexpr int64_t kPanelRow = kDepth + 16;

// Where a tap of a pixel is, from the pixel on.
template <class T>
inline int64_t tap_offset(const Window<T>& window, const ConvTap& tap) {
  return tap.shift[0] * window.strides[0] + tap.shift[1] * window.strides[1] +
         tap.shift[2] * window.strides[2];
}

// Channels are side by side: taps that are, too, give one segment. Answers how many there are.
template <class T>
int find_segments(const ConvPart& part, const Window<T>& window, const SumBlock& block,
                  Segment* segments) {
  int found = 0;
  for (int64_t t = 0; t < block.taps; ++t) {
    const int64_t offset = tap_offset(window, part.taps[block.tap + t]);
    if (found > 0 && segments[found - 1].offset + segments[found - 1].count == offset) {
      segments[found - 1].count += block.channels;
    } else {
      segments[found++] = {offset, t * block.channels, block.channels};
    }
  }
  return found;
}

// panel[i * kPanelRow + k] = row k of pixel i of the runs.
template <class T>
void gather_rows(const ConvSum& g, const Window<T>& window, const T* source, const Run* runs,
                 int run_count, const Segment* segments, int segment_count, T* panel) {
  static_assert(lanes<T> <= kPanelRow - kDepth);
  for (int r = 0; r < run_count; ++r) {
    const Run& run = runs[r];
    const T* pixel = source + window.offset(run);
    for (int64_t i = 0; i < run.length; ++i, pixel += g.step[2] * window.strides[2]) {
      T* row = panel + (run.lane + i) * kPanelRow;
      for (int s = 0; s < segment_count; ++s) {
        copy_elements(row + segments[s].place, pixel + segments[s].offset, segments[s].count,
                      window.end());
      }
    }
  }
}

}  // namespace
}  // namespace tt::cpu
