// Rows over all of an Iter, in parallel: what run.cpp and copies share.
#pragma once
#include "core/devices/gil.h"
#include "cpu/infra/parallel.h"
#include "cpu/infra/run.h"
#include "cpu/infra/walk.h"

namespace tt::cpu {

namespace {

// make() makes what is called for each row, once per thread.
template <class Make>
void drive(const Iter& iter, int64_t longest, const Make& make) {
  const WithoutGil unlocked(iter.numel > kGrain);
  if (const Tiles tiles(iter); tiles.any()) {
    const int64_t grain = iter.numel > kGrain ? 1 : tiles.count();
    return parallel_for(tiles.count(), grain, [&](int64_t begin, int64_t end) {
      tiles.walk(begin, end, longest, make());
    });
  }
  parallel_for(iter.numel, kGrain,
               [&](int64_t begin, int64_t end) { walk(iter, begin, end, longest, make()); });
}

}  // namespace

}  // namespace tt::cpu
