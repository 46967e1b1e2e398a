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

// Why there is no device; "" where the error says something else.
std::string why_unavailable(cudaError_t error) {
  if (error == cudaErrorNoDevice) return "No CUDA GPUs are available";
  if (error == cudaErrorInitializationError)
    return "CUDA driver initialization failed, you might not have a CUDA gpu.";
  if (error == cudaErrorUnknown)
    return "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. "
           "changing env variable CUDA_VISIBLE_DEVICES after program start. Setting the available "
           "devices to be zero.";
  if (error != cudaErrorInsufficientDriver) return {};
  int version = 0;
  cudaDriverGetVersion(&version);
  if (version <= 0)
    return "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and "
           "installed a driver from http://www.nvidia.com/Download/index.aspx";
  return format(
      "The NVIDIA driver on your system is too old (found version ", version,
      "). Please update your GPU driver by downloading and installing a new version from the URL: "
      "http://www.nvidia.com/Download/index.aspx");
}

void watch_forks() {
  static const int watches = pthread_atfork(nullptr, nullptr, [] { forked = true; });
  static_cast<void>(watches);
}

}  // namespace

bool is_forked() { return forked.load(std::memory_order_relaxed); }

void check_process() {
  watch_forks();
  if (is_forked()) fail(cudaErrorInitializationError, nullptr);
}

void fail(cudaError_t error, const char* launch) {
  cudaGetLastError();  // it is told here, and not by the next launch
  if (is_forked())
    throw RuntimeError(
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
        "must use the 'spawn' start method");
  if (const std::string why = why_unavailable(error); !why.empty()) throw RuntimeError(why);
  const std::string where = launch ? " in kernel " + kernel_name(launch) : "";
  const char* const lost = loses_context(error)
                               ? "The context is lost: no call of CUDA will work in this process.\n"
                               : "";
  throw RuntimeError("CUDA error", where, ": ", cudaGetErrorString(error), "\n", lost,
                     "CUDA kernel errors might be asynchronously reported at some other API call, "
                     "so the stacktrace below might be incorrect.\n"
                     "For debugging consider passing CUDA_LAUNCH_BLOCKING=1");
}

namespace {

struct Devices {
  int count = 0;
  cudaError_t error;

  Devices() : error(cudaGetDeviceCount(&count)) {
    if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
    if (error) count = 0;
    cudaGetLastError();
  }
  static const Devices& found() {
    static const Devices all;
    return all;
  }
};

}  // namespace

int device_count() {
  watch_forks();
  return Devices::found().count;
}

void check_device() {
  check_process();
  check(Devices::found().error);
}

}  // namespace tt::cuda
