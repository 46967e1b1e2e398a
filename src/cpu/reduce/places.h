// Where the largest or smallest element of a line stands: the first of those that are equal; a NaN
// counts as both. Over floats per instruction set, over the other dtypes once, as kernels.h.
#pragma once
#include "core/dtypes/dtype_sets.h"
#include "core/tables/reduce.h"
#include "cpu/reduce/driver.h"
#include "cpu/vec/vec_machine.h"

namespace tt::cpu {
namespace {

// A record is an element of T, bool as a byte.
template <class Type, bool kLargest>
struct Arg {
  using T = std::conditional_t<std::is_same_v<Type, bool>, uint8_t, Type>;
  using V = Vec<T>;
  using Place = std::decay_t<decltype(Mask<T>{}[0])>;
  static constexpr int kLanes = lanes<T>;

  // x, or a NaN, once the record is one.
  template <class U>
  static auto beats(U x, U record) {
    const auto better = kLargest ? x > record : x < record;
    if constexpr (std::is_floating_point_v<T>)
      return better | ((x != x) & (record == record));
    else
      return better;
  }
  static V load_at(const char* x, int64_t i) {
    return load(reinterpret_cast<const T*>(x + i * static_cast<int64_t>(sizeof(T))));
  }
  static T read_at(const char* x, int64_t i) {
    T value;
    __builtin_memcpy(&value, x + i * static_cast<int64_t>(sizeof(T)), sizeof value);
    return value;
  }

  // The record is found first; then its place, which is nearer on average than the end.
  static int64_t row(const char* x, int64_t n, char* record) {
    constexpr int kVectors = 4;
    constexpr int64_t kBlock = kVectors * kLanes;
    T best = read_at(x, 0);
    int64_t i = 0;
    if (n >= kBlock) {
      V acc[kVectors];
      auto see = [&](int64_t at) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const V element = load_at(x, at + v * kLanes);
          acc[v] = select(beats(element, acc[v]), element, acc[v]);
        }
      };
      __builtin_memcpy(acc, x, sizeof acc);
      for (i = kBlock; i + kBlock <= n; i += kBlock) see(i);
      if (i < n) see(n - kBlock);
#pragma GCC unroll 4
      for (int v = 1; v < kVectors; ++v) acc[0] = select(beats(acc[v], acc[0]), acc[v], acc[0]);
      for (int l = 0; l < kLanes; ++l)
        if (beats(static_cast<T>(acc[0][l]), best)) best = acc[0][l];
    } else {
      for (; i < n; ++i)
        if (const T value = read_at(x, i); beats(value, best)) best = value;
    }
    __builtin_memcpy(record, &best, sizeof best);
    auto is_record = [=](auto value) {
      const auto equal = value == best;
      if constexpr (std::is_floating_point_v<T>)
        return best == best ? equal : value != value;
      else
        return equal;
    };
    for (i = 0; i + kBlock <= n; i += kBlock) {
      Mask<T> found{};
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) found |= is_record(load_at(x, i + v * kLanes));
      if (any(found)) break;
    }
    while (!is_record(read_at(x, i))) ++i;
    return i;
  }

  // Lanes of kVectors vectors of columns see n < 128 rows. A place is counted in lanes of T's size.
  template <int kVectors>
  static void see_rows(const char* const* rows, int64_t n, int64_t first, int64_t j, char* records,
                       int64_t* positions) {
    V best[kVectors];
    Mask<T> place[kVectors];
    const Place unseen = first ? -1 : 0;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      best[v] = first ? load_at(records, j + v * kLanes) : load_at(rows[0], j + v * kLanes);
      place[v] = splat(unseen);
    }
    for (int64_t r = 0; r < n; ++r) {
      const Place here = static_cast<Place>(r);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const V element = load_at(rows[r], j + v * kLanes);
        const auto better = beats(element, best[v]);
        best[v] = select(better, element, best[v]);
        place[v] = select(better, splat(here), place[v]);
      }
    }
    __builtin_memcpy(records + j * sizeof(T), best, sizeof best);
    for (int v = 0; v < kVectors; ++v)
      for (int l = 0; l < kLanes; ++l) {
        int64_t& position = positions[j + v * kLanes + l];
        const int64_t at = place[v][l];
        position = at < 0 ? position : first + at;
      }
  }

  // The records of `width` columns and where they stand, once rows [first, first + n) are seen.
  static void columns(const char* const* rows, int64_t n, int64_t first, int64_t width,
                      char* records, int64_t* positions) {
    if (width >= kLanes) {
      constexpr int kVectors = 4;
      int64_t j = 0;
      for (; j + kVectors * kLanes <= width; j += kVectors * kLanes)
        see_rows<kVectors>(rows, n, first, j, records, positions);
      for (; j + kLanes <= width; j += kLanes) see_rows<1>(rows, n, first, j, records, positions);
      // What has been seen before changes nothing.
      if (j < width) see_rows<1>(rows, n, first, width - kLanes, records, positions);
      return;
    }
    for (int64_t j = 0; j < width; ++j) {
      T best = first ? read_at(records, j) : read_at(rows[0], j);
      if (first == 0) positions[j] = 0;
      for (int64_t r = 0; r < n; ++r)
        if (const T value = read_at(rows[r], j); beats(value, best)) {
          best = value;
          positions[j] = first + r;
        }
      __builtin_memcpy(records + j * sizeof(T), &best, sizeof best);
    }
  }

  // Those of what comes later in the lines.
  static void merge(char* records, int64_t* positions, const char* others,
                    const int64_t* other_positions, int64_t n) {
    for (int64_t j = 0; j < n; ++j)
      if (const T value = read_at(others, j); beats(value, read_at(records, j))) {
        __builtin_memcpy(records + j * sizeof(T), &value, sizeof value);
        positions[j] = other_positions[j];
      }
  }

  static void run(const ArgArgs& args) { run_arg(args, {row, columns, merge, sizeof(T)}); }
};

template <bool kLargest>
constexpr void fill_arg(ArgKernel (&entries)[kDTypes]) {
#define X(name, type, text, category)                                               \
  if constexpr (is_native<type> && std::is_floating_point_v<type> == kFloatKernels) \
    entries[static_cast<int>(DType::name)] = Arg<type, kLargest>::run;
  TT_FOR_EACH_DTYPE(X)
#undef X
}

constexpr ReduceTable with_places(ReduceTable table) {
  fill_arg<true>(table.argmax);
  fill_arg<false>(table.argmin);
  return table;
}

}  // namespace
}  // namespace tt::cpu
