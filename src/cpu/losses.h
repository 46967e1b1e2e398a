// The losses' table; each kernel is compiled once, for the baseline.
#pragma once
#include "core/kernels/losses.h"

namespace tt::cpu {

void ctc(const CtcArgs& args);
void ctc_backward(const CtcArgs& args);

extern const LossTable loss_table;

}  // namespace tt::cpu
