// What call.py calls of a student's file: elements of 1, 2, 4 and 8 bytes.
#include STUDENT

#define ENTRY(name, type)                                                                   \
  extern "C" __attribute__((visibility("default"))) void name(                              \
      const type* x, type* y, int64_t dims, const int64_t* shape, const int64_t* strides) { \
    compact<type>(x, y, static_cast<int>(dims), shape, strides);                            \
  }
ENTRY(compact_1, uint8_t)
ENTRY(compact_2, int16_t)
ENTRY(compact_4, float)
ENTRY(compact_8, double)
