// Programs: Recording(report, noted, is_plan) notes this thread's launches between start() and
// stop(), and Program(recording, arrays, written, results, before, passes) runs them again over
// other arrays.
#include "core/program/program.h"

#include <pybind11/stl.h>

#include <cstring>

#include "bindings/bind.h"
#include "bindings/launches.h"
#include "bindings/pybind.h"

namespace tt::py {

namespace {

namespace pb = pybind11;

std::vector<NDArray> arrays_of(const pb::sequence& objects) {
  std::vector<NDArray> arrays;
  for (const pb::handle object : objects) arrays.push_back(array_arg(object));
  return arrays;
}

std::unique_ptr<Recording> make_recording(const pb::object& report, const pb::object& noted,
                                          bool is_plan) {
  const auto call = [](const pb::object& function, auto... args) {
    const pb::gil_scoped_acquire acquired;
    try {
      function(args...);
    } catch (pb::error_already_set& error) {  // such as a KeyboardInterrupt
      error.restore();
      throw PythonError();
    }
  };
  return std::make_unique<Recording>([=](const char* why) { call(report, why); },
                                     [=] { call(noted); }, is_plan);
}

// Of each launch: (family, name, dtype) of its kernel, or ("calls", None, None) for a cut, the
// numbers of its buffers, whether it is an alternative, its flops, and its number when recorded.
pb::list launches_of(const Program& program) {
  const std::vector<KernelSlot> slots = kernel_slots(*program.device().backend);
  pb::list answer;
  for (const auto& [kernel, is_cut, buffers, alternative, flops, recorded] : program.launches()) {
    const pb::tuple name =
        is_cut ? pb::make_tuple("calls", pb::none(), pb::none()) : kernel_name(slots, kernel);
    answer.append(pb::make_tuple(name, buffers, alternative, flops, recorded));
  }
  return answer;
}

// Of each buffer: bytes, kind of memory, the first and last launch that use it, -1 where none does;
// and where it lies: the number of a piece of memory, and how many bytes behind its begin.
pb::list buffers_of(const Program& program) {
  pb::list answer;
  for (size_t i = 0; i < program.buffers().size(); ++i) {
    const Buffer& buffer = program.buffers()[i];
    const auto [region, offset] = program.places()[i];
    answer.append(pb::make_tuple(buffer.bytes, program.memory_of(static_cast<int>(i)), buffer.first,
                                 buffer.last, region, offset));
  }
  return answer;
}

pb::list chains_of(const Program& program) {
  pb::list answer;
  for (const ChainStep* chain : program.chains())
    answer.append(pb::make_tuple(chain->first(), chain->last()));
  return answer;
}

// (name, launches, bytes) behind each pass.
pb::list passed_by(const Program& program) {
  pb::list answer;
  for (const auto& [name, launches, bytes] : program.passed())
    answer.append(pb::make_tuple(name, launches, bytes));
  return answer;
}

std::unique_ptr<Program> make_program(Recording& recording, const pb::sequence& externals,
                                      std::vector<bool> written, const pb::sequence& results,
                                      const Program* before, const Passes& passes) {
  std::vector<NDArray> arrays = arrays_of(externals);
  if (written.size() != arrays.size())
    throw RuntimeError("of ", arrays.size(), " arrays, ", written.size(), " are written or not");
  return std::make_unique<Program>(recording, arrays, std::move(written), arrays_of(results),
                                   before, passes);
}

// (results, what is kept or None), or None. At each cut calls between(results).
pb::object run(Program& program, const pb::sequence& externals, const pb::object& between,
               const std::vector<double>& numbers) {
  const std::vector<NDArray> arrays = arrays_of(externals);
  std::optional<Program::Run> done;
  {
    const pb::gil_scoped_release released;
    const auto call_between = [&](const std::vector<NDArray>& outputs) {
      const pb::gil_scoped_acquire acquired;
      pb::list found;
      for (const NDArray& x : outputs) found.append(wrap(NDArray(x)));
      between(found);
    };
    done = program.run(arrays, call_between, numbers);
  }
  if (!done) return pb::none();
  pb::list results;
  for (NDArray& x : done->outputs) results.append(wrap(std::move(x)));
  return pb::make_tuple(results, done->kept ? wrap(std::move(*done->kept)) : pb::none());
}

// What arrays have in common with others that a recording stands for, as bytes: shapes, strides,
// dtypes, devices. None where one has no elements of C++'s.
pb::object layouts_of(const pb::list& arrays) {
  std::string bytes;
  const auto add = [&](int64_t number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (const pb::handle array : arrays) {
    if (!is_array(array.ptr())) return pb::none();
    const NDArray& x = array_of(array.ptr());
    if (!x.device().has_data) return pb::none();
    add(reinterpret_cast<intptr_t>(&x.device()));
    add(static_cast<int64_t>(x.dtype()));
    add(x.stamp() == kInferenceStamp);
    for (const int64_t size : x.shape()) add(size);
    for (const int64_t stride : x.strides()) add(stride);
    add(-1 - x.ndim());  // ends what may have any length
  }
  return pb::bytes(bytes);
}

// What a dict has under the name, another object as an attribute, or a closure's cell holds; null
// for nothing. A new reference, since a class may make it anew.
PyObject* look_up(PyObject* owner, PyObject* name) {
  if (PyCell_Check(owner)) return Py_XNewRef(PyCell_GET(owner));
  if (PyDict_Check(owner)) {
    PyObject* const found = PyDict_GetItemWithError(owner, name);
    if (PyErr_Occurred()) throw pb::error_already_set();
    return Py_XNewRef(found);
  }
  PyObject* const found = PyObject_GetAttr(owner, name);
  if (!found) PyErr_Clear();
  return found;
}

// Whether the memory of an object, such as NumPy's array, holds these bytes.
bool has_bytes(PyObject* object, PyObject* bytes) {
  Py_buffer memory;
  if (PyObject_GetBuffer(object, &memory, PyBUF_CONTIG_RO) < 0) {
    PyErr_Clear();
    return false;
  }
  const bool same = memory.len == PyBytes_GET_SIZE(bytes) &&
                    std::memcmp(memory.buf, PyBytes_AS_STRING(bytes), memory.len) == 0;
  PyBuffer_Release(&memory);
  return same;
}

bool is_same(PyObject* now, PyObject* before);

// Whether dicts have the same under the same keys, in the same order.
bool is_same_dict(PyObject* now, PyObject* before) {
  if (PyDict_GET_SIZE(now) != PyDict_GET_SIZE(before)) return false;
  PyObject *key, *value, *key_before, *value_before;
  Py_ssize_t at = 0, at_before = 0;
  while (PyDict_Next(now, &at, &key, &value)) {
    if (!PyDict_Next(before, &at_before, &key_before, &value_before)) return false;
    if (!is_same(key, key_before) || !is_same(value, value_before)) return false;
  }
  return true;
}

// Whether two objects are one, or numbers or text of one type that are equal, or containers of the
// same, or a buffer and its bytes. No code of Python's runs, but for numbers of classes of their
// own.
bool is_same(PyObject* now, PyObject* before) {
  if (now == before) return true;
  if (PyBytes_Check(before) && !PyBytes_Check(now)) return has_bytes(now, before);
  if (PyFloat_CheckExact(now) && PyFloat_CheckExact(before)) {
    const double x = PyFloat_AS_DOUBLE(now), y = PyFloat_AS_DOUBLE(before);
    return std::memcmp(&x, &y, sizeof(x)) == 0;  // -0.0 is not 0.0
  }
  if (PyODict_Check(now) && PyDict_GET_SIZE(now) > 1) {  // which has an order of its own
    const Owned items(PyObject_CallMethod(now, "items", nullptr));
    const Owned list(items ? PySequence_List(items) : nullptr);
    const Owned items_before(PyDict_Check(before) ? PyDict_Items(before) : nullptr);
    if (list && items_before) return is_same(list, items_before);
    PyErr_Clear();
    return false;
  }
  if (PyDict_Check(now)) return PyDict_Check(before) && is_same_dict(now, before);
  const bool are_lists = PyList_Check(now) && PyList_Check(before);
  if (are_lists || (PyTuple_Check(now) && PyTuple_Check(before))) {
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(now);
    if (size != PySequence_Fast_GET_SIZE(before)) return false;
    for (Py_ssize_t i = 0; i < size; ++i)
      if (!is_same(PySequence_Fast_GET_ITEM(now, i), PySequence_Fast_GET_ITEM(before, i)))
        return false;
    return true;
  }
  const bool is_plain = PyLong_Check(now) || PyFloat_Check(now) || PyComplex_Check(now) ||
                        PyUnicode_Check(now) || PyBytes_Check(now) || PyAnySet_Check(now);
  if (!is_plain || (Py_TYPE(now) != Py_TYPE(before) && !PyAnySet_Check(now))) return false;
  const int same = PyObject_RichCompareBool(now, before, Py_EQ);
  if (same < 0) PyErr_Clear();  // what cannot be compared is another
  return same == 1;
}

// Whether what a program rests on is as it was: of every four of `guards`, the first has the third
// under the name that is the second. A container also equals its copy, the fourth, or None; of a
// buffer that is bytes.
// NotImplemented as the third: there is nothing of this name.
bool guards_hold(const pb::tuple& guards) {
  PyObject* const all = guards.ptr();
  const Py_ssize_t count = PyTuple_GET_SIZE(all);
  for (Py_ssize_t i = 0; i + 3 < count; i += 4) {
    PyObject *owner = PyTuple_GET_ITEM(all, i), *name = PyTuple_GET_ITEM(all, i + 1),
             *value = PyTuple_GET_ITEM(all, i + 2), *copy = PyTuple_GET_ITEM(all, i + 3);
    const Owned now(look_up(owner, name));
    if (!now.get()) {
      if (value != Py_NotImplemented) return false;
      continue;
    }
    const bool by_value = PyLong_Check(value) || PyFloat_Check(value) || PyUnicode_Check(value) ||
                          PyTuple_Check(value);
    if (now.get() != value && !(by_value && is_same(now.get(), value))) return false;
    if (copy != Py_None && !is_same(now.get(), copy)) return false;
  }
  return true;
}

}  // namespace

void add_program(PyObject* object) {
  pybind11::module_ module = module_from(object);
  pb::class_<Recording>(module, "Recording")
      .def(pb::init(&make_recording))
      .def("start", &Recording::start)
      .def("stop", &Recording::stop)
      .def("cut", &Recording::cut)
      .def("synchronize",
           [](const Recording& r) {
             const pb::gil_scoped_release released;
             if (r.device && r.device->accelerator) r.device->accelerator->synchronize();
           })
      .def("made", [](const Recording& r,
                      pb::handle x) { return r.find(array_arg(x).storage()->data) >= 0; })
      .def("follow", [](Recording& r, pb::handle tape) { r.tape = tape.ptr(); })
      .def_readonly("read", &Recording::read)
      .def_readonly("apart", &Recording::apart)
      .def_readonly("stamp", &Recording::stamp)
      .def_property_readonly("launches", [](const Recording& r) { return r.steps.size(); });
  pb::class_<Passes>(module, "Passes")
      .def(pb::init([](const std::map<std::string, bool>& choices) {
        Passes passes;
        for (const auto& [name, on] : choices) passes.choose(name, on);
        return passes;
      }))
      .def_property_readonly_static("names", [](const pb::object&) { return Passes::names(); });
  pb::class_<Program>(module, "Program")
      .def(pb::init(&make_program))
      .def("run", &run, pb::arg("externals"), pb::arg("between") = pb::none(),
           pb::arg("numbers") = std::vector<double>())
      .def("follows", &Program::follows)
      .def("repeats",
           [](Program& program, const pb::sequence& externals, const pb::sequence& outputs) {
             const std::vector<NDArray> arrays = arrays_of(externals), found = arrays_of(outputs);
             const pb::gil_scoped_release released;
             return program.repeats(arrays, found);
           })
      .def("capture",
           [](Program& program, const pb::sequence& externals, const std::vector<bool>& fixed,
              const std::vector<bool>& whole) {
             const std::vector<NDArray> arrays = arrays_of(externals);
             const pb::gil_scoped_release released;
             program.capture(arrays, fixed, whole);
           })
      .def_property_readonly("is_graph", &Program::is_graph)
      .def("keep_for", &Program::keep_for)
      .def("writes", &Program::writes)
      .def("uses", &Program::uses)
      .def_property_readonly("device", [](const Program& program) { return program.device().name; })
      .def_property_readonly("externals", &Program::externals)
      .def_property_readonly("steps", &Program::steps)
      .def_property_readonly("launches", launches_of)
      .def_property_readonly("buffers", buffers_of)
      .def_property_readonly("chains", chains_of)
      .def_property_readonly("passed", passed_by)
      .def_property_readonly("temporary_bytes", &Program::temporary_bytes)
      .def_property_readonly("kept_bytes", &Program::kept_bytes)
      .def_property_readonly("born_bytes", &Program::born_bytes)
      .def_property_readonly("chain_bytes", &Program::chain_bytes)
      .def_property_readonly("given_bytes", &Program::given_bytes)
      .def_property_readonly("result_bytes", &Program::result_bytes)
      .def_property_readonly("outside_bytes", &Program::outside_bytes);
  module.def("layouts_of", layouts_of);
  module.def("guards_hold", guards_hold);
  module.def("set_number_type", [](const pb::type& type) {
    number_type = reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr());
  });
  module.def("refuse_recording", [](const char* why) { refuse_recording(why); });
  module.def("refuse_given", [](pb::handle x, const char* why) {
    if (recording() && is_array(x.ptr()) &&
        recording()->find(array_of(x.ptr()).storage()->data) < 0)
      refuse_recording(why);
  });
  module.def("unrecorded", [](const pb::object& call) {
    const Unrecorded unrecorded;
    return call();
  });
  module.def("is_recording", [] { return recording() != nullptr; });
}

}  // namespace tt::py
