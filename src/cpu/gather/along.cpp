// Gather and scatter: elements at given positions along one dim.
//
// One loop nest serves all of indexing. Work is split so that no element is written by two threads,
// and every element of x sees its writes in the order of the index: between the lines (the other
// dims) where there are enough of them, else between ranges of x, each of whose threads looks at
// all positions.
// Sums and products of halves go that way three times: cpu/infra/float_sums.h.
#include <atomic>
#include <type_traits>

#include "core/devices/gil.h"
#include "core/dtypes/with_type.h"
#include "core/formulas/wrapping.h"
#include "core/memory/storage.h"
#include "core/tables/gather.h"
#include "core/walker.h"
#include "cpu/infra/float_sums.h"
#include "cpu/infra/parallel.h"
#include "cpu/infra/scratch.h"

namespace tt::cpu {

namespace {

// ------------------------------------------------------------------------- what is done to a row
template <Place op, class T>
T combine(T a, T b) {
  if constexpr (op == Place::Set) {
    return b;
  } else if constexpr (op == Place::Maximum) {
    const T both[] = {a, b};  // chosen by an index: a branch would often be mispredicted
    return both[(a < b) | (b != b)];
  } else if constexpr (op == Place::Minimum) {
    const T both[] = {a, b};
    return both[(b < a) | (b != b)];
  } else if constexpr (std::is_same_v<T, bool>) {
    return op == Place::Add ? a || b : a && b;
  } else {
    return op == Place::Add ? wrapping_add(a, b) : wrapping_mul(a, b);
  }
}

// to[k] = combine(to[k], from[k]).
template <Place op, class T>
void combine_row(char* to, const char* from, int64_t n, int64_t to_step, int64_t from_step) {
  constexpr int64_t item = sizeof(T);
  auto row = [=](int64_t to_step, int64_t from_step) {
    for (int64_t k = 0; k < n; ++k) {
      char* const at = to + k * to_step * item;
      write<T>(at, combine<op>(read<T>(at), read<T>(from + k * from_step * item)));
    }
  };
  if (to_step == 1 && from_step == 1) {
    if (op == Place::Set && n >= 8)
      std::memcpy(to, from, n * item);
    else
      row(1, 1);
  } else if (to_step == 1 && from_step == 0) {  // one value for all
    row(1, 0);
  } else {
    row(to_step, from_step);
  }
}

// Moves n elements between x and other, once the place in x is known.
template <class T>
struct Pick {
  using Element = T;
  void row(char* x, char* other, int64_t n, int64_t x_step, int64_t other_step) const {
    combine_row<Place::Set, T>(other, x, n, other_step, x_step);
  }
  void one(char* x, char* other) const { write<T>(other, read<T>(x)); }
};
template <Place op, class T>
struct Put {
  using Element = T;
  void row(char* x, char* other, int64_t n, int64_t x_step, int64_t other_step) const {
    combine_row<op, T>(x, other, n, x_step, other_step);
  }
  void one(char* x, char* other) const { write<T>(x, combine<op>(read<T>(x), read<T>(other))); }
};

// The three walks of a sum or product of halves.
template <class T>
struct Fetch : FloatSums<T> {
  using Element = T;
  void row(char* x, char*, int64_t n, int64_t step, int64_t) const { this->fetch(x, n, step); }
  void one(char* x, char*) const { this->of(x) = read<T>(x); }
};
template <Place op, class T>
struct Combine : FloatSums<T> {
  using Element = T;
  void row(char* x, char* other, int64_t n, int64_t x_step, int64_t other_step) const {
    float* const to = &this->of(x);
    for_floats<T>(other, n, other_step, [=](int64_t first, int64_t count, const float* from) {
      combine_row<op, float>(reinterpret_cast<char*>(to + first * x_step),
                             reinterpret_cast<const char*>(from), count, x_step, 1);
    });
  }
  void one(char* x, char* other) const {
    float& to = this->of(x);
    to = combine<op, float>(to, read<T>(other));
  }
};
template <class T>
struct Round : FloatSums<T> {
  using Element = T;
  void row(char* x, char*, int64_t n, int64_t step, int64_t) const { this->round(x, n, step); }
  void one(char* x, char*) const { write<T>(x, T(this->of(x))); }
};

// ------------------------------------------------------------------------------------- the nest
inline int64_t from_front(int64_t position, int64_t wrap) {
  return position + (position < 0 ? wrap : 0);
}

// Part of the work: lines [begin, end), elements [first, last) of each, positions [low, high).
struct Range {
  int64_t begin, end, first, last;
  int64_t low = 0, high = INT64_MAX;
  bool is_of_positions() const { return high != INT64_MAX; }
};

// body(lines, x, other, index) for the parts of the lines [begin, end) that lie in one row, which
// is the last dim of the lines: how many, and where they start.
template <class Body>
void for_rows(const AlongArgs& a, const Range& range, int64_t item, Body&& body) {
  const int last = a.lines.size() - 1;
  if (last < 0) return body(1, a.x, a.other, a.index);
  Dims outer = a.lines, x = a.x_lines, other = a.other_lines, index = a.index_lines;
  for (Dims* dims : {&outer, &x, &other, &index}) dims->erase(last);
  const int64_t n = a.lines[last];
  int64_t row = range.begin / n;
  for (Walker<3> walker(outer, {x, other, index}, row); row * n < range.end;
       walker.advance(), ++row) {
    const int64_t first = std::max(range.begin - row * n, int64_t{0});
    const int64_t end = std::min(range.end - row * n, n);
    body(end - first, a.x + (walker.offset(0) + first * a.x_lines[last]) * item,
         a.other + (walker.offset(1) + first * a.other_lines[last]) * item,
         a.index + (walker.offset(2) + first * a.index_lines[last]) * 8);
  }
}

// One position for a row of lines: what they have in common is looked up once.
template <class Move>
bool shared_rows(const AlongArgs& a, const Range& range, const Move& move) {
  constexpr int64_t item = sizeof(typename Move::Element);
  bool outside = false;
  const uint64_t size = a.size;
  const int64_t wrap = a.wraps ? a.size : 0;
  const int64_t x_step = a.lines.empty() ? 0 : a.x_lines.back();
  const int64_t other_step = a.lines.empty() ? 0 : a.other_lines.back();
  for_rows(a, range, item, [&](int64_t n, char* x, char* other, const char* index) {
    for (int64_t k = range.first; k < range.last && !outside; ++k) {
      const int64_t p = from_front(read<int64_t>(index + k * a.index_step * 8), wrap);
      outside = static_cast<uint64_t>(p) >= size;
      if (!outside && p >= range.low && p < range.high)
        move.row(x + p * a.stride * item, other + k * a.other_step * item, n, x_step, other_step);
    }
  });
  return !outside;
}

// n elements, each with a position of its own.
template <class Move>
bool own_positions(const AlongArgs& a, const Move& move, char* x, char* other, const char* index,
                   int64_t n, int64_t x_step, int64_t other_step, int64_t index_step) {
  constexpr int64_t item = sizeof(typename Move::Element);
  const uint64_t size = a.size;
  const int64_t wrap = a.wraps ? a.size : 0, stride = a.stride * item;
  auto row = [=, &move](int64_t x_step, int64_t other_step, int64_t index_step) {
    for (int64_t k = 0; k < n; ++k) {
      const int64_t p = from_front(read<int64_t>(index + k * index_step * 8), wrap);
      if (static_cast<uint64_t>(p) >= size) return false;
      move.one(x + p * stride + k * x_step * item, other + k * other_step * item);
    }
    return true;
  };
  if (other_step == 1 && index_step == 1 && x_step == 0) return row(0, 1, 1);
  if (other_step == 1 && index_step == 1 && x_step == 1) return row(1, 1, 1);
  return row(x_step, other_step, index_step);
}

// Whether the lines are the inner loop: where they lie closer together than the elements of a line,
// unless that leaves it too short.
bool lines_inside(const AlongArgs& a) {
  if (a.lines.empty()) return false;
  int64_t next_line = a.other_lines.back(), next = a.other_step;
  if (next_line == 0 && next == 0) {  // one value for all
    next_line = a.x_lines.back();
    next = a.stride;
  }
  constexpr int64_t kShort = 4;
  const int64_t inner = a.lines.back();
  return next_line < next ? inner >= kShort || inner >= a.count
                          : a.count < kShort && inner > a.count;
}

bool is_shared(const AlongArgs& a) {
  for (int d = 0; d < a.lines.size(); ++d)
    if (a.index_lines[d] != 0 && a.lines[d] != 1) return false;
  return true;
}

template <class Move>
bool nest(const AlongArgs& a, const Range& range, const Move& move) {
  constexpr int64_t item = sizeof(typename Move::Element);
  bool fine = true;
  if (range.is_of_positions()) return shared_rows(a, range, move);
  if (!lines_inside(a)) {
    Walker<3> walker(a.lines, {a.x_lines, a.other_lines, a.index_lines}, range.begin);
    for (int64_t line = range.begin; line < range.end; ++line, walker.advance())
      fine &= own_positions(a, move, a.x + walker.offset(0) * item,
                            a.other + (walker.offset(1) + range.first * a.other_step) * item,
                            a.index + (walker.offset(2) + range.first * a.index_step) * 8,
                            range.last - range.first, 0, a.other_step, a.index_step);
    return fine;
  }
  if (is_shared(a)) return shared_rows(a, range, move);
  for_rows(a, range, item, [&](int64_t n, char* x, char* other, const char* index) {
    for (int64_t k = range.first; k < range.last; ++k)
      fine &=
          own_positions(a, move, x, other + k * a.other_step * item, index + k * a.index_step * 8,
                        n, a.x_lines.back(), a.other_lines.back(), a.index_lines.back());
  });
  return fine;
}

// Neighbouring dims become one wherever all strides allow it; sizes of 1 go.
AlongArgs merged(const AlongArgs& args) {
  constexpr Dims AlongArgs::* kStrides[] = {&AlongArgs::x_lines, &AlongArgs::other_lines,
                                            &AlongArgs::index_lines};
  AlongArgs a = args;
  a.lines = a.x_lines = a.other_lines = a.index_lines = Dims();
  for (int d = 0; d < args.lines.size(); ++d) {
    const int64_t n = args.lines[d];
    if (n == 1) continue;
    const int last = a.lines.size() - 1;
    bool joins = last >= 0;
    for (auto of : kStrides) joins = joins && (a.*of)[last] == n * (args.*of)[d];
    if (joins)
      a.lines[last] *= n;
    else
      a.lines.push_back(n);
    for (auto of : kStrides)
      if (joins)
        (a.*of)[last] = (args.*of)[d];
      else
        (a.*of).push_back((args.*of)[d]);
  }
  return a;
}

constexpr int64_t kFewLines = 32;  // fewer are not worth splitting: threads would share cache lines

template <class T>
bool pick_typed(const AlongArgs& a) {
  const int64_t lines = product(a.lines), total = lines * a.count;
  const WithoutGil unlocked(total > kGrain);
  std::atomic<bool> fine{true};
  const bool by_count = lines < 2 || (a.lines.size() < 2 && lines_inside(a) && a.count >= 8);
  const int64_t n = by_count ? a.count : lines;
  parallel_for(
      n, total > kGrain ? kGrain / (total / n + 1) + 1 : n, [&](int64_t begin, int64_t end) {
        const Range range = by_count ? Range{0, lines, begin, end} : Range{begin, end, 0, a.count};
        if (!nest(a, range, Pick<T>())) fine = false;
      });
  return fine;
}

// Whether lines, or positions, of x lie at one address: x is expanded.
bool overlaps(const AlongArgs& a) {
  bool found = a.stride == 0 && a.size > 1;
  for (int d = 0; d < a.lines.size(); ++d) found |= a.x_lines[d] == 0;
  return found;
}

// Elements from the first of x to its last.
int64_t reach(const AlongArgs& a) {
  int64_t last = (a.size - 1) * a.stride;
  for (int d = 0; d < a.lines.size(); ++d) last += (a.lines[d] - 1) * a.x_lines[d];
  return last + 1;
}

// By threads, so that no element of x is written by two.
template <class Move>
bool place_by(const AlongArgs& a, const Move& move) {
  const int64_t lines = product(a.lines), total = lines * a.count;
  std::atomic<bool> fine{true};
  auto place = [&](const Range& range) {
    if (!nest(a, range, move)) fine = false;
  };
  if (overlaps(a)) {  // the last write counts, so where lines of x overlap one thread does it all
    place({0, lines, 0, a.count});
  } else if (lines >= kFewLines) {
    parallel_for(lines, total > kGrain ? kGrain / (a.count + 1) + 1 : lines,
                 [&](int64_t begin, int64_t end) { place({begin, end, 0, a.count}); });
  } else if (lines >= 4 && total > kGrain && is_shared(a)) {
    parallel_for(a.size, kWhole,
                 [&](int64_t low, int64_t high) { place({0, lines, 0, a.count, low, high}); });
  } else {
    place({0, lines, 0, a.count});
  }
  return fine;
}

// Sums or products of halves.
template <Place op, class T>
bool place_in_floats(const AlongArgs& a) {
  const int64_t total = product(a.lines) * a.count, elements = reach(a);
  const Scratch<float> floats(elements);
  const FloatSums<T> sums(a.x, floats.data);
  if (!a.is_dense || elements > 2 * total)
    return place_by(a, Fetch<T>{sums}) && place_by(a, Combine<op, T>{sums}) &&
           place_by(a, Round<T>{sums});
  // Most elements are named: all of them in their order are found sooner.
  constexpr int64_t item = sizeof(T);
  parallel_for(elements, kGrain,
               [&](int64_t begin, int64_t end) { sums.fetch(a.x + begin * item, end - begin, 1); });
  const bool fine = place_by(a, Combine<op, T>{sums});
  parallel_for(elements, kGrain,
               [&](int64_t begin, int64_t end) { sums.round(a.x + begin * item, end - begin, 1); });
  return fine;
}

template <Place op, class T>
bool place_typed(const AlongArgs& a) {
  const int64_t total = product(a.lines) * a.count;
  if (total == 0) return true;
  const WithoutGil unlocked(total > kGrain);
  if constexpr (is_half_type<T> && (op == Place::Add || op == Place::Multiply))
    return place_in_floats<op, T>(a);
  else
    return place_by(a, Put<op, T>());
}

bool pick(const AlongArgs& args) {
  bool fine = true;
  with_size(itemsize(args.dtype),
            [&](auto type) { fine = pick_typed<decltype(type)>(merged(args)); });
  return fine;
}

bool place(const AlongArgs& args, Place op) {
  const AlongArgs a = merged(args);
  bool fine = true;
  if (op == Place::Set)
    with_size(itemsize(a.dtype),
              [&](auto type) { fine = place_typed<Place::Set, decltype(type)>(a); });
  else
    with_type(a.dtype, [&](auto type) {
      using T = decltype(type);
      fine = op == Place::Add        ? place_typed<Place::Add, T>(a)
             : op == Place::Multiply ? place_typed<Place::Multiply, T>(a)
             : op == Place::Maximum  ? place_typed<Place::Maximum, T>(a)
                                     : place_typed<Place::Minimum, T>(a);
    });
  return fine;
}

// body(first element, how many, step, position of the first) for the runs of an index, by threads;
// it answers whether all of them are inside.
template <class Body>
bool all_runs(const Dims& shape, const Dims& strides, const char* index, const Body& body) {
  const int64_t numel = product(shape);
  const WithoutGil unlocked(numel > kGrain);
  std::atomic<bool> fine{true};
  parallel_for(numel, kGrain, [&](int64_t begin, int64_t end) {
    Walker<1> walker(shape, {strides}, begin);
    while (begin < end) {
      const int64_t n = std::min(walker.run(), end - begin);
      if (!body(index + walker.offset() * 8, n, walker.run_stride(), begin)) fine = false;
      walker.advance(n);
      begin += n;
    }
  });
  return fine;
}

bool inside(const AlongArgs& args) {
  Dims shape, strides;  // each position once
  for (int d = 0; d < args.lines.size(); ++d) {
    if (args.index_lines[d] == 0 && args.lines[d] > 0) continue;
    shape.push_back(args.lines[d]);
    strides.push_back(args.index_lines[d]);
  }
  shape.push_back(args.count);
  strides.push_back(args.index_step);
  const uint64_t low = args.wraps ? -args.size : 0, highest = args.size - 1;
  return all_runs(shape, strides, args.index,
                  [=](const char* from, int64_t n, int64_t step, int64_t) {
                    auto row = [=](int64_t step) {
                      uint64_t signs = 0;  // of what no position may be below, and above
                      for (int64_t k = 0; k < n; ++k) {
                        const uint64_t p = read<uint64_t>(from + k * step * 8);
                        signs |= (p - low) | (highest - p);
                      }
                      return signs >> 63 == 0;
                    };
                    return step == 1 ? row(1) : row(step);
                  });
}

bool offsets(int64_t* offsets, bool first, const Dims& shape, const Dims& strides,
             const char* index, int64_t size, int64_t stride) {
  return all_runs(
      shape, strides, index, [=](const char* from, int64_t n, int64_t step, int64_t begin) {
        bool outside = false;
        for (int64_t k = 0; k < n; ++k) {
          const int64_t p = from_front(read<int64_t>(from + k * step * 8), size);
          const bool bad = (p < 0) | (p >= size);
          outside |= bad;
          offsets[begin + k] = (bad ? 0 : p) * stride + (first ? 0 : offsets[begin + k]);
        }
        return !outside;
      });
}

}  // namespace

extern const GatherTable gather_table = {pick, place, inside, offsets};

}  // namespace tt::cpu
