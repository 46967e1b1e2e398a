// Kernels of indexing: along a dim (along.cpp), by masks (masks.cpp), in another order
// (arrange.cpp).
#pragma once
#include "core/tables/gather.h"

namespace tt::cpu {

bool pick(const AlongArgs& args);
bool place(const AlongArgs& args, Place op);
bool inside(const AlongArgs& args);
bool offsets(int64_t* offsets, bool first, const Dims& shape, const Dims& strides,
             const char* index, int64_t size, int64_t stride);

int64_t mask_count(const MaskArgs& args);
void mask_positions(const MaskArgs& args, const Dims& shape, int64_t* out);
void mask_pick(const MaskArgs& args, const char* x, char* out, int64_t item);
void mask_place(const MaskArgs& args, char* x, const char* from, int64_t item);

void copy_reversed(const char* x, char* out, const Dims& shape, const Dims& x_strides,
                   const Dims& out_strides, int64_t item);
void triangle(const char* x, char* out, int64_t matrices, int64_t rows, int64_t columns,
              int64_t diagonal, bool lower, int64_t item);

int64_t total_count(const int64_t* counts, int64_t step, int64_t size);
void repeat(const int64_t* counts, int64_t step, int64_t size, int64_t* out);
void join(const JoinArgs& args);

constexpr IndexTable index_table = {pick,          place,          inside,      offsets,
                                    mask_count,    mask_positions, mask_pick,   mask_place,
                                    copy_reversed, triangle,       total_count, repeat,
                                    join};

// Calls body(T{}) with an unsigned integer as wide as an element: enough to move it.
template <class Body>
void with_size(int64_t size, Body&& body) {
  switch (size) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    default:
      return body(uint64_t{});
  }
}

}  // namespace tt::cpu
