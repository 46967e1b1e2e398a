#include "cuda/device/errors.h"

#include <pthread.h>

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <string>

#include "cuda/infra/kernel_name.h"

#ifndef TT_CUDA_ARCHITECTURES  // src/cuda/CMakeLists.txt
#define TT_CUDA_ARCHITECTURES "sm_80,compute_80"
#endif

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
  cudaGetLastError();  // it is thrown here, and not by the next launch
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

// Whether a GPU runs the code for an architecture, such as sm_80, sm_90a or compute_80: sm_ is
// machine code, which newer GPUs of the same generation run, too, but where a letter follows;
// compute_ is PTX, from which newer drivers make their own.
bool runs(const std::string& architecture, int major, int minor) {
  const size_t at = architecture.find('_') + 1;
  const int number = std::atoi(architecture.c_str() + at);
  if (architecture.rfind("compute", 0) == 0) return number <= 10 * major + minor;
  const bool is_exact = std::isalpha(static_cast<unsigned char>(architecture.back()));
  return number / 10 == major && (is_exact ? number % 10 == minor : number % 10 <= minor);
}

// Why kernels do not run on the GPU that is there; "" if they do.
std::string why_unusable() {
  constexpr int kLeast = 8;
  cudaDeviceProp gpu;
  check(cudaGetDeviceProperties(&gpu, 0));
  const std::string name = format(static_cast<const char*>(gpu.name), " has compute capability ",
                                  gpu.major, ".", gpu.minor);
  if (gpu.major < kLeast)
    return format(name, ", and tiny_torch's kernels need 8.0 (Ampere) or newer");
  std::istringstream all(architectures());
  for (std::string architecture; std::getline(all, architecture, ',');)
    if (runs(architecture, gpu.major, gpu.minor)) return {};
  return format(name, ", for which this build of tiny_torch has no code, but for ", architectures(),
                ": install it with -C cmake.define.TINY_TORCH_CUDA_ARCHITECTURES=", gpu.major,
                gpu.minor);
}

}  // namespace

int device_count() {
  watch_forks();
  return Devices::found().count;
}

void check_driver() {
  check_process();
  check(Devices::found().error);
}

void check_device() {
  check_driver();
  static const std::string why = why_unusable();
  if (!why.empty()) throw RuntimeError(why);
}

const char* architectures() { return TT_CUDA_ARCHITECTURES; }

}  // namespace tt::cuda
