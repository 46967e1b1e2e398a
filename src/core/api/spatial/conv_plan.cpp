#include "core/api/spatial/conv_plan.h"

#include <algorithm>

#include "core/dims.h"
#include "core/memory/allocator.h"

namespace tt {

namespace {

// How many pixels of a line see an element of the source through a tap.
int64_t count_seeing(const ConvLine& line, const ConvLine::Tap& tap, int64_t source_step,
                     int64_t size) {
  const int64_t first = tap.shift < 0 ? ceil_div(-tap.shift, source_step) : 0;
  const int64_t left = size - tap.shift;
  const int64_t end = left <= 0 ? 0 : std::min(line.count, ceil_div(left, source_step));
  return std::max<int64_t>(0, end - first);
}

// Drops taps that see nothing of the source. If so few of the others do that most products would be
// with zeros, every pixel gets a line of its own.
void add_line(std::vector<ConvLine>& lines, const ConvLine& line, int64_t source_step,
              int64_t size) {
  ConvLine seen = line;
  seen.taps.clear();
  int64_t pairs = 0;
  for (const ConvLine::Tap& tap : line.taps) {
    const int64_t count = count_seeing(line, tap, source_step, size);
    pairs += count;
    if (count > 0) seen.taps.push_back(tap);
  }
  const int64_t products = line.count * static_cast<int64_t>(seen.taps.size());
  if (2 * pairs > products || line.count == 1 || line.count > 16) {
    lines.push_back(seen);
    return;
  }
  for (int64_t i = 0; i < line.count; ++i) {
    ConvLine one{line.first + i * line.step, line.step, 1, seen.taps};
    for (ConvLine::Tap& tap : one.taps) tap.shift += i * source_step;
    add_line(lines, one, source_step, size);
  }
}

// A line for each run of pixels that see the source through the same taps: no product is with what
// lies outside.
void add_exact_lines(std::vector<ConvLine>& lines, const ConvLine& line, int64_t source_step,
                     int64_t size) {
  const auto sees = [&](int64_t pixel, const ConvLine::Tap& tap) {
    const int64_t at = pixel * source_step + tap.shift;
    return 0 <= at && at < size;
  };
  for (int64_t first = 0, end; first < line.count; first = end) {
    ConvLine run{line.first + first * line.step, line.step, 0, {}};
    end = line.count;
    for (const ConvLine::Tap& tap : line.taps) {
      const bool seen = sees(first, tap);
      if (seen) run.taps.push_back({tap.index, tap.shift + first * source_step});
      for (int64_t i = first + 1; i < end; ++i)
        if (sees(i, tap) != seen) end = i;
    }
    run.count = end - first;
    lines.push_back(run);
  }
}

using AddLine = decltype(add_line);

// x: pixel i sees y's pixel (i + padding - t * dilation) / stride where that is whole, so it has
// its taps in common with pixel i + stride.
void add_lines_of_x(std::vector<ConvLine>& lines, const ConvArgs& g, int d, AddLine add) {
  const int64_t stride = g.stride[d];
  Allocator::expect(double(g.taps[d]) * (sizeof(int64_t) + sizeof(ConvLine::Tap)));
  std::vector<int64_t> firsts;
  for (int64_t t = 0; t < g.taps[d]; ++t) {
    const int64_t first = (t * g.dilation[d] - g.padding[d]) % stride;
    firsts.push_back(first < 0 ? first + stride : first);
  }
  std::sort(firsts.begin(), firsts.end());
  firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
  firsts.erase(std::lower_bound(firsts.begin(), firsts.end(), g.x_size[d]), firsts.end());
  // However many pixels see nothing, one line says that there are such.
  if (static_cast<int64_t>(firsts.size()) < std::min(stride, g.x_size[d])) lines.push_back({});
  for (int64_t i : firsts) {
    ConvLine line{i, stride, ceil_div(g.x_size[d] - i, stride), {}};
    for (int64_t t = 0; t < g.taps[d]; ++t) {
      const int64_t at = i + g.padding[d] - t * g.dilation[d];
      if (at % stride == 0) line.taps.push_back({t, at / stride});
    }
    add(lines, line, 1, g.y_size[d]);
  }
}

ConvLines lines_of(const ConvArgs& g, ConvResult result, AddLine add) {
  ConvLines lines;
  for (int d = 0; d < 3; ++d) {
    if (result == ConvResult::X)
      add_lines_of_x(lines[d], g, d, add);
    else
      add(lines[d], line_of_y(g, d), g.stride[d], g.x_size[d]);
  }
  return lines;
}

}  // namespace

ConvLine line_of_y(const ConvArgs& g, int d) {
  Allocator::expect(double(g.taps[d]) * sizeof(ConvLine::Tap));
  ConvLine line{0, 1, g.y_size[d], {}};
  for (int64_t t = 0; t < g.taps[d]; ++t)
    line.taps.push_back({t, t * g.dilation[d] - g.padding[d]});
  return line;
}

ConvLines find_lines(const ConvArgs& g, ConvResult result) { return lines_of(g, result, add_line); }
ConvLines find_exact_lines(const ConvArgs& g, ConvResult result) {
  return lines_of(g, result, add_exact_lines);
}

bool has_unseen(const ConvLines& lines) {
  for (const std::vector<ConvLine>& along : lines)
    for (const ConvLine& line : along)
      if (line.taps.empty()) return true;
  return false;
}

// Every combination of a line in each dim is a part.
ConvPlan make_plan(const ConvLines& lines, const int64_t* w_strides,
                   const int64_t* result_strides) {
  ConvPlan plan;
  std::vector<size_t> first_taps;
  for (const ConvLine& d : lines[0]) {
    for (const ConvLine& h : lines[1]) {
      for (const ConvLine& w : lines[2]) {
        const ConvLine* all[] = {&d, &h, &w};
        ConvPart part{};
        for (int i = 0; i < 3; ++i) {
          part.size[i] = all[i]->count;
          part.result += all[i]->first * result_strides[i + 2];
          part.strides[i] = all[i]->step * result_strides[i + 2];
          const std::vector<ConvLine::Tap>& taps = all[i]->taps;
          if (taps.empty()) continue;
          const auto [low, high] = std::minmax_element(
              taps.begin(), taps.end(), [](auto& a, auto& b) { return a.shift < b.shift; });
          part.lowest_shift[i] = low->shift;
          part.highest_shift[i] = high->shift;
        }
        first_taps.push_back(plan.taps.size());
        for (const ConvLine::Tap& i : d.taps)
          for (const ConvLine::Tap& j : h.taps)
            for (const ConvLine::Tap& k : w.taps)
              plan.taps.push_back(
                  {{i.shift, j.shift, k.shift},
                   i.index * w_strides[2] + j.index * w_strides[3] + k.index * w_strides[4]});
        part.tap_count = plan.taps.size() - first_taps.back();
        plan.parts.push_back(part);
      }
    }
  }
  for (size_t i = 0; i < plan.parts.size(); ++i)
    plan.parts[i].taps = plan.taps.data() + first_taps[i];
  return plan;
}

}  // namespace tt
