// Who is asked before a call: arguments and modes with a __torch_function__. Plain calls end in
// overrides.h; here is what of a class it has to look up, what this thread has switched off, and
// the way to Python, which asks.
#include "autograd/overrides.h"

#include <algorithm>

namespace tt::py {

PyTypeObject* parameter_type;
std::atomic<bool> function_modes_seen{false};

namespace {

PyObject* ask;       // ask(function, arguments, keywords) of overrides.py, once it has said so
PyObject* disabled;  // run_plainly, as the attribute of a class that wants to be asked nothing
// The modes of this thread, the innermost last; null: none. And whom it does not ask: overrides.py.
thread_local PyObject* function_modes = nullptr;
thread_local long switched_off = 0;
constexpr long kArguments = 1, kAll = 2;

// Whether a class has a __torch_function__, or inherits one. PyTorch's own tensors are refused.
bool asks(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__torch_function__");
  PyObject* const own = _PyType_Lookup(type, name);
  return own && own != disabled && !is_of_pytorch(type);
}

// Whether one of these is asking. A list of numbers may be long: what is no tensor ends the search.
bool any_asking(PyObject* const* items, Py_ssize_t count, bool all) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyTypeObject* const type = Py_TYPE(items[i]);
    if (type == tensor_type || type == parameter_type) continue;
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE && asks(type)) return true;
    if (!all && !is_tensor(items[i])) return false;
  }
  return false;
}

}  // namespace

bool is_asking(PyObject* argument) {
  PyTypeObject* const type = Py_TYPE(argument);
  bool found = type->tp_flags & Py_TPFLAGS_HEAPTYPE && asks(type);
  if (!found && PyTuple_Check(argument))
    found = any_asking(&PyTuple_GET_ITEM(argument, 0), PyTuple_GET_SIZE(argument), true);
  else if (!found && PyList_Check(argument))
    found = any_asking(PySequence_Fast_ITEMS(argument), PyList_GET_SIZE(argument), false);
  return found && !switched_off && ask;
}

bool is_asking_mode() { return function_modes && switched_off != kAll; }

PyObject* answer_of_override(PyObject* function, PyObject* arguments, PyObject* keywords) {
  return PyObject_CallFunctionObjArgs(ask, function, arguments, keywords, nullptr);
}

PyObject* answer_of_property(PyObject* self, const char* name) {
  PyObject* const property = PyDict_GetItemString(tensor_type->tp_base->tp_dict, name);
  const Owned getter(PyObject_GetAttrString(property, "__get__"));
  const Owned arguments(PyTuple_Pack(1, self)), keywords(PyDict_New());
  if (!getter || !arguments || !keywords) return nullptr;
  return answer_of_override(getter, arguments, keywords);
}

namespace {

// --------------------------------------------------------------------------------------- Property
// A property of Tensor: as Python's, but that it asks first.
PyObject* asked_property(PyObject* self, const char* method, PyObject* x, PyObject* value) {
  const Owned function(PyObject_GetAttrString(self, method));
  const Owned arguments(value ? PyTuple_Pack(2, x, value) : PyTuple_Pack(1, x));
  const Owned keywords(PyDict_New());
  if (!function || !arguments || !keywords) return nullptr;
  return answer_of_override(function, arguments, keywords);
}

PyObject* get_property(PyObject* self, PyObject* x, PyObject* type) {
  if (x && x != Py_None && is_overridden(&x, 1)) return asked_property(self, "__get__", x, nullptr);
  return PyProperty_Type.tp_descr_get(self, x, type);
}

int set_property(PyObject* self, PyObject* x, PyObject* value) {
  PyObject* const both[] = {x, value};
  if (!is_overridden(both, value ? 2 : 1)) return PyProperty_Type.tp_descr_set(self, x, value);
  const Owned answer(asked_property(self, value ? "__set__" : "__delete__", x, value));
  return answer ? 0 : -1;
}

PyType_Slot property_slots[] = {
    {Py_tp_descr_get, slot(get_property)}, {Py_tp_descr_set, slot(set_property)}, {0, nullptr}};
PyType_Spec property_spec = {"tiny_torch._core.Property", 0, 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, property_slots};

// ------------------------------------------------------------------------------- what Python calls
PyObject* register_overrides(PyObject*, PyObject* function) {
  ask = Py_NewRef(function);
  Py_RETURN_NONE;
}

// _disabled_torch_function_impl(func, types, args=(), kwargs=None): func(*args, **kwargs), while no
// argument is asked.
PyObject* run_plainly(PyObject*, PyObject* given, PyObject* names) {
  static const char* words[] = {"func", "types", "args", "kwargs", nullptr};
  PyObject *function, *types, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTupleAndKeywords(given, names, "OO|O!O", const_cast<char**>(words), &function,
                                   &types, &PyTuple_Type, &args, &kwargs))
    return nullptr;
  const Owned arguments(args ? Py_NewRef(args) : PyTuple_New(0));
  if (!arguments) return nullptr;
  const long before = switched_off;
  switched_off = std::max(switched_off, kArguments);
  PyObject* const answer = PyObject_Call(function, arguments, kwargs == Py_None ? nullptr : kwargs);
  switched_off = before;
  return answer;
}

PyObject* register_parameter(PyObject*, PyObject* type) {
  parameter_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
  Py_RETURN_NONE;
}

// has_override(x): whether the class of x has a __torch_function__ that is no disabled one, if it
// is not Tensor's own.
PyObject* has_override(PyObject*, PyObject* x) {
  PyTypeObject* const type = Py_TYPE(x);
  return PyBool_FromLong(type != tensor_type && type != parameter_type && asks(type));
}

// is_asked(*arguments): whether somebody is to be asked about a call with these arguments.
PyObject* is_asked(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return PyBool_FromLong(is_overridden(args, count));
}

PyObject* get_modes(PyObject*, PyObject*) {
  return function_modes ? Py_NewRef(function_modes) : PyTuple_New(0);
}

PyObject* set_modes(PyObject*, PyObject* stack) {
  if (!PyTuple_Check(stack)) return PyErr_Format(PyExc_TypeError, "expected a tuple of modes");
  const Owned before(function_modes);  // which may be the last reference
  const bool any = PyTuple_GET_SIZE(stack) > 0;
  function_modes = any ? Py_NewRef(stack) : nullptr;
  if (any) function_modes_seen.store(true, std::memory_order_relaxed);
  Py_RETURN_NONE;
}

PyObject* get_switched_off(PyObject*, PyObject*) { return PyLong_FromLong(switched_off); }

PyObject* switch_off(PyObject*, PyObject* whom) {
  const long level = PyLong_AsLong(whom);
  if (level == -1 && PyErr_Occurred()) return nullptr;
  switched_off = level;
  Py_RETURN_NONE;
}

constexpr char kDisabled[] = "_disabled_torch_function_impl";
PyMethodDef functions[] = {{"register_overrides", register_overrides, METH_O, nullptr},
                           {kDisabled, reinterpret_cast<PyCFunction>(slot(run_plainly)),
                            METH_VARARGS | METH_KEYWORDS, nullptr},
                           {"register_parameter", register_parameter, METH_O, nullptr},
                           fast<is_asked>("is_asked"),
                           {"has_override", has_override, METH_O, nullptr},
                           {"function_modes", get_modes, METH_NOARGS, nullptr},
                           {"use_function_modes", set_modes, METH_O, nullptr},
                           {"switched_off", get_switched_off, METH_NOARGS, nullptr},
                           {"switch_off", switch_off, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_overrides(PyObject* module) {
  add_functions(module, functions);
  disabled = PyObject_GetAttrString(module, kDisabled);
  add_type(module, "Property", property_spec, reinterpret_cast<PyObject*>(&PyProperty_Type));
}

}  // namespace tt::py
