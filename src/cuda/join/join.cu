// Rows of several arrays, side by side: each thread moves as many bytes at once as all rows are
// multiples of, at most 8.
#include "core/dtypes/with_type.h"
#include "core/tables/join.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

template <class T>
__global__ void join_rows(const JoinArgs args, const int64_t width) {
  const int64_t i = thread_index();
  if (i >= args.rows * width) return;
  const int64_t row = i / width;
  int64_t byte = i % width * static_cast<int64_t>(sizeof(T));  // in the row, then in its part
  char* const to = args.out + row * args.out_row + byte;
  int k = 0;
  for (; byte >= args.bytes[k]; ++k) byte -= args.bytes[k];
  *reinterpret_cast<T*>(to) =
      *reinterpret_cast<const T*>(args.parts[k] + row * args.bytes[k] + byte);
}

void join(const JoinArgs& args) {
  int64_t row = 0;
  uint64_t all = args.out_row | reinterpret_cast<uintptr_t>(args.out);
  for (int k = 0; k < args.count; ++k) {
    row += args.bytes[k];
    all |= args.bytes[k] | reinterpret_cast<uintptr_t>(args.parts[k]);
  }
  const int64_t unit = all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : all % 2 == 0 ? 2 : 1;
  with_size(unit, [&](auto type) {
    launch<join_rows<decltype(type)>>(grid_of(args.rows * (row / unit)), args, row / unit);
  });
}

}  // namespace

const JoinTable join_table = {join};

}  // namespace tt::cuda
