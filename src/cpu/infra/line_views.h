// One formula for a line along a dim, whether its elements are neighbours or neighbouring lines
// stand side by side.
//
// A view shows some lines, and answers sums and maxima over each. Element r goes to lane
// r mod kLineLanes of a sum, and the lanes combine in halves: both views give the same bits. Built
// once per instruction set.
#pragma once
#include "cpu/vec/vec_fold.h"
#include "cpu/vec/vec_math.h"

namespace tt::cpu {
namespace {

constexpr int kLineLanes = 32;

template <class T>
const T* numbers(const char* data) {
  return reinterpret_cast<const T*>(data);
}
template <class T>
T* numbers(char* data) {
  return reinterpret_cast<T*>(data);
}

struct Larger {  // a NaN in `a` is forgotten: the sums that follow find it again
  template <class V>
  V operator()(V a, V b) const {
    return a > b ? a : b;
  }
};

// A number for each of the lines that a view shows. At a place of the view it is a vector: those of
// the lines that meet there, or of one line in all lanes.
template <class T, int kVectors>
struct PerLine {
  Vec<T> vectors[kVectors];

  template <class At>
  Vec<T> operator[](const At& at) const {
    return at.of(vectors);
  }
  T& line(int64_t k) { return reinterpret_cast<T*>(vectors)[k]; }
  T line(int64_t k) const { return reinterpret_cast<const T*>(vectors)[k]; }
  template <class F>
  PerLine map(F f) const {
    PerLine result;
    for (int v = 0; v < kVectors; ++v) result.vectors[v] = f(vectors[v]);
    return result;
  }
};

// Lines whose elements, of S in memory, are neighbours. Of several, sums wait for each other only
// at their ends.
template <class S>
struct Rows {
  using T = Computed<S>;
  using Stat = PerLine<T, 1>;
  static constexpr int kVectors = kLineLanes / lanes<T>;
  static constexpr int kMost = lanes<T>;
  char* const* data;
  const int64_t* steps;  // bytes from one line to the next
  int64_t size, count;   // of a line; lines, at most kMost

  int64_t lines() const { return count; }
  S* at_line(int stream, int64_t i, int64_t line) const {
    return reinterpret_cast<S*>(data[stream] + line * steps[stream]) + i;
  }

  // Elements [i, i + n) of a line; the other lanes are `pad`.
  struct Line {
    S* data[3];
    int64_t number, size;
    Vec<T> of(const Vec<T>* per_line) const {
      return splat(reinterpret_cast<const T*>(per_line)[number]);
    }
  };
  struct Whole : Line {
    int64_t i;
    Vec<T> load(int stream, T = 0) const { return cpu::Whole<T>().load(this->data[stream] + i); }
    // Called for what the next elements, or the next lines, read and write, while there is
    // something to compute: the processor's own prefetching comes late, and for what is written not
    // at all.
    void prefetch(int stream) const { __builtin_prefetch(this->data[stream] + i + 512); }
    void prefetch_next(int stream) const {
      __builtin_prefetch(this->data[stream] + i + this->size);
    }
    Vec<T> load_class(const T* per_class) const { return tt::cpu::load(per_class + i); }
    void store_class(T* per_class, Vec<T> v) const { tt::cpu::store(per_class + i, v); }
    void store(int stream, Vec<T> v) const { cpu::Whole<T>().store(this->data[stream] + i, v); }
  };
  struct Part : Line {
    int64_t i;
    Front<T> front;
    Vec<T> load(int stream, T pad = 0) const { return front.load(this->data[stream] + i, pad); }
    void prefetch_next(int) const {}
    void prefetch(int) const {}
    Vec<T> load_class(const T* per_class) const { return front.load(per_class + i, 0); }
    void store_class(T* per_class, Vec<T> v) const { front.store(per_class + i, v); }
    void store(int stream, Vec<T> v) const { front.store(this->data[stream] + i, v); }
  };

  // f(at, terms) answers what each of the sums gets from some elements: 0 for what is padded.
  template <int kSums, class Combine, class F>
  void reduce(Stat (&results)[kSums], T first, Combine combine, F f) const {
    Vec<T> sums[kSums][kMost];
    for (int64_t k = 0; k < count; ++k) {
      Vec<T> acc[kVectors][kSums];
      for (auto& vector : acc)
        for (auto& a : vector) a = splat(first);
      const Line line = line_at(k);
      int64_t i = 0;
      for (; i + kLineLanes <= size; i += kLineLanes)
        for (int v = 0; v < kVectors; ++v) step(acc[v], combine, f, Whole{line, i + v * lanes<T>});
      for (int v = 0; i < size; ++v, i += lanes<T>) {
        if (i + lanes<T> <= size)
          step(acc[v], combine, f, Whole{line, i});
        else
          step(acc[v], combine, f, Part{line, i, Front<T>(size - i)});
      }
      for (int half = kVectors / 2; half > 0; half /= 2)
        for (int v = 0; v < half; ++v)
          for (int s = 0; s < kSums; ++s) acc[v][s] = combine(acc[v][s], acc[v + half][s]);
      for (int s = 0; s < kSums; ++s) sums[s][k] = acc[0][s];
    }
    for (int s = 0; s < kSums; ++s) {
      if (count == 1) {
        results[s].vectors[0] = splat(fold<T, kVectorBytes>(sums[s][0], combine));
        continue;
      }
      for (int64_t k = count; k < kMost; ++k) sums[s][k] = splat(first);
      halve<T, kMost>(sums[s], combine);
      results[s].vectors[0] = sums[s][0];
    }
  }

  template <class F>
  void each(F f) const {
    for (int64_t k = 0; k < count; ++k) {
      const Line line = line_at(k);
      int64_t i = 0;
      for (; i + lanes<T> <= size; i += lanes<T>) f(Whole{line, i});
      if (i < size) f(Part{line, i, Front<T>(size - i)});
    }
  }
  // The same elements of all lines, then the next: f(at, state) each, where `begin(at)` gives the
  // state and `end(at, state)` takes it.
  template <class Begin, class F, class End>
  void across(Begin begin, F f, End end) const {
    Line line[kMost];
    for (int64_t k = 0; k < count; ++k) line[k] = line_at(k);
    auto all = [&](auto at) {
      auto state = begin(at);
      for (int64_t k = 0; k < count; ++k) {
        static_cast<Line&>(at) = line[k];
        f(at, state);
      }
      end(at, state);
    };
    int64_t i = 0;
    for (; i + lanes<T> <= size; i += lanes<T>) all(Whole{line[0], i});
    if (i < size) all(Part{line[0], i, Front<T>(size - i)});
  }

 private:
  Line line_at(int64_t k) const {
    Line line{};
    for (int s = 0; s < 3; ++s) line.data[s] = at_line(s, 0, k);
    line.number = k;
    line.size = size * count;
    return line;
  }
  template <int kSums, class Combine, class F, class At>
  static void step(Vec<T> (&acc)[kSums], Combine combine, F f, const At& at) {
    Vec<T> terms[kSums];
    f(at, terms);
    for (int s = 0; s < kSums; ++s) acc[s] = combine(terms[s], acc[s]);
  }
};

// kVectors vectors of neighbouring lines: many where there are as many, because memory is read best
// in long runs.
template <class T, int kVectors>
struct Columns {
  using Stat = PerLine<T, kVectors>;
  char* const* data;
  const int64_t* steps;  // bytes from one element to the next
  int64_t size;

  static constexpr int64_t lines() { return kVectors * lanes<T>; }
  T* at_line(int stream, int64_t i, int64_t line) const {
    return reinterpret_cast<T*>(data[stream] + i * steps[stream]) + line;
  }

  struct Whole {
    char* const* data;
    const int64_t* steps;
    int64_t i;
    int vector;
    int64_t number = 0;  // as Rows have
    T* at(int stream) const {
      return reinterpret_cast<T*>(data[stream] + i * steps[stream]) + vector * lanes<T>;
    }
    Vec<T> of(const Vec<T>* per_line) const { return per_line[vector]; }
    Vec<T> load(int stream, T = 0) const { return tt::cpu::load<T>(at(stream)); }
    void prefetch_next(int) const {}
    void prefetch(int) const {}
    Vec<T> load_class(const T* per_class) const { return splat(per_class[i]); }
    void store(int stream, Vec<T> v) const { tt::cpu::store(at(stream), v); }
  };

  template <int kSums, class Combine, class F>
  void reduce(Stat (&results)[kSums], T first, Combine combine, F f) const {
    Vec<T> acc[kLineLanes][kVectors][kSums];
    for (auto& lane : acc)
      for (auto& vector : lane)
        for (auto& a : vector) a = splat(first);
    for (int64_t i = 0; i < size; ++i)
      for (int v = 0; v < kVectors; ++v) {
        Vec<T> terms[kSums];
        f(Whole{data, steps, i, v}, terms);
        for (int s = 0; s < kSums; ++s) {
          Vec<T>& a = acc[i % kLineLanes][v][s];
          a = combine(terms[s], a);
        }
      }
    for (int half = kLineLanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l)
        for (int v = 0; v < kVectors; ++v)
          for (int s = 0; s < kSums; ++s) acc[l][v][s] = combine(acc[l][v][s], acc[l + half][v][s]);
    for (int s = 0; s < kSums; ++s)
      for (int v = 0; v < kVectors; ++v) results[s].vectors[v] = acc[0][v][s];
  }

  template <class F>
  void each(F f) const {
    for (int64_t i = 0; i < size; ++i)
      for (int v = 0; v < kVectors; ++v) f(Whole{data, steps, i, v});
  }
};

template <class T>
constexpr T kLowest = -__builtin_inf();

// The largest element of stream 0.
template <class T, class View>
typename View::Stat largest(const View& view) {
  typename View::Stat result[1];
  view.reduce(result, kLowest<T>, Larger(),
              [](const auto& at, Vec<T>(&term)[1]) { term[0] = at.load(0, kLowest<T>); });
  return result[0];
}

// e^x without the test for overflow, for x of at most 0, or hardly more. An x too small for any
// float, as masked scores are, gives 0 before a product would make it subnormal: that costs a
// hundred cycles.
inline Vec<float> exp_below(Vec<float> x) {
#ifdef __AVX512F__
  // One instruction scales, and is slow only where the result is just too small for a float.
  const ExpParts parts = exp_parts(select(x < -104.0f, splat(-1000.0f), x));
  return scale(parts.m, parts.n);
#else
  const ExpParts parts = exp_parts(at_least(x, -104.0f));
  const Vec<float> m = select(x < -104.0f, Vec<float>{}, parts.m);
  return m * power_of_two(parts.k + 64) * 5.42101086e-20f;  // 2^-64
#endif
}
inline Vec<double> exp_below(Vec<double> x) {
  x = at_least(x, -746.0);
  const Vec<double> shifted = multiply_add(x, kLog2E, kRoundDouble), n = shifted - kRoundDouble;
  // ln 2 in two: the upper part has 32 bits, so that its product with n is exact.
  const Vec<double> r =
      multiply_add(n, -1.9082149292705877e-10, multiply_add(n, -0.6931471803691238, x));
  const Vec<double> tail =
      polynomial(r, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800);
  const Vec<uint64_t> k = as_bits(shifted) - as_bits(splat(kRoundDouble));
  const Vec<double> m = 1 + multiply_add(r * r, tail, r);
  return m * power_of_two(k + 64) * 5.421010862427522e-20;
}

}  // namespace
}  // namespace tt::cpu
