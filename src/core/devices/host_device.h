// Marks functions that kernels of a GPU call, too.
#pragma once

#ifdef __CUDACC__
#define TT_HOST_DEVICE __host__ __device__
#else
#define TT_HOST_DEVICE
#endif
