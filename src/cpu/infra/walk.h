// The ways through an Iter: row by row, and for operands that lie across each other, as a matrix
// and its transpose do, in tiles that fit the first cache.
#pragma once
#include <algorithm>

#include "core/iter.h"

namespace tt::cpu {

// Calls row(data, strides, n) for the elements [begin, end) of the iteration order, n <= longest.
// Nest is Iter, or has those members that are read here.
template <class Nest, class Row>
void walk(const Nest& iter, int64_t begin, int64_t end, int64_t longest, Row&& row) {
  int64_t index[kMaxDims], strides[Iter::kMaxOperands];
  char* data[Iter::kMaxOperands];
  int64_t rest = begin;
  for (int d = 0; d < iter.ndim; ++d) {
    index[d] = rest % iter.shape[d];
    rest /= iter.shape[d];
  }
  for (int k = 0; k < iter.count; ++k) {
    strides[k] = iter.operands[k].strides[0];
    data[k] = iter.operands[k].data;
    for (int d = 0; d < iter.ndim; ++d) data[k] += index[d] * iter.operands[k].strides[d];
  }
  while (begin < end) {
    const int64_t n = std::min({iter.shape[0] - index[0], end - begin, longest});
    row(data, strides, n);
    begin += n;
    index[0] += n;
    for (int k = 0; k < iter.count; ++k) data[k] += n * strides[k];
    for (int d = 0; d + 1 < iter.ndim && index[d] == iter.shape[d]; ++d) {
      index[d] = 0;
      ++index[d + 1];
      for (int k = 0; k < iter.count; ++k)
        data[k] += iter.operands[k].strides[d + 1] - iter.shape[d] * iter.operands[k].strides[d];
    }
  }
}

// to[c][r] = from[r][c] of `rows` x `columns` elements; strides in bytes, along r of `from` and
// along c of `to`. The elements of a row of either are neighbours.
void transpose(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t rows,
               int64_t columns, int64_t item);

// Inputs whose neighbours stand along another dim than the output's are copied into their tile the
// other way round first.
class Tiles {
 public:
  explicit Tiles(const Iter& iter);

  bool any() const { return across_ != 0; }
  int64_t count() const { return count_; }

  // As walk, for tiles [begin, end). What the next tile needs is called for meanwhile, the
  // output's memory too.
  template <class Row>
  void walk(int64_t begin, int64_t end, int64_t longest, Row&& row) const {
    alignas(64) char scratch[Iter::kMaxOperands - 1][kBytes];
    char* data[Iter::kMaxOperands];
    for (; begin < end; ++begin) {
      int64_t n, lines;
      seek(begin, data, &n, &lines);
      for (int k = 1; k < iter_.count; ++k) {
        if (!turned_[k]) continue;
        transpose(data[k], iter_.operands[k].strides[0], scratch[k - 1], steps_[k], n, lines,
                  strides_[k]);
        data[k] = scratch[k - 1];
      }
      if (joined_) n *= lines, lines = 1;
      for (; lines > 0; --lines) {
        char* at[Iter::kMaxOperands];
        for (int k = 0; k < iter_.count; ++k) {
          at[k] = data[k];
          data[k] += steps_[k];
          if (k > 0 && turned_[k]) continue;
          for (int64_t at = 0; at < n * strides_[k]; at += 64)
            __builtin_prefetch(data[k] + (size_[1] - 1) * steps_[k] + at, 1);
        }
        for (int64_t first = 0; first < n; first += longest) {
          row(at, strides_, std::min(longest, n - first));
          for (int k = 0; k < iter_.count; ++k) at[k] += longest * strides_[k];
        }
      }
    }
  }

 private:
  static constexpr int64_t kBytes = 16384;  // of an operand's tile

  // Where a tile starts in each operand, and how large it is.
  void seek(int64_t tile, char** data, int64_t* n, int64_t* lines) const;

  const Iter& iter_;
  int across_ = 0;                       // the dim along which some operands lie, which is not 0
  bool turned_[Iter::kMaxOperands];      // they do
  bool joined_ = true;                   // the rows of a tile are one row
  int64_t size_[2], tiles_[2], count_;   // along dim 0 and `across_`
  int64_t strides_[Iter::kMaxOperands];  // of a tile, along dim 0
  int64_t steps_[Iter::kMaxOperands];    // and along `across_`
};

}  // namespace tt::cpu
