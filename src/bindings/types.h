// What the files of bindings/ offer to module.cpp: each adds its part to the module.
#pragma once
#include "bindings/bind.h"
#include "core/program/recording.h"

namespace tt::py {

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
void add_accelerator(PyObject* module);
void add_dlpack(PyObject* module);
void add_generator(PyObject* module);
void add_memory(PyObject* module);
void add_launches(PyObject* module);
void add_storage_listener(PyObject* module);
void add_optim(PyObject* module);
void add_program(PyObject* module);
void add_records(PyObject* module);

}  // namespace tt::py
