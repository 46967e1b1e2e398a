// What the files of bindings/ offer to module.cpp: each adds its part to the module.
#pragma once
#include <pybind11/pybind11.h>

#include "bindings/bind.h"
#include "core/program/recording.h"

namespace tt::py {

// For functions that pybind11 binds.
inline pybind11::object wrap(NDArray&& array) {
  return pybind11::reinterpret_steal<pybind11::object>(to_python(std::move(array)));
}
inline const NDArray& array_arg(pybind11::handle object) {
  return Argument<const NDArray&>::get(object.ptr());
}

// An array of our own that the host has just filled.
inline void note_filled(const NDArray& x) {
  if (Recording* const r = recording())
    r->fill(x.device(), x.data(), x.data(), x.numel() * itemsize(x.dtype()));
}

PyObject* out_of_memory_error();              // the exception
PyObject* numpy(PyObject* array, PyObject*);  // a method's C function: shares its memory
void add_array_type(PyObject* module);        // throws PythonError
void add_arguments(PyObject* module);         // throws PythonError
void add_dtypes(PyObject* module);            // throws PythonError
void add_function(PyObject* module);          // throws PythonError
void add_nn(PyObject* module);                // throws PythonError
void add_accelerator(pybind11::module_& module);
void add_dlpack(pybind11::module_& module);
void add_generator(pybind11::module_& module);
void add_memory(pybind11::module_& module);
void add_launches(pybind11::module_& module);
void add_storage_listener(pybind11::module_& module);
void add_optim(pybind11::module_& module);
void add_program(pybind11::module_& module);
void add_records(pybind11::module_& module);

}  // namespace tt::py
