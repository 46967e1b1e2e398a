// The parts of a convolution's result: pixels on a grid that see the source through the same taps.
#pragma once
#include <array>
#include <vector>

#include "core/tables/conv.h"

namespace tt {

// Pixels of the result along one dim, `step` apart, and the taps that they see the source through.
struct ConvLine {
  int64_t first = 0, step = 1, count = 0;
  struct Tap {
    int64_t index, shift;
  };
  std::vector<Tap> taps;
};

using ConvLines = std::array<std::vector<ConvLine>, 3>;  // in each dim; every combination is a part

// y: one line, which sees x through all taps.
ConvLine line_of_y(const ConvArgs& g, int dim);

// The lines of x or y: few, some of whose pixels see what lies outside of the source; or as many as
// it takes that no pixel does.
ConvLines find_lines(const ConvArgs& g, ConvResult result);
ConvLines find_exact_lines(const ConvArgs& g, ConvResult result);

// Whether some pixels see nothing of the source.
bool has_unseen(const ConvLines& lines);

struct ConvPlan {
  std::vector<ConvTap> taps;
  std::vector<ConvPart> parts;
};

ConvPlan make_plan(const ConvLines& lines, const int64_t* w_strides, const int64_t* result_strides);

}  // namespace tt
