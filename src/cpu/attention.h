// Attention on the CPU: what each build for an instruction set exports, and embeddings.
#pragma once
#include "core/kernels/attention.h"

namespace tt::cpu {

extern const AttentionTable embedding_table;

}  // namespace tt::cpu
