// Batch norm's running mean and variance, compiled once, for the baseline.
#pragma once
#include "core/tables/batch_norm.h"

namespace tt::cpu {

void running_update(const RunningArgs& args);
void running_read(const RunningArgs& args);

}  // namespace tt::cpu
