// Python's objects in C++: arrays and dtypes as Python has them, errors, and what classes written
// in C++ share: C functions as their tables take them, and fields that hold Python objects, as the
// garbage collector asks for them. Functions that stand here without a body are those of bindings/.
#pragma once
#include <Python.h>

#include <string>
#include <utility>

#include "core/ndarray.h"

namespace tt::py {

// ----------------------------------------------------------------------------------------- errors
// A Python exception is set already.
struct PythonError {};

// Sets the Python exception of the C++ one being handled; answers nullptr.
PyObject* raise_current();

// Whether a type is PyTorch's Tensor, or of its kind.
bool is_of_pytorch(const PyTypeObject* type);
// The name of its type in messages; of PyTorch's tensors, which are called as ours, what to do.
std::string type_name(PyObject* object);

// ------------------------------------------------------------------------------ arrays and dtypes
struct ArrayObject {
  PyObject_HEAD NDArray array;
  // Null; or, once a tensor that had it was given other `.data`, a list of what that is now.
  PyObject* latest;
  // Null; or, of what `kept` answers, None until its memory is written, then a copy from before.
  PyObject* copy;
};
// Of autograd/kept.cpp: the method, another array of these elements, which has a copy after a write
// to them; and the end of such an array.
PyObject* kept(PyObject* array, PyObject*);
void forget_kept(ArrayObject* keeper);
extern PyTypeObject* array_type;

inline bool is_array(PyObject* object) { return Py_TYPE(object) == array_type; }
inline const NDArray& array_of(PyObject* object) {
  return reinterpret_cast<ArrayObject*>(object)->array;
}
PyObject* to_python(NDArray&& array);

PyObject* dtype_object(DType dtype);  // borrowed
DType dtype_from(PyObject* object);
inline PyObject* to_python(DType dtype) { return Py_NewRef(dtype_object(dtype)); }

// ---------------------------------------------------------------------------------------- classes
template <class F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}

// A function of METH_FASTCALL as the table of methods has it: C++ exceptions become Python's.
template <PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)>
PyMethodDef fast(const char* name) {
  constexpr auto call = +[](PyObject* self, PyObject* const* args, Py_ssize_t count) {
    try {
      return function(self, args, count);
    } catch (...) {
      return raise_current();
    }
  };
  return {name, reinterpret_cast<PyCFunction>(slot(call)), METH_FASTCALL, nullptr};
}

// These add to a module; throw PythonError.
inline void add_functions(PyObject* module, PyMethodDef* functions) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError();
}
inline PyTypeObject* add_type(PyObject* module, const char* name, PyType_Spec& spec,
                              PyObject* base = nullptr) {
  PyObject* const type = PyType_FromSpecWithBases(&spec, base);
  if (!type || PyModule_AddObjectRef(module, name, type) < 0) throw PythonError();
  return reinterpret_cast<PyTypeObject*>(type);
}

// A reference that is given up at the end of its scope; null where making the object failed.
class Owned {
 public:
  explicit Owned(PyObject* owned) : object_(owned) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(object_); }
  operator PyObject*() const { return object_; }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_;
};

// The fields of T, which begins with PyObject_HEAD, that hold an object or null.
template <class T, PyObject* T::*... fields>
struct Held {
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    T& object = *reinterpret_cast<T*>(self);
    int stop = 0;
    (void)((stop = object.*fields ? visit(object.*fields, arg) : 0) || ...);
    return stop;
  }
  static int clear(PyObject* self) {
    const auto drop = [](PyObject*& field) { Py_CLEAR(field); };
    (drop(reinterpret_cast<T*>(self)->*fields), ...);
    return 0;
  }
  static void destroy(PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear(self);
    type->tp_free(self);
    Py_DECREF(type);
  }
};

}  // namespace tt::py
