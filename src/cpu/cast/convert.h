// Rows converted from one dtype to another: the table that each instruction set exports.
#pragma once
#include "cpu/infra/run.h"

namespace tt::cpu {

// [from][to]: out[i] = x[i], converted.
struct ConversionTable {
  Loop loops[kDTypes][kDTypes];
};

}  // namespace tt::cpu
