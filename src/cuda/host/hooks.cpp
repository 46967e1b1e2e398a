// What -fsanitize=thread and -fsanitize=bounds call from kernels, under the names of the compiler's
// own libraries, which are not linked.
#include <cstdint>

#include "core/error.h"
#include "cuda/host/accesses.h"

using tt::emulated::Access;

#define TT_HOOK extern "C" __attribute__((visibility("default")))

TT_HOOK void __tsan_init() {}
// Before a constructor sets an object's table of virtual functions: the host's, as an error's.
TT_HOOK void __tsan_vptr_update(void**, void*) {}

#define TT_CHECK(name, bytes, kind)                                                 \
  TT_HOOK void name(void* address) {                                                \
    tt::emulated::check(address, bytes, Access::kind, __builtin_return_address(0)); \
  }
#define TT_CHECKS(bytes)                              \
  TT_CHECK(__tsan_read##bytes, bytes, Read)           \
  TT_CHECK(__tsan_write##bytes, bytes, Write)         \
  TT_CHECK(__tsan_unaligned_read##bytes, bytes, Read) \
  TT_CHECK(__tsan_unaligned_write##bytes, bytes, Write)
TT_CHECKS(1)
TT_CHECKS(2)
TT_CHECKS(4)
TT_CHECKS(8)
TT_CHECKS(16)

// Copies of structs, element by element: their address is aligned to no more than that.
TT_HOOK void __tsan_read_range(void* address, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k)
    tt::emulated::check(static_cast<char*>(address) + k, 1, Access::Read,
                        __builtin_return_address(0));
}
TT_HOOK void __tsan_write_range(void* address, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k)
    tt::emulated::check(static_cast<char*>(address) + k, 1, Access::Write,
                        __builtin_return_address(0));
}

// The compiler passes the index and the type of the array: {file, line, column}, array, index.
struct OutOfBounds {
  struct {
    const char* file;
    uint32_t line, column;
  } location;
  const struct Type {
    uint16_t kind, info;
    char name[1];
  } *array, *index;
};

TT_HOOK void __ubsan_handle_out_of_bounds(OutOfBounds* data, uintptr_t index) {
  if (!tt::emulated::is_in_kernel()) return;
  tt::emulated::fail(tt::format("index ", static_cast<intptr_t>(index), " is out of bounds of ",
                                data->array->name),
                     __builtin_return_address(0));
}
