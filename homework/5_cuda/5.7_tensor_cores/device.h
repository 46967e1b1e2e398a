#include "5_cuda/device.h"
#include "cuda/infra/mma.h"

using tt::Half;
using tt::cuda::mma;
