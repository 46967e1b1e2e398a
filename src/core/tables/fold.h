// What a device computes of images as columns. Strides are in elements.
#pragma once
#include <cstdint>

namespace tt {

// An image's windows as columns: row (c * taps_h + h) * taps_w + w is what tap (h, w) of all
// windows sees of channel c; 0 outside of the image.
struct FoldArgs {
  int64_t batch, channels, size[2], windows[2], taps[2], stride[2], padding[2], dilation[2];
  void *image, *columns;
  int64_t image_strides[4], column_strides[3];  // (N, C, H, W), (N, row, window)
};

// Places: float32, float64.
struct FoldTable {
  void (*unfold[2])(const FoldArgs&);  // columns from the image
  void (*fold[2])(const FoldArgs&);    // the image, whose plane is dense, as sums of columns
};

}  // namespace tt
