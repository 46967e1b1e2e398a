// What Python files ask about arguments in every call, so that it should cost little: are these
// ints, which view does this index name.
#include "autograd/tensor.h"
#include "bindings/bind.h"
#include "bindings/types.h"
#include "core/dtypes/type_name.h"
#include "core/shapes.h"

namespace tt::py {

namespace {

// Whether `object` is an int, and no bool, of 64 bits: the value.
bool is_int(PyObject* object, int64_t* value) {
  if (!PyLong_CheckExact(object)) return false;
  int overflow;
  *value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return !overflow;
}

// are_ints(values): whether it is a tuple of ints; are_sizes(values): none of them negative.
template <bool sizes>
PyObject* are_ints(PyObject*, PyObject* values) {
  if (!PyTuple_CheckExact(values)) Py_RETURN_FALSE;
  int64_t value = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i)
    if (!is_int(PyTuple_GET_ITEM(values, i), &value) || (sizes && value < 0)) Py_RETURN_FALSE;
  Py_RETURN_TRUE;
}

// wrap_dim(dim, ndim): the dim counted from the front; IndexError where there is none.
PyObject* wrapped_dim(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "wrap_dim(dim, ndim)");
  return PyLong_FromLong(wrap_dim(int_from(args[0]), static_cast<int>(int_from(args[1]))));
}

PyObject* refuse(PyObject* function, const char* argument, int position, PyObject* value) {
  return PyErr_Format(PyExc_TypeError, "%S(): argument '%s' (position %d) must be Tensor, not %s",
                      function, argument, position, type_name(value).c_str());
}

// check_tensor(function, argument, position, value): TypeError where it is no tensor.
PyObject* check_tensor(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 4) return PyErr_Format(PyExc_TypeError, "check_tensor() takes 4 arguments");
  if (is_tensor(args[3])) Py_RETURN_NONE;
  return refuse(args[0], PyUnicode_AsUTF8(args[1]), static_cast<int>(int_from(args[2])), args[3]);
}

// The array of a tensor that has one of C++; null for anything else.
const NDArray* core_array(PyObject* value) {
  if (!is_tensor(value)) return nullptr;
  PyObject* const array = tensor_of(value).array;
  return is_array(array) ? &array_of(array) : nullptr;
}

// require_float(function, input): TypeError where it is no tensor, NotImplementedError where that
// is of no float dtype.
PyObject* require_float(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "require_float(function, input)");
  if (!is_tensor(args[1])) return refuse(args[0], "input", 1, args[1]);
  const NDArray* const x = core_array(args[1]);
  if (x && is_floating(x->dtype())) Py_RETURN_NONE;
  PyObject* const array = tensor_of(args[1]).array;  // of Python, on ref
  const Owned dtype(PyObject_GetAttrString(array, "dtype"));
  if (!dtype) return nullptr;
  check_floating(PyUnicode_AsUTF8(args[0]), dtype_from(dtype));
  Py_RETURN_NONE;
}

// check_tensors(function, {argument: value}): TypeError where one is no tensor.
PyObject* check_tensors(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !PyDict_Check(args[1]))
    return PyErr_Format(PyExc_TypeError, "check_tensors(function, values)");
  PyObject *name, *value;
  Py_ssize_t place = 0;
  for (int position = 1; PyDict_Next(args[1], &place, &name, &value); ++position)
    if (!is_tensor(value)) return refuse(args[0], PyUnicode_AsUTF8(name), position, value);
  Py_RETURN_NONE;
}

// type_name(value): the name of its type, as messages about a tensor's place have it.
PyObject* named_type(PyObject*, PyObject* value) {
  return PyUnicode_FromString(type_name(value).c_str());
}

// refuse_pytorchs(value): TypeError for one of PyTorch's tensors.
PyObject* refuse_pytorchs(PyObject*, PyObject* value) {
  if (!is_of_pytorch(Py_TYPE(value))) Py_RETURN_NONE;
  return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %s", type_name(value).c_str());
}

// fits(number, *tensors): whether they are tensors of one common float dtype, which surely holds a
// plain number.
PyObject* fits(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 1) return PyErr_Format(PyExc_TypeError, "fits(number, *tensors)");
  constexpr double kLarge = 1e38;  // less than float32's largest
  PyObject* const number = args[0];
  double value = kLarge;
  if (PyFloat_CheckExact(number)) {
    value = PyFloat_AS_DOUBLE(number);
  } else if (PyLong_CheckExact(number)) {
    int overflow;
    value = static_cast<double>(PyLong_AsLongLongAndOverflow(number, &overflow));
    if (overflow) Py_RETURN_FALSE;
  }
  if (!(-kLarge < value && value < kLarge)) Py_RETURN_FALSE;
  std::optional<DType> common;
  for (Py_ssize_t i = 1; i < count; ++i) {
    PyObject* const array = is_tensor(args[i]) ? tensor_of(args[i]).array : args[i];
    if (!is_array(array) || array == args[i]) Py_RETURN_FALSE;
    const DType dtype = array_of(array).dtype();
    if (common && *common != dtype) Py_RETURN_FALSE;
    common = dtype;
  }
  return PyBool_FromLong(common == DType::Float32 || common == DType::Float64);
}

// is_pair(x, y): whether they are tensors of one shape and one float dtype.
PyObject* is_pair(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "is_pair(x, y)");
  const NDArray *const x = core_array(args[0]), *const y = core_array(args[1]);
  return PyBool_FromLong(x && y && x->dtype() == y->dtype() && is_floating(x->dtype()) &&
                         x->shape() == y->shape());
}

// class_dim(input, target): the dim of the classes, where the target has int64 classes (N, *) for a
// float input (N, C, *), or () for (C); None where Python has more to ask.
PyObject* class_dim(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "class_dim(input, target)");
  const NDArray *const x = core_array(args[0]), *const target = core_array(args[1]);
  if (!x || !target || x->ndim() == 0 || !is_floating(x->dtype()) ||
      target->dtype() != DType::Int64)
    Py_RETURN_NONE;
  const int dim = x->ndim() == 1 ? 0 : 1;
  if (target->shape() != without(x->shape(), dim)) Py_RETURN_NONE;
  return PyLong_FromLong(dim);
}

// show(array, steps): the view that a chain of the array's own methods leads to. `steps` are tuples
// (name of the method, its arguments).
PyObject* show(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !PyTuple_Check(args[1]))
    return PyErr_Format(PyExc_TypeError, "show(array, steps)");
  PyObject *array = Py_NewRef(args[0]), *const steps = args[1];
  for (Py_ssize_t i = 0; array && i < PyTuple_GET_SIZE(steps); ++i) {
    PyObject *const step = PyTuple_GET_ITEM(steps, i), *next = nullptr;
    if (!PyTuple_Check(step) || PyTuple_GET_SIZE(step) != 2 ||
        !PyUnicode_Check(PyTuple_GET_ITEM(step, 0)) || !PyTuple_Check(PyTuple_GET_ITEM(step, 1))) {
      PyErr_SetString(PyExc_TypeError, "show(array, ((name, arguments), ...))");
    } else {
      PyObject *const name = PyTuple_GET_ITEM(step, 0), *const arguments =
                                                            PyTuple_GET_ITEM(step, 1);
      PyObject* values[1 + kMaxDims] = {array};
      const Py_ssize_t size = std::min<Py_ssize_t>(PyTuple_GET_SIZE(arguments), kMaxDims);
      for (Py_ssize_t k = 0; k < size; ++k) values[1 + k] = PyTuple_GET_ITEM(arguments, k);
      next = PyObject_VectorcallMethod(name, values, 1 + size, nullptr);
    }
    Py_DECREF(array);
    array = next;
  }
  return array;
}

// The items of an index that may be done here: how many dims they speak for; -1 if it may not.
struct Items {
  explicit Items(PyObject* const& index) : items(&index) {
    if (PyTuple_CheckExact(index)) {
      items = &PyTuple_GET_ITEM(index, 0);
      size = PyTuple_GET_SIZE(index);
    }
    for (Py_ssize_t i = 0; i < size; ++i) {
      ellipses += items[i] == Py_Ellipsis;
      dims += items[i] != Py_Ellipsis && items[i] != Py_None;
    }
  }
  bool fit(int ndim) const { return dims <= ndim && ellipses <= 1 && size > 0; }

  PyObject* const* items;
  Py_ssize_t size = 1;
  int dims = 0, ellipses = 0;
};

enum class Step { Unsqueeze, Select, Slice };

// The steps from an array of this shape to its view for an index of ints, slices, None and
// Ellipsis: visit(step, dim, place), of a slice visit(step, dim, start, stop, step); slices of a
// whole dim are left out. false for any other index: then some have been visited.
template <class Visit>
bool walk(const Items& index, const Dims& shape, const Visit& visit) {
  int dim = 0, axis = 0;  // of the view so far, and of the array
  for (Py_ssize_t i = 0; i < index.size; ++i) {
    PyObject* const item = index.items[i];
    int64_t place;
    if (item == Py_None) {
      visit(Step::Unsqueeze, dim++, 0, 0, 0);
    } else if (item == Py_Ellipsis) {
      dim += shape.size() - index.dims;
      axis += shape.size() - index.dims;
    } else if (is_int(item, &place)) {
      visit(Step::Select, dim, place, 0, 0);
      ++axis;
    } else if (PySlice_Check(item)) {
      Py_ssize_t start, stop, step;
      if (PySlice_Unpack(item, &start, &stop, &step) < 0) throw PythonError();
      if (step < 1) return false;
      PySlice_AdjustIndices(shape[axis], &start, &stop, step);
      if (start != 0 || stop != shape[axis] || step != 1)
        visit(Step::Slice, dim, start, stop, step);
      ++dim;
      ++axis;
    } else {
      return false;
    }
  }
  return true;
}

// basic_steps(array, index): how a view is reached by the array's methods, as `show` takes it, for
// an index of ints, slices, None and Ellipsis; None for any other, and where it does not fit.
PyObject* basic_steps(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "basic_steps(array, index)");
  if (!is_array(args[0])) Py_RETURN_NONE;
  const NDArray& array = array_of(args[0]);
  const Items index(args[1]);
  if (!index.fit(array.ndim())) Py_RETURN_NONE;
  // Interned: Python remembers where it found a method only by such names.
  static PyObject* const names[] = {PyUnicode_InternFromString("unsqueeze"),
                                    PyUnicode_InternFromString("select"),
                                    PyUnicode_InternFromString("slice")};
  static constexpr const char* kFormats[] = {"O(i)", "O(iL)", "O(iLLL)"};
  const Owned steps(PyList_New(0));
  auto add = [&](Step step, int dim, long long start, long long stop, long long by) {
    const int kind = static_cast<int>(step);
    const Owned made(Py_BuildValue(kFormats[kind], names[kind], dim, start, stop, by));
    if (!made || PyList_Append(steps, made) < 0) throw PythonError();
  };
  if (!steps) return nullptr;
  return walk(index, array.shape(), add) ? PyList_AsTuple(steps) : Py_NewRef(Py_None);
}

// The view for ints, slices, None and Ellipsis; nothing for any other index, and where it does not
// fit.
std::optional<NDArray> indexed(const NDArray& array, PyObject* index) {
  const Items given(index);
  if (!given.fit(array.ndim()) || given.size == given.ellipses) return std::nullopt;
  NDArray view = array;
  auto take = [&](Step kind, int dim, int64_t start, int64_t stop, int64_t step) {
    view = kind == Step::Unsqueeze ? view.unsqueeze(dim)
           : kind == Step::Select  ? view.select(dim, start)
                                   : view.slice(dim, start, stop, step);
  };
  if (!walk(given, array.shape(), take)) return std::nullopt;
  return view;
}

// basic_index(x, index): the view x[index] for ints, slices, None and Ellipsis; None for any other
// index, where it does not fit, and where x requires grad or a mode wants to see the op.
PyObject* basic_index(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !is_tensor(args[0]))
    return PyErr_Format(PyExc_TypeError, "basic_index(x, index)");
  const TensorObject& x = tensor_of(args[0]);
  if (thread_modes() & kSeen || !is_array(x.array) || !is_untracked(x)) Py_RETURN_NONE;
  std::optional<NDArray> view = indexed(array_of(x.array), args[1]);
  if (!view) Py_RETURN_NONE;
  return untracked_view(to_python(*std::move(view)), args[0]);
}

// is_result_shape(out, operands): whether arrays or tensors (and numbers) broadcast to the shape of
// `out`.
PyObject* is_result_shape(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !PyTuple_Check(args[1]))
    return PyErr_Format(PyExc_TypeError, "is_result_shape(out, operands)");
  static PyObject* const name = PyUnicode_InternFromString("shape");
  try {
    auto shape_of = [](PyObject* array) {
      if (is_tensor(array)) array = tensor_of(array).array;
      if (is_array(array)) return array_of(array).shape();
      const Owned shape(PyObject_GetAttr(array, name));
      if (!shape) throw PythonError();
      return dims_from(shape);
    };
    Dims shape;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); ++i) {
      PyObject* const operand = PyTuple_GET_ITEM(args[1], i);
      if (is_tensor(operand) || is_array(operand) || PyObject_HasAttr(operand, name))
        shape = broadcast(shape, shape_of(operand));
    }
    return PyBool_FromLong(shape == shape_of(args[0]));
  } catch (const Error&) {  // they do not broadcast: the op will say so
    Py_RETURN_FALSE;
  }
}

// fits_slices(x, dim, index, source): whether source has x's shape and dtype, and the index a
// position, int64, for each of its slices along a dim that is there. False for what is no NDArray.
PyObject* fits_slices(PyObject*, PyObject* const* args, Py_ssize_t count) {
  int64_t dim;
  if (count != 4 || !is_tensor(args[0]) || !is_tensor(args[2]) || !is_tensor(args[3]) ||
      !is_int(args[1], &dim))
    Py_RETURN_FALSE;
  PyObject *const x = tensor_of(args[0]).array, *const source = tensor_of(args[3]).array,
                  *const index = tensor_of(args[2]).array;
  if (!is_array(x) || !is_array(source) || !is_array(index)) Py_RETURN_FALSE;
  const Dims &shape = array_of(x).shape(), &positions = array_of(index).shape();
  if (dim < 0) dim += shape.size();
  return PyBool_FromLong(
      shape == array_of(source).shape() && array_of(x).dtype() == array_of(source).dtype() &&
      array_of(index).dtype() == DType::Int64 && positions.size() == 1 && 0 <= dim &&
      dim < shape.size() && positions[0] == shape[static_cast<int>(dim)]);
}

// numbers(values, dtype): a list of Python numbers as an array of bool, int64, float32 or float64.
// OverflowError where one does not fit an int64 or a double.
PyObject* numbers(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !PyList_Check(args[0]))
    return PyErr_Format(PyExc_TypeError, "numbers(list, dtype)");
  const DType dtype = dtype_from(args[1]);
  const Py_ssize_t size = PyList_GET_SIZE(args[0]);
  NDArray array = NDArray::empty({size}, dtype, cpu_device());
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* const value = PyList_GET_ITEM(args[0], i);
    Scalar scalar = Scalar::of_bool(false);
    if (is_floating(dtype))
      scalar = Scalar::of_double(PyFloat_AsDouble(value));
    else if (dtype == DType::Bool)
      scalar = Scalar::of_bool(PyObject_IsTrue(value) > 0);
    else
      scalar = Scalar::of_int(PyLong_AsLongLong(value));
    if (PyErr_Occurred()) return nullptr;
    scalar.write(dtype, array.data() + i * itemsize(dtype));
  }
  note_filled(array);
  return to_python(std::move(array));
}

// What nested lists and tuples of Python's own numbers hold. Elements are told by exact type: a
// subclass, NumPy's or a tensor may mean something else.
struct Nested {
  Dims shape;
  bool has_float = false, has_int = false;

  static bool is_sequence(PyObject* object) {
    return PyList_CheckExact(object) || PyTuple_CheckExact(object);
  }

  // Whether all is of the shape that the first elements show.
  bool read(PyObject* data) {
    for (PyObject* first = data; is_sequence(first); first = PySequence_Fast_GET_ITEM(first, 0)) {
      shape.push_back(PySequence_Fast_GET_SIZE(first));
      if (PySequence_Fast_GET_SIZE(first) == 0 || shape.size() == kMaxDims) return false;
    }
    return is_regular(data, 0);
  }
  bool is_regular(PyObject* data, int dim) {
    if (dim == shape.size()) {
      has_float |= PyFloat_CheckExact(data);
      has_int |= PyLong_CheckExact(data);
      return PyFloat_CheckExact(data) || PyLong_CheckExact(data) || PyBool_Check(data);
    }
    if (!is_sequence(data) || PySequence_Fast_GET_SIZE(data) != shape[dim]) return false;
    for (Py_ssize_t i = 0; i < shape[dim]; ++i)
      if (!is_regular(PySequence_Fast_GET_ITEM(data, i), dim + 1)) return false;
    return true;
  }

  DType dtype() const { return has_float ? default_dtype() : has_int ? DType::Int64 : DType::Bool; }

  // Writes the numbers one behind another; whether they fit.
  static bool write(PyObject* data, DType dtype, char*& place) {
    if (is_sequence(data)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(data); ++i)
        if (!write(PySequence_Fast_GET_ITEM(data, i), dtype, place)) return false;
      return true;
    }
    Scalar scalar = Scalar::of_bool(data == Py_True);
    if (PyFloat_CheckExact(data)) {
      scalar = Scalar::of_double(PyFloat_AS_DOUBLE(data));
    } else if (PyLong_CheckExact(data)) {
      int overflow;
      scalar = Scalar::of_int(PyLong_AsLongLongAndOverflow(data, &overflow));
      if (overflow) return false;
    }
    scalar.write(dtype, place);
    place += itemsize(dtype);
    return true;
  }
};

// plain_array(data, dtype=None): a number, or nested lists and tuples of numbers, as an array of
// bool, int64, float32 or float64; None where Python has more to ask.
PyObject* plain_array(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 1 || count > 2) return PyErr_Format(PyExc_TypeError, "plain_array(data, dtype=None)");
  Nested nested;
  if (!nested.read(args[0])) Py_RETURN_NONE;
  const DType dtype = count > 1 && args[1] != Py_None ? dtype_from(args[1]) : nested.dtype();
  if (dtype != DType::Bool && dtype != DType::Int64 && dtype != DType::Float32 &&
      dtype != DType::Float64)
    Py_RETURN_NONE;
  if (dtype == DType::Int64 && nested.has_float) Py_RETURN_NONE;
  NDArray array = NDArray::empty(nested.shape, dtype, cpu_device());
  char* place = array.data();
  if (!Nested::write(args[0], dtype, place)) Py_RETURN_NONE;
  note_filled(array);
  return to_python(std::move(array));
}

PyMethodDef functions[] = {{"are_ints", are_ints<false>, METH_O, nullptr},
                           {"are_sizes", are_ints<true>, METH_O, nullptr},
                           fast<wrapped_dim>("wrap_dim"),
                           fast<check_tensor>("check_tensor"),
                           {"type_name", named_type, METH_O, nullptr},
                           {"refuse_pytorchs", refuse_pytorchs, METH_O, nullptr},
                           fast<check_tensors>("check_tensors"),
                           fast<fits>("fits"),
                           fast<is_pair>("is_pair"),
                           fast<class_dim>("class_dim"),
                           fast<require_float>("require_float"),
                           fast<show>("show"),
                           fast<basic_index>("basic_index"),
                           fast<basic_steps>("basic_steps"),
                           fast<is_result_shape>("is_result_shape"),
                           fast<fits_slices>("fits_slices"),
                           fast<numbers>("numbers"),
                           fast<plain_array>("plain_array"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_arguments(PyObject* module) { add_functions(module, functions); }

}  // namespace tt::py
