// Python values to C++ ones and back, and C++ exceptions to Python's.
#include <cstring>
#include <new>

#include "autograd/tensor.h"
#include "bindings/bind.h"
#include "bindings/types.h"

namespace tt::py {

PyObject* out_of_memory_error() {
  static PyObject* const type = PyErr_NewExceptionWithDoc(
      "tiny_torch.OutOfMemoryError", "What is raised where a GPU's memory is exhausted.",
      PyExc_RuntimeError, nullptr);
  return type;
}

PyObject* raise_current() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const OutOfMemoryError& error) {
    PyErr_SetString(out_of_memory_error(), error.what());
  } catch (const ValueError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const TypeError& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (const IndexError& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const NotImplementedError& error) {
    PyErr_SetString(PyExc_NotImplementedError, error.what());
  } catch (const Interrupted&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (const std::bad_alloc&) {  // a table of a kernel, whose size nobody tells
    PyErr_SetString(PyExc_RuntimeError, "[allocate] not enough memory");
  } catch (const std::length_error&) {
    PyErr_SetString(PyExc_RuntimeError, "[allocate] not enough memory");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

int64_t int_from(PyObject* object) {
  if (PyBool_Check(object)) throw TypeError("expected an int, got bool");
  const Owned index(PyNumber_Index(object));
  if (!index) throw PythonError();
  int overflow;
  const int64_t value = PyLong_AsLongLongAndOverflow(index, &overflow);
  if (overflow) throw ValueError("Overflow when unpacking long long");
  return value;
}

Dims dims_from(PyObject* object) {
  if (!PyTuple_Check(object) && !PyList_Check(object))
    throw TypeError("expected a tuple of ints, got ", Py_TYPE(object)->tp_name);
  Dims dims;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
    dims.push_back(int_from(PySequence_Fast_GET_ITEM(object, i)));
  return dims;
}

bool is_of_pytorch(const PyTypeObject* type) {
  for (; type; type = type->tp_base)
    if (std::strcmp(type->tp_name, "torch._C.TensorBase") == 0) return true;
  return false;
}

std::string type_name(PyObject* object) {
  if (is_of_pytorch(Py_TYPE(object)))
    return "PyTorch's Tensor (tiny_torch.from_dlpack makes it one of tiny_torch's)";
  return Py_TYPE(object)->tp_name;
}

PyTypeObject* number_type = nullptr;

namespace {

// A number of this thread's recording is followed; of another it is what float() makes of it.
Scalar followed(PyObject* object) {
  const Owned tape(PyObject_GetAttrString(object, "tape"));
  if (!tape) throw PythonError();
  const Recording* const r = recording();
  if (!r || r->tape != tape.get()) return Scalar::of_double(Argument<double>::get(object));
  const Owned value(PyObject_GetAttrString(object, "value")),
      number(PyObject_GetAttrString(object, "number"));
  if (!value || !number) throw PythonError();
  Scalar scalar = Scalar::of_double(Argument<double>::get(value));
  scalar.number = static_cast<int>(int_from(number));
  return scalar;
}

}  // namespace

std::optional<Scalar> scalar_from(PyObject* object) {
  if (PyFloat_Check(object)) return Scalar::of_double(PyFloat_AS_DOUBLE(object));
  if (PyBool_Check(object)) return Scalar::of_bool(object == Py_True);
  if (Py_TYPE(object) == number_type) return followed(object);
  // These have a number's methods if they have one element; NumPy is to compute with its own.
  if (!PyLong_Check(object) && (std::strcmp(Py_TYPE(object)->tp_name, "numpy.ndarray") == 0 ||
                                is_of_pytorch(Py_TYPE(object))))
    throw TypeError("expected a Tensor or a number, got ", type_name(object));
  // Others that can be made a number (Fraction, Decimal) have their own arithmetic.
  if (!PyLong_Check(object) && std::strncmp(Py_TYPE(object)->tp_name, "numpy.", 6) != 0 &&
      !is_tensor(object))
    return std::nullopt;
  const PyNumberMethods* number = Py_TYPE(object)->tp_as_number;
  if (number && number->nb_index) {
    const Owned index(PyNumber_Index(object));
    if (!index) throw PythonError();
    int overflow;
    const int64_t value = PyLong_AsLongLongAndOverflow(index, &overflow);
    const uint64_t wide = overflow ? PyLong_AsUnsignedLongLong(index) : 0;  // or OverflowError
    if (overflow && PyErr_Occurred()) {
      PyErr_SetString(PyExc_OverflowError, "int too big to convert");
      throw PythonError();
    }
    return overflow ? Scalar::of_wide(wide) : Scalar::of_int(value);
  }
  if (number && number->nb_float) {  // NumPy's float32
    const double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred()) throw PythonError();
    return Scalar::of_double(value);
  }
  return std::nullopt;
}

PyObject* to_python(const Dims& dims) {
  PyObject* tuple = PyTuple_New(dims.size());
  for (int i = 0; tuple && i < dims.size(); ++i)
    PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(dims[i]));
  return tuple;
}

}  // namespace tt::py
