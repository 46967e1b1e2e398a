// Attention on the CPU: what each build for an instruction set exports, and embeddings.
#pragma once
#include "core/tables/attention.h"

namespace tt::cpu {

extern const AttentionTable embedding_table;  // the bags only

#define TT_DECLARE_ATTENTION(isa)              \
  namespace isa {                              \
  extern const AttentionTable attention_table; \
  }  // all but the bags
TT_DECLARE_ATTENTION(v2)
TT_DECLARE_ATTENTION(v3)
TT_DECLARE_ATTENTION(v4)
TT_DECLARE_ATTENTION(base)
#undef TT_DECLARE_ATTENTION

}  // namespace tt::cpu
