// Indexing by masks, in blocks: how many are true in each, and from there each block on its own.
#include "core/tables/masks.h"

#include "core/devices/gil.h"
#include "core/dtypes/with_type.h"
#include "core/memory/storage.h"
#include "cpu/infra/parallel.h"

namespace tt::cpu {

namespace {

int64_t blocks_of(int64_t numel) { return (numel + kMaskBlock - 1) / kMaskBlock; }

// Which of n <= kMaskBlock elements are true. Without a branch: a random mask would mispredict.
int64_t find_places(const char* mask, int64_t n, uint16_t* places) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    places[count] = static_cast<uint16_t>(i);
    count += mask[i] != 0;
  }
  return count;
}

// body(first element of a block, places of its true ones, their number, how many came before).
template <class Body>
void for_each_block(const MaskArgs& args, const Body& body) {
  const WithoutGil unlocked(args.numel > kGrain);
  parallel_for(blocks_of(args.numel), kGrain / kMaskBlock, [&](int64_t begin, int64_t end) {
    uint16_t places[kMaskBlock];
    for (int64_t b = begin; b < end; ++b) {
      const int64_t start = b * kMaskBlock;
      const int64_t before = args.starts[b], count = args.starts[b + 1] - before;
      if (count == 0) continue;
      find_places(args.mask + start, std::min(kMaskBlock, args.numel - start), places);
      body(start, places, count, before);
    }
  });
}

int64_t mask_count(const MaskArgs& args) {
  const int64_t blocks = blocks_of(args.numel);
  {
    const WithoutGil unlocked(args.numel > kGrain);
    parallel_for(blocks, kGrain / kMaskBlock, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t n = std::min(kMaskBlock, args.numel - b * kMaskBlock);
        const char* const mask = args.mask + b * kMaskBlock;
        int32_t count = 0;
        for (int64_t i = 0; i < n; ++i) count += mask[i] != 0;
        args.starts[b + 1] = count;
      }
    });
  }
  args.starts[0] = 0;
  for (int64_t b = 0; b < blocks; ++b) args.starts[b + 1] += args.starts[b];
  return args.starts[blocks];
}

void mask_positions(const MaskArgs& args, const Dims& shape, int64_t* out) {
  const int ndim = shape.size();
  const int64_t total = args.starts[blocks_of(args.numel)], columns = ndim ? shape.back() : 1;
  for_each_block(args, [=](int64_t start, const uint16_t* places, int64_t count, int64_t before) {
    for (int64_t k = 0; k < count;) {  // row by row
      const int64_t row = (start + places[k]) / columns, row_start = row * columns - start;
      const int64_t first = k;
      int64_t* const to = out + (ndim - 1) * total + before;
      for (; k < count && places[k] < row_start + columns; ++k) to[k] = places[k] - row_start;
      int64_t rest = row;
      for (int d = ndim - 2; d >= 0; --d) {
        const int64_t coordinate = d ? rest % shape[d] : rest;
        rest /= shape[d];
        std::fill(out + d * total + before + first, out + d * total + before + k, coordinate);
      }
    }
  });
}

// Calls move(T{}, the place where the mask holds, how many do before it) for each.
template <class Move>
void for_each_held(const MaskArgs& args, int64_t item, const Move& move) {
  with_size(item, [&](auto type) {
    for_each_block(args, [=](int64_t start, const uint16_t* places, int64_t count, int64_t before) {
      for (int64_t k = 0; k < count; ++k) move(type, start + places[k], before + k);
    });
  });
}

void mask_pick(const MaskArgs& args, const char* x, char* out, int64_t item) {
  for_each_held(args, item, [=](auto type, int64_t place, int64_t k) {
    using T = decltype(type);
    write<T>(out + k * sizeof(T), read<T>(x + place * sizeof(T)));
  });
}

void mask_place(const MaskArgs& args, char* x, const char* from, int64_t item) {
  for_each_held(args, item, [=](auto type, int64_t place, int64_t k) {
    using T = decltype(type);
    write<T>(x + place * sizeof(T), read<T>(from + k * sizeof(T)));
  });
}

}  // namespace

extern const MasksTable masks_table = {mask_count, mask_positions, mask_pick, mask_place};

}  // namespace tt::cpu
