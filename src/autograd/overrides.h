// What a call asks before it runs: whether an argument, or a mode of this thread, has a
// __torch_function__ that is to answer in the call's place. What follows from a yes stands in
// Python: tiny_torch/autograd/overrides.py.
#pragma once
#include <atomic>

#include "autograd/tensor.h"

namespace tt::py {

extern PyTypeObject* parameter_type;           // tiny_torch.nn.Parameter, once it has said so
extern std::atomic<bool> function_modes_seen;  // whether a thread ever had a mode

// Of a class that is none of C's, in a list or tuple, or by the modes of this thread.
bool is_asking(PyObject* argument);
bool is_asking_mode();

// Tensors, parameters, numbers, strings and None have nothing to say; of all others it looks up.
inline bool is_plain(PyObject* argument) {
  constexpr unsigned long kinds =
      Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS;
  const PyTypeObject* const type = Py_TYPE(argument);
  return type == tensor_type || type == parameter_type || !(type->tp_flags & kinds);
}

// Whether somebody is to be asked about a call with these arguments.
inline bool is_overridden(PyObject* const* arguments, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!is_plain(arguments[i]) && is_asking(arguments[i])) return true;
  return function_modes_seen.load(std::memory_order_relaxed) && is_asking_mode();
}

// The answer of who was asked, for `function` and its arguments; null with a Python error.
PyObject* answer_of_override(PyObject* function, PyObject* arguments, PyObject* keywords);
// The same of reading a property: torch.Tensor.<name>.__get__(self).
PyObject* answer_of_property(PyObject* self, const char* name);

void add_overrides(PyObject* module);  // adds it to the extension module; throws PythonError

}  // namespace tt::py
