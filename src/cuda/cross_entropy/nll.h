// The losses of classes that take a thread per line, and what a mean is divided by.
#pragma once
#include "core/tables/cross_entropy.h"

namespace tt::cuda {

void nll(const CrossEntropyArgs& args);
void nll_backward(const CrossEntropyArgs& args);
bool labels(const LabelArgs& args);
void average(const AverageArgs& args);

}  // namespace tt::cuda
