// From C++ function pointers to Python functions, without pybind11's dispatcher.
//
// An op's overhead is mostly its call: a METH_FASTCALL wrapper whose argument conversions are known
// at compile time costs a quarter of pybind11's (Note [Bindings] in src/README.md). Arguments are
// positional: the Python layer above has names and defaults. An argument that is left out, or None,
// is an empty optional or a null pointer.
#pragma once
#include <Python.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/python.h"
#include "core/dtypes/promote.h"
#include "core/iter.h"
#include "core/result.h"

namespace tt::py {

// --------------------------------------------------------------------------------- conversions
int64_t int_from(PyObject* object);
Dims dims_from(PyObject* object);
// The class of numbers that a recording follows; null before Python has set it.
extern PyTypeObject* number_type;
// nullopt where the object is no number.
std::optional<Scalar> scalar_from(PyObject* object);

// TypeError where an argument was left out, or is none of this kind.
[[noreturn]] inline void refuse(PyObject* object, const char* expected) {
  throw TypeError("expected ", expected, ", got ", object ? Py_TYPE(object)->tp_name : "nothing");
}
inline PyObject* given(PyObject* object, const char* expected) {
  return object ? object : (refuse(object, expected), nullptr);
}

template <class T>
struct Argument;

template <>
struct Argument<const NDArray&> {
  static const NDArray& get(PyObject* object) {
    if (!object || !is_array(object)) refuse(object, "an NDArray");
    return array_of(object);
  }
};
template <>
struct Argument<const NDArray*> {
  static const NDArray* get(PyObject* object) {
    return !object || object == Py_None ? nullptr : &Argument<const NDArray&>::get(object);
  }
};
template <>
struct Argument<const Operand&> {
  static Operand get(PyObject* object) {
    if (object && is_array(object)) return &array_of(object);
    if (object)
      if (auto scalar = scalar_from(object)) return *scalar;
    refuse(object, "an NDArray or a number");
  }
};
template <>
struct Argument<const Scalar&> {
  static Scalar get(PyObject* object) {
    if (object)
      if (auto scalar = scalar_from(object)) return *scalar;
    refuse(object, "a number");
  }
};
template <>
struct Argument<int64_t> {
  static int64_t get(PyObject* object) { return int_from(given(object, "an int")); }
};
template <>
struct Argument<bool> {
  static bool get(PyObject* object) {
    if (!object) return false;
    const int truth = PyObject_IsTrue(object);
    if (truth < 0) throw PythonError();
    return truth != 0;
  }
};
template <>
struct Argument<double> {
  static double get(PyObject* object) {
    const double value = PyFloat_AsDouble(given(object, "a float"));
    if (value == -1 && PyErr_Occurred()) throw PythonError();
    return value;
  }
};
template <>
struct Argument<DType> {
  static DType get(PyObject* object) { return dtype_from(given(object, "a dtype")); }
};
template <>
struct Argument<const std::string&> {
  static std::string get(PyObject* object) {
    const char* const text = object && PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : nullptr;
    if (!text) refuse(object, "a str");
    return text;
  }
};
// By its name; the CPU where it is left out.
template <>
struct Argument<const Device&> {
  static const Device& get(PyObject* object) {
    if (!object || object == Py_None) return cpu_device();
    const char* const name = PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : nullptr;
    if (!name) refuse(object, "the name of a device");
    const Device* const device = find_device(name);
    if (!device) throw RuntimeError("there is no device '", name, "'");
    return *device;
  }
};
template <>
struct Argument<const Dims&> {
  static Dims get(PyObject* object) { return dims_from(given(object, "a tuple of ints")); }
};
template <class T>
struct Argument<const std::optional<T>&> {
  static std::optional<T> get(PyObject* object) {
    if (!object || object == Py_None) return std::nullopt;
    return Argument<std::conditional_t<std::is_same_v<T, Dims>, const Dims&, T>>::get(object);
  }
};
template <class T>
struct Argument<std::optional<T>> : Argument<const std::optional<T>&> {};
template <class T>
std::vector<T> elements(PyObject* object, const char* names) {
  if (!object || !(PyTuple_Check(object) || PyList_Check(object)))
    throw TypeError("expected a tuple or list of ", names);
  std::vector<T> all;
  all.reserve(static_cast<size_t>(PySequence_Fast_GET_SIZE(object)));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
    all.push_back(Argument<T>::get(PySequence_Fast_GET_ITEM(object, i)));
  return all;
}
template <>
struct Argument<const std::vector<int64_t>&> {
  static std::vector<int64_t> get(PyObject* object) { return elements<int64_t>(object, "ints"); }
};
template <>
struct Argument<const std::vector<bool>&> {
  static std::vector<bool> get(PyObject* object) { return elements<bool>(object, "bools"); }
};
// Arrays, of which some may be None.
template <>
struct Argument<const std::vector<const NDArray*>&> {
  static std::vector<const NDArray*> get(PyObject* object) {
    return elements<const NDArray*>(object, "NDArrays");
  }
};
template <>
struct Argument<const Outs&> {
  static Outs get(PyObject* object) {
    if (!object || object == Py_None) return {};
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2)
      throw TypeError("expected a tuple of two NDArrays");
    return {Argument<const NDArray*>::get(PyTuple_GET_ITEM(object, 0)),
            Argument<const NDArray*>::get(PyTuple_GET_ITEM(object, 1))};
  }
};

PyObject* to_python(const Dims& dims);
inline PyObject* to_python(bool value) { return PyBool_FromLong(value); }
template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
PyObject* to_python(T value) {
  return PyLong_FromLongLong(static_cast<long long>(value));
}
inline PyObject* to_python(std::vector<NDArray>&& arrays) {
  PyObject* tuple = PyTuple_New(arrays.size());
  for (size_t i = 0; tuple && i < arrays.size(); ++i)
    PyTuple_SET_ITEM(tuple, i, to_python(std::move(arrays[i])));
  return tuple;
}

// ------------------------------------------------------------------------------------ functions
// All arrays of a call are on one device; throws where they are not. Operands, among which 0-d
// arrays may be the host's, are looked at by their Iter.
class OneDevice {
 public:
  template <class... Args>
  explicit OneDevice(const Args&... args) {
    (check(args), ...);
  }

 private:
  template <class T>
  void check(const T&) {}
  void check(const NDArray& array) {
    if (!device_) device_ = &array.device();
    if (device_ != &array.device()) throw_mixed(*device_, array.device());
  }
  void check(const NDArray* array) {
    if (array) check(*array);
  }
  void check(const Outs& arrays) {
    for (const NDArray* array : arrays) check(array);
  }
  void check(const std::vector<const NDArray*>& arrays) {
    for (const NDArray* array : arrays) check(array);
  }

  const Device* device_ = nullptr;
};

template <auto function, class Signature = decltype(function)>
struct Bound;

template <auto function, class Result, class... Args>
struct Bound<function, Result (*)(Args...)> {
  static constexpr Py_ssize_t kArguments = sizeof...(Args);

  static PyObject* as_method(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    return call(self, args, count, std::index_sequence_for<Args...>());
  }
  static PyObject* as_function(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return call(nullptr, args, count, std::index_sequence_for<Args...>());
  }

 private:
  // `self`, where not null, is the first argument.
  template <size_t... I>
  static PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t count,
                        std::index_sequence<I...>) {
    const Py_ssize_t first = self ? 1 : 0;
    if (count + first > kArguments)
      return PyErr_Format(PyExc_TypeError, "expected at most %zd arguments, got %zd",
                          kArguments - first, count);
    auto at = [=](size_t index) -> PyObject* {
      const Py_ssize_t i = static_cast<Py_ssize_t>(index) - first;
      return i < 0 ? self : i < count ? args[i] : nullptr;
    };
    try {
      if constexpr (std::is_void_v<Result>) {
        checked(Argument<Args>::get(at(I))...);
        Py_RETURN_NONE;
      } else {
        return to_python(checked(Argument<Args>::get(at(I))...));
      }
    } catch (...) {
      return raise_current();
    }
  }

  template <class... Given>
  static Result checked(Given&&... given) {
    OneDevice{given...};
    return std::invoke(function, std::forward<Given>(given)...);
  }
};

template <auto function, class Result, class... Args>
struct Bound<function, Result (NDArray::*)(Args...) const>
    : Bound<function, Result (*)(const NDArray&, Args...)> {};

template <auto function>
PyMethodDef method(const char* name) {
  return fast<Bound<function>::as_method>(name);
}
template <auto function>
PyMethodDef module_function(const char* name) {
  return fast<Bound<function>::as_function>(name);
}

}  // namespace tt::py
