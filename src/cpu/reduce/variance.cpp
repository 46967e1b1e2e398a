// Variances and norms of lines. A line is cut in parts that stay in a cache while they are read
// twice, for the mean and for the squared distances from it (from 0 for a norm); parts are merged
// in double. Built once per instruction set.
#include "core/tables/reduce.h"
#include "cpu/infra/line_ops.h"
#include "cpu/infra/scratch.h"

namespace tt::cpu {
namespace {

constexpr int64_t kPart = 4096;

struct Moments {
  double count = 0;
  double near = 0, rest = 0;  // whose sum is the mean: one double might not hold it
  double squares = 0;         // of distances from the mean

  void merge(const Moments& other) {
    if (count == 0) {
      *this = other;
      return;
    }
    const double distance = (other.near - near) + (other.rest - rest);
    const double total = count + other.count;
    rest += distance * (other.count / total);
    squares += other.squares + distance * distance * (count * other.count / total);
    count = total;
  }
};

struct MomentArgs {
  Lines lines;
  Moments* out;  // of the line k: out[k / group * stride + k % group]
  int64_t group, stride;
};

// Of lines that are not `centered` the mean is left out, and counts as 0.
template <class T, bool kCentered>
struct FindMoments {
  using Args = MomentArgs;

  // Powers of two for each line, which change no digit: elements, and then their distances from the
  // mean, are multiplied by them.
  template <class View>
  struct Scales {
    typename View::Stat down{}, up{};
  };

  // Answers the sums of squares, of which little may be left.
  template <bool kScaled, class View>
  static typename View::Stat find(const View& view, const Scales<View>& scales, Moments* out) {
    using Stat = typename View::Stat;
    const T n = static_cast<T>(view.size);
    const auto scaled = [&](const auto& at, Vec<T> x) { return kScaled ? x * scales.down[at] : x; };
    Stat sum[1], rest[2], mean{}, near{};
    if constexpr (kCentered) {
      view.reduce(sum, T(0), Plus(), [&](const auto& at, Vec<T>(&term)[1]) {
        at.prefetch_next(0);
        term[0] = scaled(at, at.load(0));
      });
      mean = near = sum[0].map([=](Vec<T> v) { return v / n; });
    }
    if constexpr (kScaled && kCentered)
      for (int64_t k = 0; k < view.lines(); ++k) near.line(k) = mean.line(k) / scales.down.line(k);
    view.reduce(rest, T(0), Plus(), [&](const auto& at, Vec<T>(&terms)[2]) {
      // What is padded is the mean, and has no distance.
      terms[0] = scaled(at, at.load(0, near.line(at.number))) - mean[at];
      if constexpr (kScaled) terms[0] *= scales.up[at];
      terms[1] = terms[0] * terms[0];
    });
    for (int64_t k = 0; k < view.lines(); ++k) {
      const double count = static_cast<double>(view.size);
      const double unit = kScaled ? 1.0 / scales.down.line(k) / scales.up.line(k) : 1.0;
      const double far = static_cast<double>(rest[0].line(k));  // what rounding left of the mean
      const double left = kCentered ? far * (far / count) : 0;
      const double squares = static_cast<double>(rest[1].line(k)) - left;
      out[k] = {count, static_cast<double>(near.line(k)), far / count * unit,
                (squares < 0 ? 0 : squares) * unit * unit};
    }
    return rest[1];
  }

  template <class View>
  static void apply(const View& view, const Args& a, int64_t position) {
    Moments found[sizeof(typename View::Stat) / sizeof(T)];
    Scales<View> scales;
    const auto squares = find<false>(view, scales, found);
    if constexpr (std::is_same_v<T, float>) {  // squares that overflow or vanish
      bool again = false;
      for (int64_t k = 0; k < view.lines(); ++k) {
        const bool small = squares.line(k) < 0x1p-90f * static_cast<float>(view.size);
        const bool large = !(squares.line(k) < 0x1p126f);
        scales.down.line(k) = large ? 0x1p-100f : 1;
        scales.up.line(k) = small ? 0x1p100f : 1;
        again |= small | large;
      }
      if (again) find<true>(view, scales, found);
    }
    for (int64_t k = 0; k < view.lines(); ++k) {
      const int64_t line = position + k;
      a.out[line / a.group * a.stride + line % a.group] = found[k];
    }
  }
};

template <class T, bool kCentered>
void variance_as(const VarianceArgs& a) {
  const int64_t size = a.lines.size, count = a.lines.count;
  // All parts but a last one that is shorter are lines of their own.
  const int64_t parts = (size - 1) / kPart, whole = parts * kPart;
  const Scratch<Moments> moments(count * (parts + 1));
  if (parts)
    run<T, FindMoments<T, kCentered>, true>(
        {in_parts(a.lines, kPart, parts), moments.data, parts, parts + 1});
  Lines some = a.lines;
  some.stream[0].data += some.stream[0].step * whole;
  some.size = size - whole;
  run<T, FindMoments<T, kCentered>, true>({some, moments.data + parts, 1, parts + 1});
  for (int64_t k = 0; k < count; ++k) {
    Moments all;
    for (int64_t part = 0; part <= parts; ++part) {
      const Moments& other = moments.data[k * (parts + 1) + part];
      kCentered ? all.merge(other) : void(all.squares += other.squares);
    }
    const double variance = all.squares / a.freedom;
    numbers<T>(a.out)[k] = static_cast<T>(a.root ? __builtin_sqrt(variance) : variance);
  }
}

template <class T>
void typed(const VarianceArgs& args) {
  args.centered ? variance_as<T, true>(args) : variance_as<T, false>(args);
}
void variance(const VarianceArgs& args) {
  args.lines.compute == DType::Float32 ? typed<float>(args) : typed<double>(args);
}

}  // namespace

namespace TT_ISA {
extern const ReduceTable reduce_variance_table = {{}, {}, {}, nullptr, variance};
}

}  // namespace tt::cpu
