// Embeddings: bags of rows of a table, and the table's gradient. Memory is what they take, so they
// are built once.
//
// The gradient adds in the order of the entries: threads share out the columns, or, where those
// are few, the rows that are written; never the entries. Sums of halves are rounded once: they
// stand in floats meanwhile, of which only those of rows that have an entry are ever touched.
#include "core/tables/embedding.h"

#include <algorithm>

#include "core/devices/gil.h"
#include "core/dtypes/half.h"
#include "core/dtypes/with_type.h"
#include "core/memory/storage.h"
#include "cpu/infra/float_sums.h"
#include "cpu/infra/parallel.h"
#include "cpu/infra/scratch.h"

namespace tt::cpu {
namespace {

template <class T>
T at(const char* data, int64_t i) {
  return read<T>(data + i * static_cast<int64_t>(sizeof(T)));
}
template <class T>
void set(char* data, int64_t i, T value) {
  std::memcpy(data + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// sum (+)= the table's row, times its weight.
template <class T, class C = Computed<T>>
void add_row(const BagArgs& a, int64_t entry, C* sum) {
  const char* row = a.table + a.index[entry] * a.table_row * static_cast<int64_t>(sizeof(T));
  const C weight = a.weights ? static_cast<C>(at<T>(a.weights, entry)) : C(1);
  auto add = [=](int64_t step) {
    for (int64_t j = 0; j < a.columns; ++j) sum[j] += static_cast<C>(at<T>(row, j * step)) * weight;
  };
  a.table_column == 1 ? add(1) : add(a.table_column);
}

template <class T, class C = Computed<T>>
void take_larger(const BagArgs& a, int64_t entry, C* peak, int64_t* largest, bool first) {
  const char* row = a.table + a.index[entry] * a.table_row * static_cast<int64_t>(sizeof(T));
  for (int64_t j = 0; j < a.columns; ++j) {
    const C x = static_cast<C>(at<T>(row, j * a.table_column));
    if (first || x > peak[j]) peak[j] = x, largest[j] = a.index[entry];
  }
}

template <class T, class C = Computed<T>>
void forward(const BagArgs& a) {
  const int64_t work = a.entries * a.columns;
  const WithoutGil unlocked(work > kGrain);
  parallel_with_scratch(
      a.bags, work > kGrain ? kGrain / (work / std::max<int64_t>(a.bags, 1) + 1) + 1 : a.bags,
      a.columns * static_cast<int64_t>(sizeof(C)), [&](int64_t begin, int64_t end, char* scratch) {
        C* const sum = reinterpret_cast<C*>(scratch);
        for (int64_t bag = begin; bag < end; ++bag) {
          for (int64_t j = 0; j < a.columns; ++j) sum[j] = 0;
          int64_t* largest = a.largest ? a.largest + bag * a.columns : nullptr;
          if (largest)
            for (int64_t j = 0; j < a.columns; ++j) largest[j] = -1;
          int64_t count = 0;
          for (int64_t k = a.start(bag); k < a.start(bag + 1); ++k) {
            if (a.index[k] == a.padding) continue;
            if (largest)
              take_larger<T>(a, k, sum, largest, count == 0);
            else
              add_row<T>(a, k, sum);
            ++count;
          }
          const C divisor = a.mode == Bag::Mean && count > 0 ? static_cast<C>(count) : C(1);
          for (int64_t j = 0; j < a.columns; ++j)
            set(a.out, bag * a.out_row + j, static_cast<T>(sum[j] / divisor));
        }
      });
}

// A part of the table.
struct Part {
  int64_t row, row_end, column, column_end;
};

// f(bag, entry, element of the table) for each row that an entry adds to: where its part begins.
template <class F>
void for_each_sum(const BagArgs& a, const Part& part, const F& f) {
  for (int64_t bag = 0; bag < a.bags; ++bag) {
    for (int64_t k = a.start(bag); k < a.start(bag + 1); ++k) {
      const int64_t row = a.index[k];
      if (row == a.padding || row < part.row || row >= part.row_end) continue;
      f(bag, k, row * a.columns + part.column);
    }
  }
}

// f(element of a bag, element of the table) for those that had the largest of their bag.
template <class F>
void for_each_largest(const BagArgs& a, const Part& part, const F& f) {
  for (int64_t bag = 0; bag < a.bags; ++bag) {
    for (int64_t j = part.column; j < part.column_end; ++j) {
      const int64_t row = a.largest[bag * a.columns + j];
      if (row < part.row || row >= part.row_end) continue;
      f(bag * a.out_row + j, row * a.columns + j);
    }
  }
}

// to[j] += x[j] * factor.
template <class C>
void add_scaled(char* to, const char* x, int64_t n, C factor) {
  for (int64_t j = 0; j < n; ++j) set(to, j, at<C>(to, j) + at<C>(x, j) * factor);
}

// The sums themselves: add(element of the table, element of the bags, how many, factor).
template <class T, class C, class Add>
void add_sums(const BagArgs& a, const int64_t* counts, const Part& part, const Add& add) {
  if (a.largest)
    return for_each_largest(a, part, [&](int64_t from, int64_t to) { add(to, from, 1, C(1)); });
  int64_t last = -1;
  C share = 1;
  for_each_sum(a, part, [&](int64_t bag, int64_t k, int64_t to) {
    if (a.mode == Bag::Mean && bag != last)
      last = bag, share = 1 / static_cast<C>(a.entries_that_count(bag));
    C factor = share;
    if (counts) factor /= static_cast<C>(counts[a.index[k]]);
    if (a.weights) factor *= static_cast<C>(at<T>(a.weights, k));
    add(to, bag * a.out_row + part.column, part.column_end - part.column, factor);
  });
}

// f(element of the table, how many) for runs that entries add to, some of them repeatedly.
template <class F>
void for_each_run(const BagArgs& a, const Part& part, const F& f) {
  if (a.largest)
    for_each_largest(a, part, [&](int64_t, int64_t to) { f(to, 1); });
  else
    for_each_sum(a, part,
                 [&](int64_t, int64_t, int64_t to) { f(to, part.column_end - part.column); });
}

template <class T, class C = Computed<T>>
void add_part(const BagArgs& a, const int64_t* counts, const Part& part, C* floats) {
  constexpr int64_t item = sizeof(T);
  if constexpr (is_half_type<T>) {
    const FloatSums<T> sums(a.table, floats);
    for_each_run(a, part, [&](int64_t i, int64_t n) { sums.fetch(a.table + i * item, n, 1); });
    add_sums<T, C>(a, counts, part, [&](int64_t to, int64_t from, int64_t n, C factor) {
      for_floats<T>(a.out + from * item, n, 1, [=](int64_t j, int64_t count, const float* x) {
        add_scaled<C>(reinterpret_cast<char*>(floats + to + j), reinterpret_cast<const char*>(x),
                      count, factor);
      });
    });
    for_each_run(a, part, [&](int64_t i, int64_t n) { sums.round(a.table + i * item, n, 1); });
  } else {
    add_sums<T, C>(a, counts, part, [&](int64_t to, int64_t from, int64_t n, C factor) {
      add_scaled<C>(a.table + to * item, a.out + from * item, n, factor);
    });
  }
}

template <class T>
void backward(const BagArgs& a) {
  const int64_t table = a.rows * a.columns, work = a.entries * a.columns;
  const WithoutGil unlocked(work + (a.accumulate ? 0 : table) > kGrain);
  const Scratch<int64_t> counts(a.by_frequency ? a.rows : 0);  // entries of each row
  if (counts.data) {
    std::fill_n(counts.data, a.rows, 0);
    for (int64_t k = 0; k < a.entries; ++k) ++counts.data[a.index[k]];
  }
  parallel_for(a.accumulate ? 0 : table, kGrain, [&](int64_t begin, int64_t end) {
    const int64_t item = sizeof(T);
    std::memset(a.table + begin * item, 0, size_t((end - begin) * item));
  });
  // Wide enough that threads do not share cache lines, and that walking the entries costs nothing.
  constexpr int64_t kWide = 16;
  const bool by_columns = a.columns >= 4 * kWide;
  const int64_t units = by_columns ? a.columns / kWide : a.rows;
  const Scratch<Computed<T>> floats(is_half_type<T> && work > 0 ? table : 0);
  // Each call walks all entries.
  parallel_for(units, work > kGrain ? kWhole : units, [&](int64_t begin, int64_t end) {
    Part part{begin, end, 0, a.columns};
    if (by_columns) part = {0, a.rows, begin * kWide, end == units ? a.columns : end * kWide};
    add_part<T>(a, counts.data, part, floats.data);
  });
}

template <bool kForward>
void run_typed(const BagArgs& a) {
  with_float_type(a.dtype, [&](auto type) {
    using T = decltype(type);
    kForward ? forward<T>(a) : backward<T>(a);
  });
}

bool bag_starts(const BagStartArgs& a) {
  std::copy_n(a.offsets, a.bags, a.starts);
  a.starts[a.bags] = a.entries;
  bool valid = a.bags == 0 || a.starts[0] == 0;
  for (int64_t bag = 0; bag < a.bags; ++bag) valid &= a.starts[bag] <= a.starts[bag + 1];
  for (int64_t k = 0; k < a.entries; ++k) valid &= (a.index[k] >= 0) & (a.index[k] < a.rows);
  return valid;
}

}  // namespace

extern const EmbeddingTable embedding_table = {run_typed<true>, run_typed<false>, bag_starts};

}  // namespace tt::cpu
