// CUDA's runtime API for the host's compiler: the functions that cuda/device uses, under their own
// names, over the emulator. Their answers are CUDA's; only a kernel's fault is thrown, by whoever
// waits for it, as RuntimeError with its place. After a fault all calls answer
// cudaErrorLaunchFailure, as on a GPU.
//
// Streams are as late as they may be. The default stream runs at once what it is given. Another one
// only queues: its work runs when somebody waits for it, or asks a second time whether it is done.
// So a forgotten wait between streams is seen in the numbers. All streams are non-blocking ones:
// the default stream does not wait for them. CUDA_LAUNCH_BLOCKING=1 runs kernels at once.
//
// There are two devices, and kernels run on the first one: while the calling thread's device is
// another, its handles are refused. Nothing may wait while the calling thread holds Python's GIL.
//
// https://docs.nvidia.com/cuda/cuda-runtime-api/
#pragma once
#include <cstddef>

#include "cuda/host/emulator.h"

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorECCUncorrectable = 214,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchTimeout = 702,
  cudaErrorAssert = 710,
  cudaErrorHardwareStackError = 714,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorInvalidAddressSpace = 717,
  cudaErrorInvalidPc = 718,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorCapturedEvent = 907,
  cudaErrorUnknown = 999
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaStreamCaptureMode { cudaStreamCaptureModeRelaxed };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
constexpr unsigned cudaStreamNonBlocking = 1, cudaHostAllocDefault = 0, cudaHostAllocMapped = 2;
constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;

using cudaStream_t = struct CUstream_st*;  // null: the default stream
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, warpSize, maxThreadsPerBlock, maxThreadsPerMultiProcessor;
  int major, minor, multiProcessorCount, l2CacheSize;
  size_t sharedMemPerBlockOptin;
  int integrated, isMultiGpuBoard;
};

// ---- the device ---------------------------------------------------------------------------------
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceSynchronize();
// Without it a kernel may have 48 KiB of dynamic shared memory.
__attribute__((visibility("default"))) cudaError_t cudaFuncSetAttribute(const void* kernel,
                                                                        cudaFuncAttribute attribute,
                                                                        int value);
template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

// ---- memory -------------------------------------------------------------------------------------
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaMalloc(void** block, size_t bytes);
template <class T>
cudaError_t cudaMalloc(T** block, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(block), bytes);
}
// Waits, as CUDA's does, until all that was given to any stream is done.
cudaError_t cudaFree(void* block);
cudaError_t cudaMallocAsync(void** block, size_t bytes, cudaStream_t stream);
// The block goes in the stream's order: what runs later may not touch it.
cudaError_t cudaFreeAsync(void* block, cudaStream_t stream);
// Kernels may use it only where it is mapped.
cudaError_t cudaHostAlloc(void** block, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* block);  // waits as cudaFree does
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
// The host's memory is copied in the stream's order where cudaHostAlloc gave it; else from it at
// once, and to it after waiting for the stream.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);

// ---- streams and events -------------------------------------------------------------------------
// As handles, 1 is the default stream, too, and 2 the thread's own one, which nobody here uses.
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

// ---- graphs -------------------------------------------------------------------------------------
// A graph does what it was given in that order, whichever stream it came by.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

namespace tt::emulated {

// ---- what a library that runs over the emulator tells it ---------------------------------------
// Fills memory whose contents nobody may rely on, in the stream's order.
void poison(void* data, size_t bytes, cudaStream_t stream);
// Kernels, of graphs above all, may not write to this memory: the host does. Until it is released.
void keep_from_kernels(void* data, size_t bytes);
// Throws RuntimeError where a copy of a graph that lives reads or writes these bytes of the host's.
void check_no_graph_copies(const void* data, size_t bytes);

// Gives a kernel to a stream; its arguments are copied. Throws where the stream cannot take it, and
// the kernel's fault if it runs at once.
__attribute__((visibility("default"))) void launch(const Launch& what, cudaStream_t stream);

}  // namespace tt::emulated
