// The histograms' table; each kernel is compiled once, for the baseline.
#pragma once
#include "core/tables/histogram.h"

namespace tt::cpu {

extern const HistogramTable histogram_table;

}  // namespace tt::cpu
