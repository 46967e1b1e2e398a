#include "cuda/device/errors.h"

#include <pthread.h>

#include <atomic>

#include "cuda/infra/kernel_name.h"

namespace tt::cuda {

namespace {

std::atomic<bool> forked{false};

// Whether no call works any more after this error.
bool loses_context(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool is_forked() { return forked.load(std::memory_order_relaxed); }

void watch_forks() {
  static const int watches = pthread_atfork(nullptr, nullptr, [] { forked = true; });
  static_cast<void>(watches);
}

void fail(cudaError_t error, const char* launch) {
  cudaGetLastError();  // it is told here, and not by the next launch
  if (is_forked())
    throw RuntimeError(
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
        "must use the 'spawn' start method");
  const std::string where = launch ? " in kernel " + kernel_name(launch) : "";
  const char* const lost = loses_context(error)
                               ? "The context is lost: no call of CUDA will work in this process.\n"
                               : "";
  throw RuntimeError("CUDA error", where, ": ", cudaGetErrorString(error), "\n", lost,
                     "CUDA kernel errors might be asynchronously reported at some other API call, "
                     "so the stacktrace below might be incorrect.\n"
                     "For debugging consider passing CUDA_LAUNCH_BLOCKING=1");
}

int device_count_or_throw() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error) cudaGetLastError();
  if (error == cudaErrorNoDevice || (!error && count == 0))
    throw RuntimeError("No CUDA GPUs are available");
  if (error == cudaErrorInsufficientDriver) {
    int version = 0;
    cudaDriverGetVersion(&version);
    if (version <= 0)
      throw RuntimeError(
          "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and "
          "installed a driver from http://www.nvidia.com/Download/index.aspx");
    throw RuntimeError(
        "The NVIDIA driver on your system is too old (found version ", version,
        "). Please update your GPU driver by downloading and installing a new version from the "
        "URL: http://www.nvidia.com/Download/index.aspx");
  }
  if (error == cudaErrorInitializationError && !is_forked())
    throw RuntimeError("CUDA driver initialization failed, you might not have a CUDA gpu.");
  if (error == cudaErrorUnknown)
    throw RuntimeError(
        "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing "
        "env variable CUDA_VISIBLE_DEVICES after program start. Setting the available devices to "
        "be zero.");
  check(error);
  return count;
}

}  // namespace tt::cuda
