// The losses of classes that are compiled once, for the baseline.
#pragma once
#include "core/tables/cross_entropy.h"

namespace tt::cpu {

void nll(const CrossEntropyArgs& args);
void nll_backward(const CrossEntropyArgs& args);
bool labels(const LabelArgs& args);
void average(const AverageArgs& args);
double sum_of(const float* x, int64_t n);  // in an order that depends on n alone
double sum_of(const double* x, int64_t n);

}  // namespace tt::cpu
