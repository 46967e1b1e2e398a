// Copies between layouts and dtypes.
#include "core/tables/cast.h"

#include <cstring>

#include "cpu/cast/copy_blocks.h"
#include "cpu/infra/drive.h"

namespace tt::cpu {

namespace {

// Elements as they are, in rows that follow one another where both have neighbours there.
struct Copy {
  Loop strided;
  int64_t item;
  bool past_caches;  // what is written is more than they hold: it need not be read into them first

  ~Copy() {
#ifdef __SSE2__
    if (past_caches) __builtin_ia32_sfence();
#endif
  }
  void operator()(char* const* data, const int64_t* strides, int64_t n) const {
    if (strides[0] != item || strides[1] != item) return strided(data, strides, n);
    char* to = data[0];
    const char* from = data[1];
    int64_t bytes = n * item;
#ifdef __SSE2__
    if (past_caches && bytes >= 64) {
      typedef long long Words __attribute__((vector_size(16)));
      const int64_t head = -reinterpret_cast<intptr_t>(to) & 15;
      if (head) std::memcpy(to, from, 16);
      to += head, from += head, bytes -= head;
      for (; bytes >= 16; to += 16, from += 16, bytes -= 16) {
        Words words;
        std::memcpy(&words, from, sizeof words);
        __builtin_ia32_movntdq(reinterpret_cast<Words*>(to), words);
      }
    }
#endif
    std::memcpy(to, from, bytes);
  }
};

void copy(const Iter& iter) {
  if (iter.numel == 0) return;
  const Loop loop = conversion(iter.compute, iter.result);
  const DType from = iter.operands[1].dtype, to = iter.operands[0].dtype;
  if (iter.compute != from || iter.result != to) return run(iter, loop);
  if (iter.ndim == 1 || from != to) return run_rows(iter, loop);
  if (copy_in_blocks(iter)) return;
  const int64_t item = itemsize(to);
  const bool past_caches = iter.numel * item >= kPastCaches;
  drive(iter, iter.numel, !past_caches, [=] { return Copy{loop, item, past_caches}; });
}

}  // namespace

extern const CastTable cast_table = {copy};

}  // namespace tt::cpu
