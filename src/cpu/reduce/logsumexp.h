// logsumexp is written over lines, as softmax is: a file of its own.
#pragma once
#include "core/tables/reduce.h"

namespace tt::cpu::TT_ISA {

void logsumexp(const LogSumExpArgs& args);

}  // namespace tt::cpu::TT_ISA
