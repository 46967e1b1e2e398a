// What apply.py asks in every call: an op's forward, and what a node has to keep of it.
#include <array>
#include <optional>
#include <vector>

#include "bindings/tensor.h"
#include "bindings/types.h"
#include "core/api/result.h"

namespace tt::py {

namespace {

// op.forward of the arrays of tensors, and of what is none; with out=, if given. `first`, where not
// null, is an array that comes before the inputs.
PyObject* forward_of(PyObject* op, PyObject* inputs, PyObject* constants, PyObject* out,
                     PyObject* first = nullptr) {
  static PyObject* const name = PyUnicode_InternFromString("forward");
  static PyObject* const keywords = Py_BuildValue("(s)", "out");
  const Py_ssize_t lead = first ? 1 : 0, tensors = lead + PySequence_Fast_GET_SIZE(inputs);
  const Py_ssize_t others = constants ? PyTuple_GET_SIZE(constants) : 0;
  const Py_ssize_t count = tensors + others;
  std::array<PyObject*, 12> few;
  std::vector<PyObject*> many;
  if (count + 2 > static_cast<Py_ssize_t>(few.size())) many.resize(count + 2);
  PyObject** const values = (many.empty() ? few.data() : many.data()) + 1;  // [-1] is the call's
  if (first) values[0] = first;
  for (Py_ssize_t i = lead; i < tensors; ++i) {
    PyObject* const input = PySequence_Fast_GET_ITEM(inputs, i - lead);
    values[i] = is_tensor(input) ? tensor_of(input).array : input;
  }
  for (Py_ssize_t i = 0; i < others; ++i) values[tensors + i] = PyTuple_GET_ITEM(constants, i);
  values[count] = out;
  PyObject* const forward = PyObject_GetAttr(op, name);
  if (!forward) return nullptr;
  PyObject* const result = PyObject_Vectorcall(
      forward, values, count | PY_VECTORCALL_ARGUMENTS_OFFSET, out ? keywords : nullptr);
  Py_DECREF(forward);
  return result;
}

// compute(op, inputs, constants=(), out=None): the op's forward, with out= if given.
PyObject* compute(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2 || count > 4 || (count > 2 && !PyTuple_Check(args[2])))
    return PyErr_Format(PyExc_TypeError, "compute(op, inputs, constants=(), out=None)");
  PyObject* const inputs = PySequence_Fast(args[1], "compute(): inputs must be a tuple or list");
  if (!inputs) return nullptr;
  PyObject* const out = count > 3 && args[3] != Py_None ? args[3] : nullptr;
  PyObject* const result = forward_of(args[0], inputs, count > 2 ? args[2] : nullptr, out);
  Py_DECREF(inputs);
  return result;
}

// apply_plainly(op, inputs, constants=()): the op's result as tensors; None, before it is computed,
// where an input may have a history that is to be recorded.
PyObject* apply_plainly(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2 || count > 3 || !(PyTuple_Check(args[1]) || PyList_Check(args[1])) ||
      (count > 2 && !PyTuple_Check(args[2])))
    return PyErr_Format(PyExc_TypeError, "apply_plainly(op, inputs, constants=())");
  if (may_record(PySequence_Fast_ITEMS(args[1]), PySequence_Fast_GET_SIZE(args[1]))) Py_RETURN_NONE;
  PyObject* const pair = forward_of(args[0], args[1], count > 2 ? args[2] : nullptr, nullptr);
  if (!pair) return nullptr;
  PyObject* tensors = nullptr;
  if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2)
    tensors = without_history(PyTuple_GET_ITEM(pair, 0));
  else
    PyErr_SetString(PyExc_TypeError, "forward answers (result, saved)");
  Py_DECREF(pair);
  return tensors;
}

// Whether one of the tensors has a history.
std::optional<bool> has_history(PyObject* const* tensors, Py_ssize_t count) {
  PyObject* const edges = edges_among(Py_None, tensors, count);
  if (!edges) return std::nullopt;
  Py_DECREF(edges);
  return edges != Py_None;
}

// compute_into(op, out, inputs): the op's forward, written into the tensor `out`, unless that or an
// input has a history. Whether it was. compute_in_place(op, x, others): that of x and the others,
// written into x.
template <bool in_place>
PyObject* compute_into(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !is_tensor(args[1]) || !PyTuple_Check(args[2]))
    return PyErr_Format(PyExc_TypeError, "expected an op, a tensor to write and a tuple of inputs");
  for (const bool of_out : {true, false}) {
    const auto recorded =
        of_out ? has_history(args + 1, 1)
               : has_history(&PyTuple_GET_ITEM(args[2], 0), PyTuple_GET_SIZE(args[2]));
    if (!recorded) return nullptr;
    if (*recorded) Py_RETURN_FALSE;
  }
  PyObject* const out = tensor_of(args[1]).array;
  PyObject* const result = forward_of(args[0], args[2], nullptr, out, in_place ? out : nullptr);
  if (!result) return nullptr;
  Py_DECREF(result);
  Py_RETURN_TRUE;
}

// `out`, now marked as written, if the result is its array; else the result. A new reference.
PyObject* settled(PyObject* result, PyObject* out) {
  if (is_array(result)) {
    const NDArray &x = array_of(result), &y = array_of(tensor_of(out).array);
    if (is_direct(x, &y) && x.data() == y.data() && x.dtype() == y.dtype() &&
        x.shape() == y.shape() && x.strides() == y.strides()) {
      y.mark_written();
      return Py_NewRef(out);
    }
  }
  return Py_NewRef(result);
}

// offer(op, outs, inputs, constants): the op's results, one or two, computed where the tensors of
// the tuple `outs` are, if they fit: in their places the tensors, else the arrays. None where a
// tensor has a history, or is not of this device.
PyObject* offer(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 4 || !PyTuple_Check(args[1]) || !PyTuple_Check(args[3]))
    return PyErr_Format(PyExc_TypeError, "offer(op, outs, inputs, constants)");
  PyObject* const* const outs = &PyTuple_GET_ITEM(args[1], 0);
  const Py_ssize_t results = PyTuple_GET_SIZE(args[1]);
  for (Py_ssize_t i = 0; i < results; ++i)
    if (!is_tensor(outs[i]) || !is_array(tensor_of(outs[i]).array)) Py_RETURN_NONE;
  PyObject* const inputs = PySequence_Fast(args[2], "offer(): inputs must be a tuple or list");
  if (!inputs) return nullptr;
  const auto of_outs = has_history(outs, results);
  const auto of_inputs =
      has_history(PySequence_Fast_ITEMS(inputs), PySequence_Fast_GET_SIZE(inputs));
  PyObject *found = nullptr, *places = nullptr, *answer = nullptr;
  if (of_outs && of_inputs && (*of_outs || *of_inputs)) answer = Py_NewRef(Py_None);
  if (of_outs && of_inputs && !answer) {
    places = results == 1 ? Py_NewRef(tensor_of(outs[0]).array) : PyTuple_New(results);
    for (Py_ssize_t i = 0; results > 1 && places && i < results; ++i)
      PyTuple_SET_ITEM(places, i, Py_NewRef(tensor_of(outs[i]).array));
    if (places) found = forward_of(args[0], inputs, args[3], places);
  }
  if (found) try {
      PyObject* const result = PyTuple_GET_ITEM(found, 0);
      answer = results == 1 ? settled(result, outs[0]) : PyTuple_New(results);
      for (Py_ssize_t i = 0; results > 1 && answer && i < results; ++i)
        PyTuple_SET_ITEM(answer, i, settled(PyTuple_GET_ITEM(result, i), outs[i]));
    } catch (...) {
      Py_CLEAR(answer);
      raise_current();
    }
  Py_DECREF(inputs);
  Py_XDECREF(places);
  Py_XDECREF(found);
  return answer;
}

// arrays_of(inputs): the arrays of tensors, and what is none as it is.
PyObject* arrays_of(PyObject*, PyObject* inputs) {
  PyObject* const sequence = PySequence_Fast(inputs, "arrays_of(inputs)");
  if (!sequence) return nullptr;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
  PyObject* const arrays = PyTuple_New(count);
  for (Py_ssize_t i = 0; arrays && i < count; ++i) {
    PyObject* const input = PySequence_Fast_GET_ITEM(sequence, i);
    PyObject* const array = is_tensor(input) ? tensor_of(input).array : input;
    PyTuple_SET_ITEM(arrays, i, Py_NewRef(array));
  }
  Py_DECREF(sequence);
  return arrays;
}

// changed(arrays, edges, result): per input with an edge (shape, dtype) if the result has others,
// else None; None alone if that holds for all.
PyObject* changed(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1]) ||
      PyTuple_GET_SIZE(args[0]) != PyTuple_GET_SIZE(args[1]))
    return PyErr_Format(PyExc_TypeError, "changed(arrays, edges, result)");
  PyObject *const arrays = args[0], *const edges = args[1], *const result = args[2];
  static PyObject* const unless_like = PyUnicode_InternFromString("unless_like");
  const Py_ssize_t size = PyTuple_GET_SIZE(arrays);
  PyObject* answer = nullptr;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* const array = PyTuple_GET_ITEM(arrays, i);
    if (PyTuple_GET_ITEM(edges, i) == Py_None) continue;
    if (is_array(array) && is_array(result) &&
        array_of(array).dtype() == array_of(result).dtype() &&
        array_of(array).shape() == array_of(result).shape())
      continue;
    PyObject* const own = PyObject_CallMethodOneArg(array, unless_like, result);
    if (own && !answer && own != Py_None) {
      answer = PyTuple_New(size);
      for (Py_ssize_t j = 0; answer && j < size; ++j)
        PyTuple_SET_ITEM(answer, j, Py_NewRef(Py_None));
    }
    if (!own || (!answer && own != Py_None)) {
      Py_XDECREF(own);
      Py_XDECREF(answer);
      return nullptr;
    }
    if (own == Py_None) {
      Py_DECREF(own);
      continue;
    }
    PyTuple_SetItem(answer, i, own);
  }
  return answer ? answer : Py_NewRef(Py_None);
}

// keep(used_by, saved, edges): what a node has to hold of `saved`: None in place of what no
// gradient will be computed from, because the inputs that used_by names for it have no edge.
PyObject* keep(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1]) || !PyTuple_Check(args[2]))
    return PyErr_Format(PyExc_TypeError, "keep(used_by, saved, edges)");
  PyObject *const used_by = args[0], *const saved = args[1], *const edges = args[2];
  const Py_ssize_t size = PyTuple_GET_SIZE(saved);
  const Py_ssize_t places = std::min(PyTuple_GET_SIZE(used_by), size);
  auto is_wanted = [=](Py_ssize_t k) {
    PyObject* const users = PyTuple_GET_ITEM(used_by, k);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(users); ++i) {
      const Py_ssize_t input = PyLong_AsSsize_t(PyTuple_GET_ITEM(users, i));
      if (PyTuple_GET_ITEM(edges, input) != Py_None) return true;
    }
    return false;
  };
  Py_ssize_t first = 0;
  while (first < places && is_wanted(first)) ++first;
  if (first == places) return Py_NewRef(saved);
  PyObject* const kept = PyTuple_New(size);
  for (Py_ssize_t k = 0; kept && k < size; ++k)
    PyTuple_SET_ITEM(
        kept, k,
        Py_NewRef(k < first || k >= places || is_wanted(k) ? PyTuple_GET_ITEM(saved, k) : Py_None));
  return kept;
}

PyMethodDef functions[] = {{"compute", fast(compute), METH_FASTCALL, nullptr},
                           {"compute_into", fast(compute_into<false>), METH_FASTCALL, nullptr},
                           {"compute_in_place", fast(compute_into<true>), METH_FASTCALL, nullptr},
                           {"apply_plainly", fast(apply_plainly), METH_FASTCALL, nullptr},
                           {"offer", fast(offer), METH_FASTCALL, nullptr},
                           {"arrays_of", arrays_of, METH_O, nullptr},
                           {"changed", fast(changed), METH_FASTCALL, nullptr},
                           {"keep", fast(keep), METH_FASTCALL, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_apply(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError();
}

}  // namespace tt::py
