// The extension module tiny_torch._core.
#include <dlfcn.h>

#include <csignal>

#include "autograd/overrides.h"
#include "autograd/tensor.h"
#include "bindings/bind.h"
#include "bindings/pybind.h"
#include "core/api/cast.h"
#include "core/api/creation.h"
#include "core/api/elementwise.h"
#include "core/api/join.h"
#include "core/api/matmul.h"
#include "core/api/spatial/conv.h"
#include "core/devices/accelerator.h"
#include "core/devices/backend.h"
#include "core/devices/gil.h"
#include "core/devices/threads.h"
#include "core/memory/allocator.h"

namespace tt::py {

namespace {

NDArray empty_strided(const Dims& shape, const Dims& strides, DType dtype, const Device& device) {
  NDArray array = NDArray::empty_strided(shape, strides, dtype, device);
  if (!array.is_dense())
    throw RuntimeError("[empty_strided] strides ", strides, " of shape ", shape, " are not dense");
  return array;
}
// The device of a shared library: core/devices/device.h.
void load_device(const std::string& name, const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw RuntimeError("no device could be loaded: ", dlerror());
  const auto* layout = static_cast<const size_t*>(dlsym(library, "tiny_torch_device_layout"));
  using Make = const Device* (*)(const Device& cpu);
  const auto make = reinterpret_cast<Make>(dlsym(library, "tiny_torch_device"));
  if (!layout || !make) throw RuntimeError(path, " has no TT_DEVICE");
  if (*layout != sizeof(Device)) throw RuntimeError(path, " was built for another tiny_torch");
  const Device* const device = make(cpu_device());
  if (name != device->name)
    throw RuntimeError(path, " has a device '", device->name, "', not '", name, "'");
  if (device->accelerator) device->accelerator->set_gil_hooks(gil_hooks);
  add_device(*device);
}
int64_t written_stamp(int64_t before) {
  Version version(before);
  version.mark_written();
  return static_cast<int64_t>(version.stamp.load());
}
void set_threads(int64_t n) { set_num_threads(static_cast<int>(std::clamp<int64_t>(n, 0, 4096))); }

// Whether a kernel is to stop for Ctrl-C. A handler of the user's own is Python code, which must
// not run inside of a kernel: it waits until that is done.
bool interrupted() {
  const PyGILState_STATE state = PyGILState_Ensure();
  bool stop = PyOS_InterruptOccurred();  // forgets the signal
  if (stop) {
    const pybind11::module_ signals = pybind11::module_::import("_signal");  // C: runs no handler
    stop = signals.attr("getsignal")(SIGINT).is(signals.attr("default_int_handler"));
    if (!stop) PyErr_SetInterrupt();
  }
  PyGILState_Release(state);
  return stop;
}

// The common dtype of arrays and numbers.
PyObject* result_type(PyObject*, PyObject* const* args, Py_ssize_t count) {
  Promotion promotion;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Operand operand = Argument<const Operand&>::get(args[i]);
    if (auto array = as_array(operand))
      promotion.add(array->dtype(), array->ndim());
    else
      promotion.add(std::get<Scalar>(operand));
  }
  return to_python(promotion.result());
}

PyMethodDef functions[] = {module_function<NDArray::empty>("empty"),
                           module_function<empty_strided>("empty_strided"),
                           module_function<full>("full"),
                           module_function<arange>("arange"),
                           module_function<to_device>("to_device"),
                           module_function<load_device>("load_device"),
                           module_function<linspace>("linspace"),
                           module_function<logspace>("logspace"),
                           module_function<where>("where"),
                           module_function<concatenate>("cat"),
                           module_function<stack>("stack"),
                           module_function<next_stamp>("next_stamp"),
                           module_function<first_stamp>("first_stamp"),
                           module_function<written_stamp>("written_stamp"),
                           module_function<set_inference_mode>("set_inference_mode"),
                           module_function<promote_types>("promote_types"),
                           module_function<can_cast>("can_cast"),
                           module_function<default_dtype>("get_default_dtype"),
                           module_function<set_default_dtype>("set_default_dtype"),
                           module_function<Allocator::expect>("expect_memory"),
                           module_function<num_threads>("get_num_threads"),
                           module_function<set_threads>("set_num_threads"),
                           module_function<set_matmul_tf32>("set_matmul_tf32"),
                           module_function<set_winograd>("set_winograd"),
                           fast<result_type>("result_type"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

}  // namespace tt::py

PYBIND11_MODULE(_core, module) {
  using namespace tt;
  pybind11::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const Error&) {
      py::raise_current();
    } catch (const Interrupted&) {
      py::raise_current();
    } catch (const py::PythonError&) {
    }
  });
  gil_hooks.release = []() -> void* { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; };
  gil_hooks.acquire = [](void* state) {
    if (state) PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  };
  gil_hooks.interrupted = py::interrupted;
  py::add_dtypes(module.ptr());
  py::add_apply(module.ptr());
  py::add_method(module.ptr());
  py::add_array_type(module.ptr());
  py::add_arguments(module.ptr());
  py::add_overrides(module.ptr());
  py::add_size(module.ptr());
  py::add_tensor(module.ptr());
  py::add_scope(module.ptr());
  py::add_graph(module.ptr());
  py::listen_to_writes();
  py::add_record(module.ptr());
  py::add_functions(module.ptr(), py::functions);
  py::add_accelerator(module.ptr());
  py::add_dlpack(module.ptr());
  py::add_function(module.ptr());
  py::add_generator(module.ptr());
  py::add_memory(module.ptr());
  py::add_launches(module.ptr());
  py::add_storage_listener(module.ptr());
  py::add_nn(module.ptr());
  py::add_optim(module.ptr());
  py::add_program(module.ptr());
  py::add_records(module.ptr());
  module.attr("OutOfMemoryError") = pybind11::handle(py::out_of_memory_error());
  module.attr("inference_stamp") = kInferenceStamp;
  module.attr("instruction_set") = cpu_backend().instruction_set;
  module.attr("refuses_tiles") = refuses_tiles();
  module.attr("without_cuda") = TT_WITHOUT_CUDA;  // why this build has no device cuda, else ""
}
