// Rows of several arrays, side by side.
#include "core/tables/join.h"

#include <cstring>

namespace tt::cpu {

namespace {

void join(const JoinArgs& args) {
  for (int64_t row = 0; row < args.rows; ++row) {
    char* to = args.out + row * args.out_row;
    for (int k = 0; k < args.count; ++k) {
      std::memcpy(to, args.parts[k] + row * args.bytes[k], args.bytes[k]);
      to += args.bytes[k];
    }
  }
}

}  // namespace

extern const JoinTable join_table = {join};

}  // namespace tt::cpu
