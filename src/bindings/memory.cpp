// NumPy's memory both ways, raw bytes, and the allocator's statistics.
#include <fcntl.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <sys/mman.h>

#include "bindings/bind.h"
#include "bindings/pybind.h"
#include "core/memory/allocator.h"
#include "core/program/recording.h"

namespace tt::py {

namespace pb = pybind11;

namespace {

std::optional<DType> dtype_of_numpy(const pb::dtype& dtype) {
  const char kind = dtype.kind();
  const auto size = dtype.itemsize();
  if (kind == 'b') return DType::Bool;
  if (kind == 'u' && size == 1) return DType::UInt8;
  if (kind == 'i' && size == 1) return DType::Int8;
  if (kind == 'i' && size == 2) return DType::Int16;
  if (kind == 'i' && size == 4) return DType::Int32;
  if (kind == 'i' && size == 8) return DType::Int64;
  if (kind == 'f' && size == 2) return DType::Float16;
  if (kind == 'f' && size == 4) return DType::Float32;
  if (kind == 'f' && size == 8) return DType::Float64;
  return std::nullopt;
}

// Shares the array's memory and keeps it alive.
pb::object from_numpy(pb::handle object) {
  if (!pb::isinstance<pb::array>(object))
    throw TypeError("expected np.ndarray (got ", type_name(object.ptr()), ")");
  pb::array array = pb::reinterpret_borrow<pb::array>(object);
  if (!array.dtype().attr("isnative").cast<bool>())
    throw ValueError(
        "given numpy array has byte order different from the native byte order. "
        "Conversion between byte orders is currently not supported.");
  const auto dtype = dtype_of_numpy(array.dtype());
  if (!dtype) {
    const pb::object type = array.dtype().attr("type");
    throw TypeError("can't convert np.ndarray of type ",
                    pb::str(type.attr("__module__")).cast<std::string>(), ".",
                    pb::str(type.attr("__name__")).cast<std::string>(),
                    ". The only supported types are: float64, float32, float16, int64, int32, "
                    "int16, int8, uint8, and bool.",
                    array.dtype().kind() == 'u'
                        ? " Convert larger unsigned integers first, as array.astype(numpy.int64)."
                        : "");
  }
  const int64_t size = itemsize(*dtype);
  Dims shape, strides;
  int64_t last = 0;
  for (int i = 0; i < array.ndim(); ++i) {
    if (array.strides(i) < 0)
      throw ValueError(
          "At least one stride in the given numpy array is negative, and tensors "
          "with negative strides are not currently supported. (You can probably work "
          "around this by making a copy of your array  with array.copy().) ");
    if (array.strides(i) % size != 0)
      throw ValueError(
          "given numpy array strides not a multiple of the element byte size. Copy "
          "the numpy array to reallocate the memory.");
    shape.push_back(array.shape(i));
    strides.push_back(array.strides(i) / size);
    last += std::max<int64_t>(array.shape(i) - 1, 0) * array.strides(i);
  }
  if (!array.writeable() &&
      PyErr_WarnEx(PyExc_UserWarning,
                   "The given NumPy array is not writable, and PyTorch does not support "
                   "non-writable tensors. This means writing to this tensor will result in "
                   "undefined behavior. You may want to copy the array to protect its data or make "
                   "it writable before converting it to a tensor.",
                   1) < 0)
    throw pb::error_already_set();
  auto release = [](void* owner) {
    const pb::gil_scoped_acquire acquired;
    Py_DECREF(static_cast<PyObject*>(owner));
  };
  void* const data = const_cast<void*>(array.data());
  PyObject* const owner = array.release().ptr();
  Ref<Storage> storage(
      new Storage(data, shape.size() && checked_numel(shape, "from_numpy") == 0 ? 0 : last + size,
                  release, owner));
  if (Recording* const r = recording())
    r->fill(storage->device, storage->data, storage->data, storage->bytes);
  return wrap(NDArray(std::move(storage), shape, strides, 0, *dtype));
}

// Shares the NDArray's memory and keeps it alive.
pb::array to_numpy(pb::handle object) {
  const NDArray& array = array_arg(object);
  refuse_recording("shows its memory to NumPy");
  if (!array.device().on_host)
    throw TypeError(
        "can't convert ", array.device().name,
        " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
        "first.");
  if (array.dtype() == DType::BFloat16) throw TypeError("Got unsupported ScalarType BFloat16");
  std::vector<pb::ssize_t> shape, strides;
  for (int i = 0; i < array.ndim(); ++i) {
    shape.push_back(array.shape()[i]);
    strides.push_back(array.strides()[i] * itemsize(array.dtype()));
  }
  return pb::array(pb::dtype(name(array.dtype())), shape, strides, array.data(), object);
}

// The bytes of a storage on the host.
pb::memoryview storage_bytes(pb::handle object) {
  const NDArray& array = array_arg(object);
  refuse_recording("shows its memory");
  if (!array.device().on_host)
    throw TypeError("the memory of a tensor on ", array.device().name, " is not on the host");
  return pb::memoryview::from_memory(static_cast<const void*>(array.storage()->data),
                                     array.storage()->bytes);
}

// A 1-d array with a copy of the buffer's bytes.
pb::object from_bytes(const pb::buffer& buffer, pb::handle dtype_handle) {
  const DType dtype = dtype_from(dtype_handle.ptr());
  const pb::buffer_info info = buffer.request();
  const int64_t bytes = info.size * info.itemsize, size = itemsize(dtype);
  if (bytes % size != 0)
    throw ValueError("[from_bytes] ", bytes, " bytes are no whole number of ", dtype, " elements");
  NDArray array = NDArray::empty({bytes / size}, dtype, cpu_device());
  if (bytes > 0) std::memcpy(array.data(), info.ptr, bytes);
  note_filled(array);
  return wrap(std::move(array));
}

// The bytes of a file in memory, which other processes may look at too; `file` may then be closed.
// `keep`: the storage keeps an open file of its own, so that it can be sent on.
pb::object map_file(int file, int64_t bytes, bool keep) {
  struct Mapping {
    void* address;
    size_t length;
  };
  const auto length = static_cast<size_t>(bytes);
  void* const address =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (address == MAP_FAILED) throw RuntimeError("[map_file] the system maps no ", bytes, " bytes");
  auto release = [](void* owner) {
    auto* const mapping = static_cast<Mapping*>(owner);
    munmap(mapping->address, mapping->length);
    delete mapping;
  };
  Ref<Storage> storage(new Storage(address, length, release, new Mapping{address, length}));
  storage->keep_file(keep ? fcntl(file, F_DUPFD_CLOEXEC, 0) : -1);
  return wrap(NDArray(std::move(storage), {bytes}, {1}, 0, DType::UInt8));
}

pb::list memory_segments() {
  pb::list result;
  for (const AllocatorSegment& segment : Allocator::instance().segments()) {
    pb::list blocks;
    for (const AllocatorBlock& block : segment.blocks)
      blocks.append(
          pb::make_tuple(reinterpret_cast<uintptr_t>(block.address), block.bytes, block.idle));
    result.append(pb::make_tuple(reinterpret_cast<uintptr_t>(segment.address), segment.bytes,
                                 segment.reserved, segment.allocated, blocks));
  }
  return result;
}

}  // namespace

PyObject* numpy(PyObject* array, PyObject*) {
  try {
    return to_numpy(array).release().ptr();
  } catch (pb::error_already_set& error) {
    error.restore();
    return nullptr;
  } catch (...) {
    return raise_current();
  }
}

void add_memory(PyObject* object) {
  pybind11::module_ module = module_from(object);
  module.def("from_numpy", from_numpy);
  module.def("to_numpy", to_numpy);
  module.def("storage_bytes", storage_bytes);
  module.def("from_bytes", from_bytes);
  module.def("map_file", map_file, pb::arg("file"), pb::arg("bytes"), pb::arg("keep") = false);
  module.def("empty_cache", [] { Allocator::instance().empty_cache(); });
  module.def("reset_peak_memory", [] { Allocator::instance().reset_peak(); });
  module.def("memory_segments", memory_segments);
  module.def("memory_statistics", [] {
    const AllocatorStatistics s = Allocator::instance().statistics();
    pb::dict result;
    result["allocated"] = s.allocated;
    result["peak_allocated"] = s.peak_allocated;
    result["reserved"] = s.reserved;
    result["peak_reserved"] = s.peak_reserved;
    result["requests"] = s.requests;
    result["system_calls"] = s.system_calls;
    return result;
  });
}

}  // namespace tt::py
