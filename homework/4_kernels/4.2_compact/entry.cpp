// What call.py calls of a student's file: elements of 1, 2, 4 and 8 bytes.
#include STUDENT

#define COMPACT(name, type)                                                   \
  ENTRY void name(const type* x, type* y, int64_t dims, const int64_t* shape, \
                  const int64_t* strides) {                                   \
    compact<type>(x, y, static_cast<int>(dims), shape, strides);              \
  }
COMPACT(compact_1, uint8_t)
COMPACT(compact_2, int16_t)
COMPACT(compact_4, float)
COMPACT(compact_8, double)
