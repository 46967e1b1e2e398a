#pragma once
#include "autograd/python.h"

namespace tt::py {

extern PyTypeObject* method_type;  // of method.cpp

inline bool is_method(PyObject* object) { return Py_TYPE(object) == method_type; }

// The result. There is a place before the values that may be written, and one behind them.
PyObject* call_method(PyObject* method, PyObject** values, Py_ssize_t count, PyObject* out);
PyObject* saved_by_method(PyObject* method, PyObject* const* values, Py_ssize_t count,
                          PyObject* result);

}  // namespace tt::py
