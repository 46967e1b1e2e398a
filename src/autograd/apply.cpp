// What apply.py asks in every call: an op's forward, and what a node has to keep of it.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "autograd/method.h"
#include "autograd/overrides.h"
#include "autograd/record.h"
#include "core/memory/extent.h"
#include "core/result.h"

namespace tt::py {

namespace {

// Up to a dozen borrowed references without an allocation; place -1 is free, as calls want it.
class Arguments {
 public:
  explicit Arguments(Py_ssize_t count) {
    if (count + 1 > static_cast<Py_ssize_t>(few_.size())) many_.resize(count + 1);
  }
  PyObject** data() { return (many_.empty() ? few_.data() : many_.data()) + 1; }

 private:
  std::array<PyObject*, 12> few_;
  std::vector<PyObject*> many_;
};

// What forward takes: a tensor's array; a number, an array or a setting as it is.
PyObject* array_or_itself(PyObject* argument) {
  return is_tensor(argument) ? tensor_of(argument).array : argument;
}

// Says a forward's TypeError about arrays in words of its caller, who gave tensors. Other errors
// stay as they are.
void explain_types(PyObject* op, PyObject* const* arguments, Py_ssize_t count) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return;
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  const Owned text(PyObject_Str(error));
  const char* const said = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (!said || !(std::strstr(said, "NDArray") || std::strstr(said, "incompatible function"))) {
    PyErr_Restore(type, error, trace);
    return;
  }
  std::string given;
  for (Py_ssize_t i = 0; i < count; ++i) given += (i ? ", " : "") + type_name(arguments[i]);
  const Owned name(PyObject_GetAttrString(op, "__name__"));
  PyErr_Format(PyExc_TypeError, "%S() received an invalid combination of arguments - got (%s)",
               name.get(), given.c_str());
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(trace);
}

// A call of op.forward(*arguments), with out=, if given. `first`, where not null, is an array that
// comes before the arguments. What a Method saves is put together where it is asked for.
class Forward {
 public:
  Forward(PyObject* op, PyObject* const* arguments, Py_ssize_t count, PyObject* out = nullptr,
          PyObject* first = nullptr)
      : count_(count + (first ? 1 : 0)), values_(count_ + 1) {
    static PyObject* const name = PyUnicode_InternFromString("forward");
    static PyObject* const keywords = Py_BuildValue("(s)", "out");
    constexpr size_t kOffset = PY_VECTORCALL_ARGUMENTS_OFFSET;
    PyObject** const values = values_.data();
    if (first) values[0] = first;
    for (Py_ssize_t i = 0; i < count; ++i)
      values[count_ - count + i] = array_or_itself(arguments[i]);
    values[count_] = out;
    Owned forward(PyObject_GetAttr(op, name));
    if (!forward) return;
    if (is_method(forward)) {
      for (; held_ < count_; ++held_) Py_INCREF(values[held_]);  // it may let other threads run
      method_ = forward.release();
      result_ = call_method(method_, values, count_, out);
    } else if (const Owned pair(PyObject_Vectorcall(forward, values, count_ | kOffset,
                                                    out ? keywords : nullptr));
               pair && (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair.get()) != 2)) {
      PyErr_Format(PyExc_TypeError, "%R: forward answers (result, saved)", op);
    } else if (pair) {
      result_ = Py_NewRef(PyTuple_GET_ITEM(pair.get(), 0));
      saved_ = Py_NewRef(PyTuple_GET_ITEM(pair.get(), 1));
    }
    if (!result_) explain_types(op, arguments, count);
  }
  Forward(const Forward&) = delete;
  ~Forward() {
    for (PyObject* const object : {result_, saved_, method_}) Py_XDECREF(object);
    while (held_ > 0) Py_DECREF(values_.data()[--held_]);
  }

  // Borrowed; null with a Python error.
  PyObject* result() const { return result_; }
  PyObject* saved() {
    return saved_ ? saved_ : saved_ = saved_by_method(method_, values_.data(), count_, result_);
  }
  // The two; a new reference.
  PyObject* pair() { return result_ && saved() ? PyTuple_Pack(2, result_, saved_) : nullptr; }

 private:
  const Py_ssize_t count_;
  Arguments values_;
  Py_ssize_t held_ = 0;
  PyObject *result_ = nullptr, *saved_ = nullptr, *method_ = nullptr;
};

// Per input with an edge (shape, dtype) if the result has others, else None; None alone if that
// holds for all.
PyObject* changed_inputs(PyObject* const* inputs, PyObject* edges, PyObject* result) {
  static PyObject* const unless_like = PyUnicode_InternFromString("unless_like");
  const Py_ssize_t size = PyTuple_GET_SIZE(edges);
  PyObject* answer = nullptr;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* const array = array_or_itself(inputs[i]);
    if (PyTuple_GET_ITEM(edges, i) == Py_None) continue;
    if (is_array(array) && is_array(result) &&
        array_of(array).dtype() == array_of(result).dtype() &&
        array_of(array).shape() == array_of(result).shape())
      continue;
    PyObject* const own = PyObject_CallMethodOneArg(array, unless_like, result);
    if (own == Py_None) {
      Py_DECREF(own);
      continue;
    }
    if (own && !answer) {
      answer = PyTuple_New(size);
      for (Py_ssize_t j = 0; answer && j < size; ++j)
        PyTuple_SET_ITEM(answer, j, Py_NewRef(Py_None));
    }
    if (!own || !answer) {
      Py_XDECREF(own);
      Py_XDECREF(answer);
      return nullptr;
    }
    PyTuple_SetItem(answer, i, own);
  }
  return answer ? answer : Py_NewRef(Py_None);
}

// What a node has to hold of `saved`: None in place of what no gradient will be computed from,
// because the inputs that used_by names for it have no edge; and in place of a function its answer,
// which only a node asks for.
PyObject* kept_values(PyObject* used_by, PyObject* saved, PyObject* edges) {
  if (!PyTuple_Check(used_by) || !PyTuple_Check(saved))
    return PyErr_Format(PyExc_TypeError, "used_by and saved are tuples");
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
  auto is_kept = [=](Py_ssize_t k) {
    return is_wanted(k) && !PyCallable_Check(PyTuple_GET_ITEM(saved, k));
  };
  Py_ssize_t first = 0;
  while (first < places && is_kept(first)) ++first;
  if (first == places) return Py_NewRef(saved);
  Owned kept(PyTuple_New(size));
  for (Py_ssize_t k = 0; kept && k < size; ++k) {
    PyObject* const value = PyTuple_GET_ITEM(saved, k);
    const bool whole = k < first || k >= places || is_kept(k);
    PyObject* const own = whole          ? Py_NewRef(value)
                          : is_wanted(k) ? PyObject_CallNoArgs(value)
                                         : Py_NewRef(Py_None);
    if (!own) return nullptr;
    PyTuple_SET_ITEM(kept.get(), k, own);
  }
  return kept.release();
}

// ---------------------------------------------------------------------------------------- apply
PyObject* in_modes;  // apply.py's function of that name, once it has said so

// in_modes(op, arguments, arity, as_view)
PyObject* applied_in_modes(PyObject* op, PyObject* const* arguments, Py_ssize_t count,
                           Py_ssize_t arity, bool as_view) {
  const Owned tuple(PyTuple_New(count));
  const Owned inputs(PyLong_FromSsize_t(arity));
  if (!tuple || !inputs) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(arguments[i]));
  return PyObject_CallFunctionObjArgs(in_modes, op, tuple.get(), inputs.get(),
                                      as_view ? Py_True : Py_False, nullptr);
}

Py_ssize_t arity_of(PyObject* op) {
  static PyObject* const name = PyUnicode_InternFromString("arity");
  const Owned number(PyObject_GetAttr(op, name));
  return number ? PyLong_AsSsize_t(number) : -1;
}

// The node of an op whose inputs have these edges.
PyObject* node_of(PyObject* op, PyObject* const* arguments, Py_ssize_t count, PyObject* edges,
                  PyObject* result, PyObject* saved) {
  static PyObject* const broadcasts = PyUnicode_InternFromString("broadcasts");
  static PyObject* const used_by = PyUnicode_InternFromString("used_by");
  const Py_ssize_t arity = PyTuple_GET_SIZE(edges);
  const Owned wide(PyObject_GetAttr(op, broadcasts)), users(PyObject_GetAttr(op, used_by));
  if (!wide || !users) return nullptr;
  const Owned inputs(wide == Py_True ? changed_inputs(arguments, edges, result)
                                     : Py_NewRef(Py_None));
  const Owned kept(kept_values(users, saved, edges));
  const Owned constants(PyTuple_New(count - arity));
  if (!inputs || !kept || !constants) return nullptr;
  for (Py_ssize_t i = arity; i < count; ++i)
    PyTuple_SET_ITEM(constants.get(), i - arity, Py_NewRef(arguments[i]));
  return make_node(op, edges, kept, inputs, constants);
}

PyObject* recorded(PyObject* op, PyObject* const* arguments, Py_ssize_t count, Py_ssize_t arity,
                   bool as_view);

// Calls an op, records its node if an input has a history, and answers its tensors. The first
// `arity` arguments are inputs (negative: op.arity). `in_row`: the call is a row of the thread's
// record already. A device whose arrays are not C++'s goes to Python (apply.py, where this can be
// read, too); so does an op that is watched, one that a mode wants to see, and any mode that does
// more than switch recording off.
PyObject* applied(PyObject* op, PyObject* const* arguments, Py_ssize_t count, Py_ssize_t arity,
                  bool as_view, bool in_row = false) {
  const bool of_python =
      count > 0 && is_tensor(arguments[0]) && !is_array(tensor_of(arguments[0]).array);
  if (const long others = thread_modes() & ~kModesOff; of_python || others) {
    const bool watched = is_watched(op);
    if (others & kRecorded && !in_row && !watched)
      return recorded(op, arguments, count, arity, as_view);
    if (of_python || watched || others & ~kSeen)
      return applied_in_modes(op, arguments, count, arity, as_view);
  }
  Forward forward(op, arguments, count);
  PyObject* const result = forward.result();
  if (!result) return nullptr;
  PyObject* const shown = as_view ? arguments[0] : nullptr;
  if (!may_record(arguments, count)) return tensors_of(result, nullptr, shown);
  if (arity < 0) arity = arity_of(op);
  if (arity < 0) return nullptr;
  const Owned edges(edges_among(op, arguments, std::min(arity, count)));
  if (!edges) return nullptr;
  if (edges == Py_None) return tensors_of(result, nullptr, shown);
  PyObject* const saved = forward.saved();
  if (!saved) return nullptr;
  const Owned node(node_of(op, arguments, count, edges, result, saved));
  return node ? tensors_of(result, node, shown) : nullptr;
}

// The same as a row of this thread's record. What a mode wants to see is no row: it calls again.
PyObject* recorded(PyObject* op, PyObject* const* arguments, Py_ssize_t count, Py_ssize_t arity,
                   bool as_view) {
  Recorded row(op, arguments, count, as_view ? Form::kView : Form::kOrdinary);
  return row.answer(applied(op, arguments, count, arity, as_view, true));
}

// apply(op, *arguments): the op's inputs, and the constants that follow them.
PyObject* apply(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2) return PyErr_Format(PyExc_TypeError, "apply(op, *arguments)");
  return applied(args[0], args + 1, count - 1, -1, false);
}

// apply_unasked(op, *arguments): the same; TypeError where an argument is to be asked first.
PyObject* apply_unasked(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  if (!is_overridden(args + 1, count - 1)) return apply(module, args, count);
  return PyErr_Format(PyExc_TypeError, "an argument has a __torch_function__");
}

// apply_view(op, x, *constants): of an op whose result, or several, show x's own memory.
PyObject* apply_view(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2 || !is_tensor(args[1]))
    return PyErr_Format(PyExc_TypeError, "apply_view(op, x, *constants)");
  return applied(args[0], args + 1, count - 1, 1, true);
}

// apply_many(op, tensors, *constants): of an op of any number of inputs.
PyObject* apply_many(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2) return PyErr_Format(PyExc_TypeError, "apply_many(op, tensors, *constants)");
  const Owned tensors(PySequence_Tuple(args[1]));  // which nobody can change meanwhile
  if (!tensors) return nullptr;
  const Py_ssize_t inputs = PyTuple_GET_SIZE(tensors.get()), total = inputs + count - 2;
  Arguments all(total);
  for (Py_ssize_t i = 0; i < inputs; ++i) all.data()[i] = PyTuple_GET_ITEM(tensors.get(), i);
  std::copy(args + 2, args + count, all.data() + inputs);
  return applied(args[0], all.data(), total, inputs, false);
}

// register_apply(in_modes)
PyObject* register_apply(PyObject*, PyObject* function) {
  in_modes = Py_NewRef(function);
  Py_RETURN_NONE;
}

// ----------------------------------------------------------------- results written where one says
// (result, saved) of forward, a row of this thread's record, if it has one; in place of `x`, where
// not null.
PyObject* written(PyObject* op, PyObject* const* arguments, Py_ssize_t count, PyObject* out,
                  PyObject* x = nullptr) {
  PyObject* const first = x ? tensor_of(x).array : nullptr;
  if (!(thread_modes() & kRecorded)) return Forward(op, arguments, count, out, first).pair();
  const Py_ssize_t lead = x ? 1 : 0;
  Arguments all(lead + count);
  all.data()[0] = x;
  std::copy_n(arguments, count, all.data() + lead);
  Recorded row(op, all.data(), lead + count, x ? Form::kInPlace : Form::kOut);
  PyObject* const pair = Forward(op, arguments, count, out, first).pair();
  if (pair) row.answer(PyTuple_GET_ITEM(pair, 0));
  return pair;
}

// compute(op, arguments, out=None): op.forward of their arrays, with out= if given.
PyObject* compute(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2 || count > 3 || !PyTuple_Check(args[1]))
    return PyErr_Format(PyExc_TypeError, "compute(op, arguments, out=None)");
  PyObject* const out = count > 2 && args[2] != Py_None ? args[2] : nullptr;
  return written(args[0], &PyTuple_GET_ITEM(args[1], 0), PyTuple_GET_SIZE(args[1]), out);
}

// Whether one of the tensors has a history, which Python has to refuse or extend. -1 with a Python
// error.
int has_history(PyObject* const* tensors, Py_ssize_t count) {
  const Owned edges(edges_among(Py_None, tensors, count));
  return edges ? edges != Py_None : -1;
}

// The op's forward, written into the tensor `out`, or into `out` as its first input. Whether it
// was: not where one of them has a history, or a mode wants to see the op. -1 with a Python error.
int forward_into(PyObject* op, PyObject* out, PyObject* const* inputs, Py_ssize_t count,
                 bool in_place) {
  if (is_watched(op)) return 0;
  int found = has_history(&out, 1);
  if (!found) found = has_history(inputs, count);
  if (found) return found < 0 ? -1 : 0;
  const Owned pair(written(op, inputs, count, tensor_of(out).array, in_place ? out : nullptr));
  return pair ? 1 : -1;
}

// compute_into(op, out, inputs), compute_in_place(op, x, others): forward_into.
template <bool in_place>
PyObject* compute_into(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !is_tensor(args[1]) || !PyTuple_Check(args[2]))
    return PyErr_Format(PyExc_TypeError, "expected an op, a tensor to write and a tuple of inputs");
  const int done = forward_into(args[0], args[1], &PyTuple_GET_ITEM(args[2], 0),
                                PyTuple_GET_SIZE(args[2]), in_place);
  return done < 0 ? nullptr : PyBool_FromLong(done);
}

// `out`, now marked as written, if the result is its array; else the result. A new reference.
PyObject* out_or_result(PyObject* result, PyObject* out) {
  if (is_array(result)) {
    const NDArray &x = array_of(result), &y = array_of(tensor_of(out).array);
    if (is_direct(x, &y) && same_elements(x, y)) {
      y.mark_written();
      return Py_NewRef(out);
    }
  }
  return Py_NewRef(result);
}

// offer(op, outs, inputs, constants): the op's results, one or two. The op is offered the memory of
// the tensors `outs`: a result is the tensor where that was taken, else an array. None where a
// tensor has a history, or is not of this device, or a mode wants to see the op.
PyObject* offer(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 4 || !PyTuple_Check(args[1]) || !PyTuple_Check(args[3]))
    return PyErr_Format(PyExc_TypeError, "offer(op, outs, inputs, constants)");
  const Owned inputs(PySequence_Tuple(args[2]));
  if (!inputs) return nullptr;
  const Py_ssize_t arity = PyTuple_GET_SIZE(inputs.get()), size = arity + PyTuple_GET_SIZE(args[3]);
  Arguments arguments(size);
  std::copy_n(&PyTuple_GET_ITEM(inputs.get(), 0), arity, arguments.data());
  std::copy_n(&PyTuple_GET_ITEM(args[3], 0), size - arity, arguments.data() + arity);
  PyObject* const* const outs = &PyTuple_GET_ITEM(args[1], 0);
  const Py_ssize_t results = PyTuple_GET_SIZE(args[1]);
  for (Py_ssize_t i = 0; i < results; ++i)
    if (!is_tensor(outs[i]) || !is_array(tensor_of(outs[i]).array)) Py_RETURN_NONE;
  if (is_watched(args[0])) Py_RETURN_NONE;
  int found = has_history(outs, results);
  if (!found) found = has_history(arguments.data(), size);
  if (found) return found < 0 ? nullptr : Py_NewRef(Py_None);
  const Owned places(results == 1 ? Py_NewRef(tensor_of(outs[0]).array) : PyTuple_New(results));
  if (!places) return nullptr;
  for (Py_ssize_t i = 0; results > 1 && i < results; ++i)
    PyTuple_SET_ITEM(places.get(), i, Py_NewRef(tensor_of(outs[i]).array));
  const Owned pair(written(args[0], arguments.data(), size, places));
  if (!pair) return nullptr;
  PyObject* const result = PyTuple_GET_ITEM(pair.get(), 0);
  if (results == 1) return out_or_result(result, outs[0]);
  Owned answer(PyTuple_New(results));
  for (Py_ssize_t i = 0; answer && i < results; ++i)
    PyTuple_SET_ITEM(answer.get(), i, out_or_result(PyTuple_GET_ITEM(result, i), outs[i]));
  return answer.release();
}

// arrays_of(inputs): the arrays of tensors, and what is none as it is.
PyObject* arrays_of(PyObject*, PyObject* inputs) {
  const Owned sequence(PySequence_Fast(inputs, "arrays_of(inputs)"));
  if (!sequence) return nullptr;
  PyObject* const* const items = PySequence_Fast_ITEMS(sequence.get());
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.get());
  PyObject* const arrays = PyTuple_New(count);
  for (Py_ssize_t i = 0; arrays && i < count; ++i)
    PyTuple_SET_ITEM(arrays, i, Py_NewRef(array_or_itself(items[i])));
  return arrays;
}

// changed(arrays, edges, result): changed_inputs.
PyObject* changed(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1]) ||
      PyTuple_GET_SIZE(args[0]) < PyTuple_GET_SIZE(args[1]))
    return PyErr_Format(PyExc_TypeError, "changed(arrays, edges, result)");
  return changed_inputs(&PyTuple_GET_ITEM(args[0], 0), args[1], args[2]);
}

// keep(used_by, saved, edges): kept_values.
PyObject* keep(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !PyTuple_Check(args[2]))
    return PyErr_Format(PyExc_TypeError, "keep(used_by, saved, edges)");
  return kept_values(args[0], args[1], args[2]);
}

// refuse_overlap(out, apart, same=()): RuntimeError where a tensor to write into shares memory with
// one of the tensors that must lie apart, or some of it with those that may be it. What is no
// tensor, or of another device, is left alone.
PyObject* refuse_overlap(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2 || count > 3 || !PyTuple_Check(args[1]) || (count > 2 && !PyTuple_Check(args[2])))
    return PyErr_Format(PyExc_TypeError, "refuse_overlap(out, apart, same=())");
  auto array_in = [](PyObject* tensor) -> const NDArray* {
    if (!is_tensor(tensor) || !is_array(tensor_of(tensor).array)) return nullptr;
    return &array_of(tensor_of(tensor).array);
  };
  const NDArray* const out = array_in(args[0]);
  for (Py_ssize_t group = 1; out && group < count; ++group)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[group]); ++i)
      if (const NDArray* const input = array_in(PyTuple_GET_ITEM(args[group], i)))
        tt::refuse_overlap(*out, *input, group == 2);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {fast<compute>("compute"),
                           fast<compute_into<false>>("compute_into"),
                           fast<compute_into<true>>("compute_in_place"),
                           fast<apply>("apply"),
                           fast<apply_unasked>("apply_unasked"),
                           fast<apply_view>("apply_view"),
                           fast<apply_many>("apply_many"),
                           {"register_apply", register_apply, METH_O, nullptr},
                           fast<offer>("offer"),
                           fast<refuse_overlap>("refuse_overlap"),
                           {"arrays_of", arrays_of, METH_O, nullptr},
                           fast<changed>("changed"),
                           fast<keep>("keep"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* apply_to(PyObject* op, PyObject* const* arguments, Py_ssize_t count, Py_ssize_t arity,
                   bool as_view) {
  try {
    return applied(op, arguments, count, arity, as_view);
  } catch (...) {
    return raise_current();
  }
}

PyObject* apply_in_place(PyObject* op, PyObject* const* arguments, Py_ssize_t count) {
  try {
    const int done = forward_into(op, arguments[0], arguments + 1, count - 1, true);
    return done > 0 ? Py_NewRef(arguments[0]) : nullptr;
  } catch (...) {
    return raise_current();
  }
}

void add_apply(PyObject* module) { add_functions(module, functions); }

}  // namespace tt::py
