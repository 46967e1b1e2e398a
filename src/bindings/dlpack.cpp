// DLPack: memory shared with other libraries, by a struct in a capsule that whoever takes it frees.
//
// The structs are those of https://dmlc.github.io/dlpack/latest/c_api.html, both in the form from
// before DLPack 1.0 and in the versioned one.
#include <cstring>
#include <memory>

#include "bindings/bind.h"
#include "bindings/pybind.h"
#include "core/program/recording.h"

namespace tt::py {

namespace pb = pybind11;

namespace {

struct DLDevice {
  int32_t type;
  int32_t id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: contiguous
  uint64_t byte_offset;
};
struct DLManagedTensor {
  static constexpr const char* kName = "dltensor";
  static constexpr const char* kUsed = "used_dltensor";
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  static constexpr const char* kName = "dltensor_versioned";
  static constexpr const char* kUsed = "used_dltensor_versioned";
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};
constexpr int32_t kCpu = 1, kCuda = 2;  // device types
constexpr uint64_t kCopied = 2;         // a flag

bool is_cuda(const Device& device) { return std::strcmp(device.name, "cuda") == 0; }

const Device& device_of(DLDevice wanted) {
  const Device* const device = wanted.type == kCpu                      ? &cpu_device()
                               : wanted.type == kCuda && wanted.id == 0 ? find_device("cuda")
                                                                        : nullptr;
  if (!device)
    throw RuntimeError("[from_dlpack] the memory is on device type ", wanted.type, ", number ",
                       wanted.id, ", which is not here");
  return *device;
}

DLDataType dlpack_dtype(DType dtype) {
  const int code = dtype == DType::Bool       ? 6
                   : dtype == DType::BFloat16 ? 4
                   : is_floating(dtype)       ? 2
                   : dtype == DType::UInt8    ? 1
                                              : 0;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(8 * itemsize(dtype)), 1};
}

DType dtype_of(DLDataType wanted) {
  for (int i = 0; i < kDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    const DLDataType own = dlpack_dtype(dtype);
    if (own.code == wanted.code && own.bits == wanted.bits && wanted.lanes == 1) return dtype;
  }
  throw RuntimeError("[from_dlpack] no dtype for code ", int{wanted.code}, ", ", int{wanted.bits},
                     " bits, ", wanted.lanes, " lanes");
}

// ---------------------------------------------------------------------------------------- export
// What a capsule of ours points into; it keeps the array's memory alive.
template <class Managed>
struct Exported {
  NDArray array;
  Dims shape, strides;
  Managed managed{};

  explicit Exported(const NDArray& from)
      : array(from), shape(from.shape()), strides(from.strides()) {
    managed.tensor = {array.numel() ? array.data() : nullptr,
                      {is_cuda(array.device()) ? kCuda : kCpu, 0},
                      array.ndim(),
                      dlpack_dtype(array.dtype()),
                      shape.begin(),
                      strides.begin(),
                      0};
    managed.context = this;
    managed.deleter = [](Managed* self) { delete static_cast<Exported*>(self->context); };
  }
};

template <class Managed>
pb::object capsule_of(std::unique_ptr<Exported<Managed>> exported) {
  // A capsule that nobody took frees what it holds; one that was taken has another name.
  auto destroy = [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, Managed::kName)) return;
    auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
    managed->deleter(managed);
  };
  PyObject* const capsule = PyCapsule_New(&exported->managed, Managed::kName, destroy);
  if (!capsule) throw PythonError();
  exported.release();
  return pb::reinterpret_steal<pb::object>(capsule);
}

// ---------------------------------------------------------------------------------------- import
template <class Managed>
NDArray import(PyObject* capsule) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
  if (!managed) throw PythonError();
  const DLTensor& tensor = managed->tensor;
  const Device& device = device_of(tensor.device);
  const DType dtype = dtype_of(tensor.dtype);
  if (tensor.ndim < 0) throw RuntimeError("[from_dlpack] ", tensor.ndim, " dims");
  Dims shape, strides;
  int64_t last = 0;
  for (int i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] < 0) throw RuntimeError("[from_dlpack] a size is negative");
    shape.push_back(tensor.shape[i]);
  }
  const int64_t numel = checked_numel(shape, "from_dlpack");
  if (!tensor.strides) strides = contiguous_strides(shape);
  for (int i = 0; i < tensor.ndim; ++i) {
    if (tensor.strides) strides.push_back(tensor.strides[i]);
    if (strides[i] < 0)
      throw ValueError("[from_dlpack] negative strides are not supported: copy the array first");
    int64_t reach = 0;
    if (numel && (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
                  __builtin_add_overflow(last, reach, &last)))
      throw RuntimeError("[from_dlpack] the strides overflow");
  }
  const size_t bytes = numel ? (last + 1) * itemsize(dtype) : 0;
  auto release = [](void* owner) {
    auto* taken = static_cast<Managed*>(owner);
    if (taken->deleter) taken->deleter(taken);
  };
  char* const data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (PyCapsule_SetName(capsule, Managed::kUsed) < 0) throw PythonError();
  Ref<Storage> storage(new Storage(data, bytes, release, managed, device));
  return NDArray(std::move(storage), shape, strides, 0, dtype);
}

pb::object to_dlpack(pb::handle object, bool versioned, bool copied) {
  const NDArray& array = array_arg(object);
  refuse_recording("shows its memory to another library");
  if (!array.device().on_host && !is_cuda(array.device()))
    throw pb::buffer_error(format("Cannot pack tensors on ", array.device().name));
  array.storage()->resizable = false;  // the capsule has its address
  if (!versioned) return capsule_of(std::make_unique<Exported<DLManagedTensor>>(array));
  auto exported = std::make_unique<Exported<DLManagedTensorVersioned>>(array);
  exported->managed.major = 1;
  exported->managed.flags = copied ? kCopied : 0;
  return capsule_of(std::move(exported));
}

pb::object from_dlpack(pb::handle capsule) {
  PyObject* const object = capsule.ptr();
  if (PyCapsule_IsValid(object, DLManagedTensorVersioned::kName)) {
    const auto* managed = static_cast<DLManagedTensorVersioned*>(
        PyCapsule_GetPointer(object, DLManagedTensorVersioned::kName));
    if (managed->major > 1)
      throw RuntimeError("[from_dlpack] version ", managed->major, " of DLPack is not known");
    return wrap(import<DLManagedTensorVersioned>(object));
  }
  if (PyCapsule_IsValid(object, DLManagedTensor::kName))
    return wrap(import<DLManagedTensor>(object));
  throw RuntimeError(
      "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
      "once, so you might have already constructed a tensor from it once.");
}

}  // namespace

void add_dlpack(PyObject* object) {
  pybind11::module_ module = module_from(object);
  module.def("to_dlpack", to_dlpack);
  module.def("from_dlpack", from_dlpack);
}

}  // namespace tt::py
