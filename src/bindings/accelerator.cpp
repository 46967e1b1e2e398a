// A device's streams, events, memory and graphs (core/devices/accelerator.h) for Python, entry by
// entry: what tiny_torch/cuda is made of.
#include "core/devices/accelerator.h"

#include "bindings/bind.h"
#include "bindings/pybind.h"
#include "core/api/cast.h"

namespace tt::py {

namespace pb = pybind11;

namespace {

// An entry of the table as a method. Others may run meanwhile: it may wait for the device.
template <class Result, class... Args>
auto entry(Result (*Accelerator::*of)(Args...)) {
  return [of](const Accelerator& accelerator, Args... args) {
    const pb::gil_scoped_release released;
    return (accelerator.*of)(args...);
  };
}

// The same of what a program does not repeat: it has its launches only.
template <class Result, class... Args>
auto unrepeated(Result (*Accelerator::*of)(Args...)) {
  return [of](const Accelerator& accelerator, Args... args) {
    refuse_recording("uses streams, events, graphs or statistics of the device");
    const pb::gil_scoped_release released;
    return (accelerator.*of)(args...);
  };
}

// The device's accelerator; null where it has none.
const Accelerator* accelerator(const std::string& device) {
  return Argument<const Device&>::get(pb::str(device).ptr()).accelerator;
}

pb::tuple memory_info(const Accelerator& accelerator) {
  refuse_recording("asks how much memory is in use");
  size_t free = 0, total = 0;
  accelerator.memory_info(free, total);
  return pb::make_tuple(free, total);
}

pb::dict properties(const Accelerator& accelerator) {
  const DeviceProperties p = accelerator.properties();
  pb::dict result;
  result["name"] = p.name;
  result["major"] = p.major;
  result["minor"] = p.minor;
  result["multi_processor_count"] = p.multi_processor_count;
  result["warp_size"] = p.warp_size;
  result["max_threads_per_block"] = p.max_threads_per_block;
  result["max_threads_per_multi_processor"] = p.max_threads_per_multi_processor;
  result["regs_per_multiprocessor"] = p.regs_per_multiprocessor;
  result["total_memory"] = p.total_memory;
  result["shared_memory_per_block"] = p.shared_memory_per_block;
  result["shared_memory_per_block_optin"] = p.shared_memory_per_block_optin;
  result["shared_memory_per_multiprocessor"] = p.shared_memory_per_multiprocessor;
  result["L2_cache_size"] = p.l2_cache_size;
  result["is_integrated"] = p.is_integrated;
  result["is_multi_gpu_board"] = p.is_multi_gpu_board;
  return result;
}

pb::dict count(const MemoryCount& count) {
  pb::dict result;
  result["current"] = count.current;
  result["peak"] = count.peak;
  result["allocated"] = count.allocated;
  result["freed"] = count.freed;
  return result;
}

pb::dict statistics(const Accelerator& accelerator) {
  refuse_recording("asks how much memory is in use");
  const MemoryStatistics s = accelerator.statistics();
  pb::dict result;
  result["allocation"] = count(s.allocation);
  result["segment"] = count(s.segment);
  result["active"] = count(s.active);
  result["allocated_bytes"] = count(s.allocated_bytes);
  result["reserved_bytes"] = count(s.reserved_bytes);
  result["active_bytes"] = count(s.active_bytes);
  result["requested_bytes"] = count(s.requested_bytes);
  result["num_alloc_retries"] = s.retries;
  result["num_ooms"] = s.out_of_memory;
  return result;
}

void record_stream(const Accelerator& accelerator, pb::handle array, int64_t stream) {
  refuse_recording("uses another stream");
  accelerator.record_stream(array_arg(array).storage()->data, stream);
}

bool is_pinned(const Accelerator& accelerator, pb::handle array) {
  const NDArray& x = array_arg(array);
  return x.device().on_host && accelerator.is_pinned(x.storage()->data);
}

pb::object pinned(const Accelerator& accelerator, pb::handle array) {
  return wrap(to_pinned(array_arg(array), accelerator));
}

pb::object to_device_later(pb::handle array, const std::string& device) {
  return wrap(
      tt::to_device_later(array_arg(array), Argument<const Device&>::get(pb::str(device).ptr())));
}

bool copy_later(pb::handle out, pb::handle x) {
  return tt::copy_later(array_arg(out), array_arg(x));
}

// Bytes of a device that another library has allocated, and frees once `owner` is gone.
pb::object borrowed(const std::string& device, uint64_t address, int64_t bytes, pb::object owner) {
  const auto release = [](void* kept) {
    const pb::gil_scoped_acquire acquired;
    Py_DECREF(static_cast<PyObject*>(kept));
  };
  Ref<Storage> storage(new Storage(reinterpret_cast<void*>(address), static_cast<size_t>(bytes),
                                   release, owner.release().ptr(),
                                   Argument<const Device&>::get(pb::str(device).ptr())));
  return wrap(NDArray(std::move(storage), {bytes}, {1}, 0, DType::UInt8));
}

}  // namespace

void add_accelerator(PyObject* object) {
  pybind11::module_ module = module_from(object);
  pb::class_<Accelerator>(module, "Accelerator")
      .def("device_count", entry(&Accelerator::device_count))
      .def("properties", properties)
      .def("architectures", entry(&Accelerator::architectures))
      .def("memory_info", memory_info)
      .def("synchronize", unrepeated(&Accelerator::synchronize))

      .def("new_stream", entry(&Accelerator::new_stream))
      .def("current_stream", entry(&Accelerator::current_stream))
      .def("set_stream", unrepeated(&Accelerator::set_stream))
      .def("query_stream", unrepeated(&Accelerator::query_stream))
      .def("synchronize_stream", unrepeated(&Accelerator::synchronize_stream))
      .def("native_stream", entry(&Accelerator::native_stream))
      .def("priority_of", entry(&Accelerator::priority_of))
      .def("wait_for_streams", entry(&Accelerator::wait_for_streams))
      .def("let_wait", unrepeated(&Accelerator::let_wait))
      .def("wait_for", unrepeated(&Accelerator::wait_for))

      .def("new_event", entry(&Accelerator::new_event))
      .def("release_event", entry(&Accelerator::release_event))
      .def("record", unrepeated(&Accelerator::record))
      .def("wait", unrepeated(&Accelerator::wait))
      .def("query_event", unrepeated(&Accelerator::query_event))
      .def("synchronize_event", unrepeated(&Accelerator::synchronize_event))
      .def("milliseconds_between", unrepeated(&Accelerator::milliseconds_between))

      .def("statistics", statistics)
      .def("reset_peaks", unrepeated(&Accelerator::reset_peaks))
      .def("reset_counts", unrepeated(&Accelerator::reset_counts))
      .def("empty_cache", unrepeated(&Accelerator::empty_cache))
      .def("set_memory_fraction", entry(&Accelerator::set_memory_fraction))
      .def("record_stream", record_stream)
      .def("is_pinned", is_pinned)
      .def("pinned", pinned)

      .def("new_pool", entry(&Accelerator::new_pool))
      .def("begin_capture", unrepeated(&Accelerator::begin_capture))
      .def("end_capture", unrepeated(&Accelerator::end_capture))
      .def("is_capturing", entry(&Accelerator::is_capturing))
      .def("replay", unrepeated(&Accelerator::replay))
      .def("release_graph", entry(&Accelerator::release_graph));
  module.def("accelerator", accelerator, pb::return_value_policy::reference);
  module.def("to_device_later", to_device_later);
  module.def("copy_later", copy_later);
  module.def("borrowed", borrowed);
}

}  // namespace tt::py
