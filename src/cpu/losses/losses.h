// The losses' table; each kernel is compiled once, for the baseline.
#pragma once
#include "core/tables/losses.h"

namespace tt::cpu {

bool labels(const LabelArgs& args);
void average(const AverageArgs& args);
void nll(const NllArgs& args);
void nll_backward(const NllArgs& args);
bool ctc_labels(const CtcArgs& args);
void ctc(const CtcArgs& args);
void ctc_backward(const CtcArgs& args);

extern const LossTable loss_table;

}  // namespace tt::cpu
