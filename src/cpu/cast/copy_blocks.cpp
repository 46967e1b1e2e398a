#include "cpu/cast/copy_blocks.h"

#include <cstring>
#include <type_traits>

#include "core/devices/gil.h"
#include "core/dtypes/with_type.h"
#include "cpu/infra/parallel.h"
#include "cpu/infra/walk.h"

namespace tt::cpu {

namespace {

constexpr int64_t kFewest = 16;        // blocks
constexpr int64_t kLongestRun = 2048;  // bytes
constexpr int64_t kShort = 32;         // elements of the fastest dim of a pattern
constexpr int64_t kLargestPattern = 128;

// The dims of an Iter from `first` on, as walk() takes them: an element is a block of the others.
struct Blocks {
  int count = 2, ndim = 0;
  int64_t numel = 1, shape[kMaxDims];
  Iter::Entry operands[2];

  Blocks(const Iter& iter, int first) {
    for (int k = 0; k < 2; ++k) operands[k].data = iter.operands[k].data;
    for (int d = first; d < iter.ndim; ++d, ++ndim) {
      numel *= shape[ndim] = iter.shape[d];
      for (int k = 0; k < 2; ++k) operands[k].strides[ndim] = iter.operands[k].strides[d];
    }
    if (ndim > 0) return;
    shape[ndim++] = 1;
    operands[0].strides[0] = operands[1].strides[0] = 0;
  }
};

// Calls block(to, from) for every block of `size` elements.
template <class Block>
void for_each_block(const Blocks& blocks, int64_t size, const Block& block) {
  const WithoutGil unlocked(blocks.numel * size > kGrain);
  parallel_for(blocks.numel, kGrain / size + 1, [&](int64_t begin, int64_t end) {
    walk(blocks, begin, end, end - begin, [&](char* const* data, const int64_t* steps, int64_t n) {
      char* to = data[0];
      const char* from = data[1];
      for (; n > 0; --n, to += steps[0], from += steps[1]) block(to, from);
    });
  });
}

template <class T>
inline void move(char* to, const char* from) {
  write<T>(to, read<T>(from));
}

typedef long long Words __attribute__((vector_size(16)));

// A known number of bytes, or any from 16 on; the library's memcpy starts slowly.
template <int64_t kBytes>
void copy_run(char* to, const char* from, int64_t bytes) {
  if (kBytes) bytes = kBytes;
  for (int64_t at = 16; at <= bytes; at += 16) move<Words>(to + at - 16, from + at - 16);
  if (bytes % 16) move<Words>(to + bytes - 16, from + bytes - 16);
}

template <int64_t kBytes>
using Known = std::integral_constant<int64_t, kBytes>;

void copy_runs(const Iter& iter, int64_t item) {
  const int64_t size = iter.shape[0], bytes = size * item;
  const Blocks blocks(iter, 1);
  const auto copy_by = [&](auto run) {
    for_each_block(blocks, size, [=](char* to, const char* from) { run(to, from, bytes); });
  };
  const auto copy_of = [&](auto known) {
    copy_by([](auto... run) { copy_run<decltype(known)::value>(run...); });
  };
  const auto is_one_of = [&](auto... known) {
    return ((bytes == known && (copy_of(known), true)) || ...);
  };
  if (is_one_of(Known<32>(), Known<64>(), Known<128>(), Known<256>())) return;
  if (bytes >= 16)
    copy_of(Known<0>());
  else
    copy_by([](char* to, const char* from, int64_t bytes) { std::memcpy(to, from, bytes); });
}

// Elements spread over runs.
template <class T>
void fill_runs(const Iter& iter) {
  constexpr int64_t kLanes = 16 / sizeof(T);
  typedef T Lanes __attribute__((vector_size(16)));
  const int64_t size = iter.shape[0];
  for_each_block(Blocks(iter, 1), size, [=](char* to, const char* from) {
    const T value = read<T>(from);
    if (size < kLanes) {
      for (int64_t i = 0; i < size; ++i) write<T>(to + i * int64_t{sizeof(T)}, value);
      return;
    }
    const Lanes lanes = value - Lanes{};
    for (int64_t i = 0; i + kLanes <= size; i += kLanes)
      write<Lanes>(to + i * int64_t{sizeof(T)}, lanes);
    write<Lanes>(to + (size - kLanes) * int64_t{sizeof(T)}, lanes);
  });
}

// The fastest `dims` dims are `size` neighbours in the output; they have the same places in x each
// time.
template <class T>
void copy_patterns(const Iter& iter, int dims, int64_t size) {
  int64_t places[kLargestPattern] = {};
  for (int64_t i = 0; i < size; ++i) {
    int64_t rest = i;
    for (int d = 0; d < dims; ++d) {
      places[i] += rest % iter.shape[d] * iter.operands[1].strides[d];
      rest /= iter.shape[d];
    }
  }
  for_each_block(Blocks(iter, dims), size, [&places, size](char* to, const char* from) {
    for (int64_t i = 0; i < size; ++i) move<T>(to + i * int64_t{sizeof(T)}, from + places[i]);
  });
}

}  // namespace

bool copy_in_blocks(const Iter& iter) {
  const int64_t item = itemsize(iter.result), *out = iter.operands[0].strides,
                *x = iter.operands[1].strides;
  if (out[0] != item) return false;
  const bool runs = x[0] == item, fills = x[0] == 0;
  const int64_t bytes = iter.shape[0] * item, count = iter.numel / iter.shape[0];
  if (runs || fills) {
    if (bytes > kLongestRun || count < kFewest) return false;
    if (runs)
      copy_runs(iter, item);
    else
      with_size(item, [&](auto type) { fill_runs<decltype(type)>(iter); });
    return true;
  }
  int dims = 0;
  int64_t size = 1;
  while (dims < iter.ndim && size * iter.shape[dims] <= kLargestPattern && out[dims] == size * item)
    size *= iter.shape[dims++];
  if (dims < 2 || iter.shape[0] > kShort || iter.numel / size < kFewest) return false;
  with_size(item, [&](auto type) { copy_patterns<decltype(type)>(iter, dims, size); });
  return true;
}

}  // namespace tt::cpu
