// What classes written in C++ share: C functions as their tables take them, and fields that hold
// Python objects, as the garbage collector asks for them.
#pragma once
#include <Python.h>

namespace tt::py {

template <class F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}

// Of METH_FASTCALL.
template <class F>
PyCFunction fast(F* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
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

 private:
  PyObject* const object_;
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
