#include "core/api/spatial/resample_interpolate.h"

#include <cmath>

#include "core/api/spatial/nn_layout.h"
#include "core/api/spatial/resample.h"

namespace tt {

namespace {

struct Settings {
  Interpolation mode;
  bool align_corners, antialias;
};

// All below is computed in R, the dtype of x (or float), as PyTorch does: where a position falls
// between two elements depends on the rounding.
template <class R>
R step_of(int64_t in, int64_t out, bool align_corners, const std::optional<double>& scale) {
  if (align_corners) return out > 1 ? static_cast<R>(in - 1) / static_cast<R>(out - 1) : R(0);
  return scale && *scale > 0 ? static_cast<R>(1.0 / *scale)
                             : static_cast<R>(in) / static_cast<R>(out);
}

int64_t inside(int64_t i, int64_t size) { return std::min(std::max<int64_t>(i, 0), size - 1); }

// Keys' cubic through the neighbours (a = -0.75), or of PIL (-0.5).
template <class R>
R cubic(R x, R a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : R(0);
}

template <class R>
R filter(Interpolation mode, R x) {
  if (mode == Interpolation::Cubic) return cubic(x, R(-0.5));
  if (mode == Interpolation::Linear) return std::max(1 - std::abs(x), R(0));
  if (x == 0) return 1;
  const R angle = static_cast<R>(M_PI) * x;
  return std::abs(x) < 3 ? 3 * std::sin(angle) * std::sin(angle / 3) / (angle * angle) : R(0);
}

// The filter as wide as a step, its weights divided by their sum.
template <class R>
void add_antialiased(AxisMap& map, int64_t i, R step, const Settings& s) {
  const R width = s.mode == Interpolation::Linear ? 2 : s.mode == Interpolation::Cubic ? 4 : 6;
  const R support = step >= 1 ? width / 2 * step : width / 2, inverse = step >= 1 ? 1 / step : R(1);
  const R half = 0.5, center = step * (static_cast<R>(i) + half);
  const int64_t begin = std::max<int64_t>(static_cast<int64_t>(center - support + half), 0);
  const int64_t end = std::min(static_cast<int64_t>(center + support + half), map.in);
  const size_t first = map.weight.size();
  R total = 0;
  for (int64_t k = begin; k < end; ++k) {
    const R weight = filter<R>(s.mode, (static_cast<R>(k) - center + half) * inverse);
    map.source.push_back(k);
    map.weight.push_back(weight);
    total += weight;
  }
  for (size_t k = first; k < map.weight.size(); ++k)
    if (total != 0) map.weight[k] = static_cast<R>(map.weight[k]) / total;
}

template <class R>
void add_output(AxisMap& map, int64_t i, R step, const Settings& s) {
  if (s.mode == Interpolation::Nearest || s.mode == Interpolation::NearestExact) {
    const R at = s.mode == Interpolation::Nearest ? static_cast<R>(i) : static_cast<R>(i) + R(0.5);
    map.source.push_back(inside(static_cast<int64_t>(std::floor(float(at * step))), map.in));
    return;
  }
  if (s.antialias) return add_antialiased(map, i, step, s);
  const bool smooth = s.mode == Interpolation::Cubic;
  R at = s.align_corners ? step * static_cast<R>(i) : step * (static_cast<R>(i) + R(0.5)) - R(0.5);
  if (map.in == map.out && !smooth) at = static_cast<R>(i);
  if (!smooth) at = std::max(at, R(0));
  const int64_t before = std::min(static_cast<int64_t>(std::floor(at)), map.in - 1);
  const R between = std::min(std::max(at - static_cast<R>(before), R(0)), R(1));
  if (!smooth) {
    map.source.push_back(before);
    map.source.push_back(map.in == map.out ? before : inside(before + 1, map.in));
    map.weight.push_back(1 - between);
    map.weight.push_back(between);
    return;
  }
  for (int64_t k = -1; k < 3; ++k) {
    map.source.push_back(inside(before + k, map.in));
    map.weight.push_back(cubic(between - static_cast<R>(k), R(-0.75)));
  }
}

template <class R>
AxisMap make_map(int64_t in, int64_t out, const Settings& s, const std::optional<double>& scale) {
  AxisMap map(in, out);
  const R step = step_of<R>(in, out, s.align_corners, scale);
  for (int64_t i = 0; i < out; ++i) {
    add_output(map, i, step, s);
    map.end_output();
  }
  return map;
}

}  // namespace

NDArray interpolate(const NDArray& x, const Dims& size, int64_t mode, bool align_corners,
                    bool antialias, const std::optional<double>& scale0,
                    const std::optional<double>& scale1, const std::optional<double>& scale2,
                    bool transposed, bool channels_last) {
  const Settings settings = {static_cast<Interpolation>(mode), align_corners, antialias};
  const std::optional<double>* scales[] = {&scale0, &scale1, &scale2};
  const bool nearest =
      settings.mode == Interpolation::Nearest || settings.mode == Interpolation::NearestExact;
  const double taps = nearest ? 1 : settings.mode == Interpolation::Linear ? 2 : 4;
  Dims ins, outs;
  double sources = 0;
  for (int d = 0; d < size.size() && d < 3 && d + 2 < x.ndim(); ++d) {
    ins.push_back(transposed ? size[d] : x.shape()[d + 2]);
    outs.push_back(transposed ? x.shape()[d + 2] : size[d]);
    const double in = double(ins[d]), out = double(outs[d]);
    sources += antialias ? std::min(in, 6 * in / out + 8) * out : taps * out;
  }
  expect_tables(x, size, ins, outs, sources, !nearest);
  std::vector<AxisMap> axes;
  for (int d = 0; d < ins.size(); ++d)
    axes.push_back(x.dtype() == DType::Float64
                       ? make_map<double>(ins[d], outs[d], settings, *scales[d])
                       : make_map<float>(ins[d], outs[d], settings, *scales[d]));
  return resample(x, std::move(axes), transposed, channels_last);
}

}  // namespace tt
