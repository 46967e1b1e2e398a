// Function: a Python function as PyTorch's argument parser presents one. Keywords have second names
// (`axis` for `dim`), and a method refuses `out`. A call by position costs as much as the plain
// function's, because `flat` takes keyword-only arguments by position: Python need not look up
// their defaults one by one. After a call that failed, `refusal` (refusals.py) says what its
// arguments should have been. A mode may see a function of several ops as one op (op_mode.py's
// `as_one`); a Function made for that alone has no second names. What the function's annotations
// say of some kinds is checked here, before the call: a tensor is a tensor; a flag True or False
// (the truth of anything else would hide a wrong call, such as `x.mean(2, 3)`); and a bool is no
// int, such as `x.sum(True)`. Before all that the arguments and modes are asked that have a
// __torch_function__ (autograd/overrides.h), if the Function `asks`. A Builtin is a Function that
// does not become a method of the class that it is put into.
#include <Python.h>
#include <structmember.h>

#include <cstring>

#include "autograd/overrides.h"
#include "autograd/tensor.h"
#include "bindings/bind.h"
#include "bindings/types.h"

namespace tt::py {

namespace {

struct Function {
  PyObject_HEAD PyObject *plain, *flat;  // `flat` is `plain` where it has no such arguments
  // {keyword: its first name; None where it is refused; of a flag whether it may be None; 0 of an
  // int, 1 of a tensor, 2 of a tensor or None}, or null
  PyObject* names;
  PyObject *module, *qualname;
  Py_ssize_t positional;  // how many arguments may come by position
  int as_one;             // whether a mode may see it as an op
  int asks;               // 0: nobody, 1: modes, 2: arguments, too
  PyObject* quick;        // null or None, or what is tried first: apply.py's `quick`
  Py_ssize_t quick_count;
  int quick_takes, quick_order;
  // the places of those that may come by position, a bit each; `nullable` may be None
  uint64_t flags, nullable, ints, tensors;
  vectorcallfunc vectorcall;
};

// What `quick` takes: tensors, for an op; numbers, too, but for the first; anything; or sizes, one
// by one, for an op that views the first.
constexpr int kNumbers = 1, kAnything = 2, kSizes = 3;
// Whether the second of its operands is the first argument; whether it writes into that.
constexpr int kSwapped = 1, kInPlace = 2;

// Whether a value in an int's place is a bool, Python's or NumPy's.
bool is_truth(PyObject* value) {
  return !PyLong_CheckExact(value) &&
         (PyBool_Check(value) || std::strncmp(Py_TYPE(value)->tp_name, "numpy.bool", 10) == 0);
}

// Whether tensors and flags of a call are such, and no int is a flag.
bool fit_kinds(const Function& self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  const uint64_t places = given < 64 ? (uint64_t{1} << given) - 1 : ~uint64_t{0};
  for (uint64_t tensors = self.tensors & places; tensors; tensors &= tensors - 1) {
    const int i = __builtin_ctzll(tensors);
    if (!is_tensor(args[i]) && !(args[i] == Py_None && self.nullable >> i & 1)) return false;
  }
  for (uint64_t ints = self.ints & places; ints; ints &= ints - 1)
    if (is_truth(args[__builtin_ctzll(ints)])) return false;
  for (uint64_t flags = self.flags & places; flags; flags &= flags - 1) {
    const int i = __builtin_ctzll(flags);
    if (!PyBool_Check(args[i]) && !(args[i] == Py_None && self.nullable >> i & 1)) return false;
  }
  for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i) {
    PyObject* const value = args[given + i];
    PyObject* const kind = PyDict_GetItemWithError(self.names, PyTuple_GET_ITEM(keywords, i));
    if (!kind || !PyLong_Check(kind)) continue;
    if (PyBool_Check(kind)) {
      if (!PyBool_Check(value) && !(kind == Py_True && value == Py_None)) return false;
    } else if (const long tensor = PyLong_AsLong(kind)) {
      if (!is_tensor(value) && !(tensor == 2 && value == Py_None)) return false;
    } else if (is_truth(value)) {
      return false;
    }
  }
  return true;
}

// The keywords by their first names; nullptr with a Python error where one is refused.
PyObject* first_names(const Function& self, PyObject* keywords) {
  const Py_ssize_t count = PyTuple_GET_SIZE(keywords);
  Owned result(PyTuple_New(count));
  for (Py_ssize_t i = 0; result && i < count; ++i) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, i);
    PyObject* const name = PyDict_GetItemWithError(self.names, keyword);
    if (name == Py_None)
      PyErr_Format(PyExc_TypeError, "%U() got an unexpected keyword argument '%U'", self.qualname,
                   keyword);
    if (PyErr_Occurred()) return nullptr;
    PyTuple_SET_ITEM(result.get(), i, Py_NewRef(name && PyUnicode_Check(name) ? name : keyword));
  }
  return result.release();
}

// A call's arguments as Python objects; null with a Python error.
struct Given {
  Given(PyObject* const* args, size_t count, PyObject* keywords)
      : arguments(PyTuple_New(PyVectorcall_NARGS(count))), named(PyDict_New()) {
    const Py_ssize_t given = PyVectorcall_NARGS(count);
    for (Py_ssize_t i = 0; arguments && i < given; ++i)
      PyTuple_SET_ITEM(arguments.get(), i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; named && keywords && i < PyTuple_GET_SIZE(keywords); ++i)
      PyDict_SetItem(named, PyTuple_GET_ITEM(keywords, i), args[given + i]);
  }
  explicit operator bool() const { return arguments && named; }

  const Owned arguments, named;
};

// again(function, arguments, keywords, error): a second call, with numbers of Python in the place
// of others (NumPy's, tensors without dims); NotImplemented where there are none
PyObject* again = nullptr;
// refused(function, name, arguments, keywords, error): the one to raise
PyObject* refused = nullptr;
// seen_as_one(function, arguments, keywords): what modes, or the function, make of a call
PyObject* seen_as_one = nullptr;

// After an error: the result of `again`, or nullptr with what `refusal` answers as the error.
PyObject* explain(const Function& self, PyObject* const* args, size_t count, PyObject* keywords) {
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  if (trace) PyException_SetTraceback(error, trace);
  const Given given(args, count, keywords);
  if (again && given) {
    PyObject* const function = reinterpret_cast<PyObject*>(const_cast<Function*>(&self));
    PyObject* const result = PyObject_CallFunctionObjArgs(again, function, given.arguments.get(),
                                                          given.named.get(), error, nullptr);
    if (result != Py_NotImplemented) {
      Py_DECREF(type);
      Py_DECREF(error);
      Py_XDECREF(trace);
      return result;
    }
    Py_DECREF(result);
  }
  const Owned better(refused && given
                         ? PyObject_CallFunctionObjArgs(refused, self.plain, self.qualname,
                                                        given.arguments.get(), given.named.get(),
                                                        error, nullptr)
                         : nullptr);
  if (better && better != error) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(better.get())), better);
    Py_DECREF(type);
    Py_DECREF(error);
    Py_XDECREF(trace);
  } else {
    PyErr_Restore(type, error, trace);
  }
  return nullptr;
}

PyObject* through_modes(PyObject* function, PyObject* const* args, size_t count,
                        PyObject* keywords) {
  const Given given(args, count, keywords);
  if (!given) return nullptr;
  return PyObject_CallFunctionObjArgs(seen_as_one, function, given.arguments.get(),
                                      given.named.get(), nullptr);
}

// Whether somebody answers in the call's place.
bool is_answered(const Function& self, PyObject* const* args, size_t count, PyObject* keywords) {
  if (!self.asks) return false;
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  return is_overridden(args, self.asks > 1 ? PyVectorcall_NARGS(count) + named : 0);
}

// What `quick` answers, in the place of the function; null without an error where that has to.
PyObject* answer_of_quick(const Function& self, PyObject* const* args, Py_ssize_t given) {
  if (self.quick_takes == kSizes && given > 1 && is_tensor(args[0])) {
    for (Py_ssize_t i = 1; i < given; ++i) {
      int overflow = 0;
      if (PyLong_CheckExact(args[i])) PyLong_AsLongLongAndOverflow(args[i], &overflow);
      if (!PyLong_CheckExact(args[i]) || overflow) return nullptr;
    }
    const Owned sizes(PyTuple_New(given - 1));
    for (Py_ssize_t i = 1; sizes && i < given; ++i)
      PyTuple_SET_ITEM(sizes.get(), i - 1, Py_NewRef(args[i]));
    PyObject* const both[] = {args[0], sizes};
    return sizes ? apply_to(self.quick, both, 2, 1, true) : nullptr;
  }
  if (given != self.quick_count || !is_tensor(args[0])) return nullptr;
  if (self.quick_takes == kAnything) {
    PyObject* const answer = PyObject_Vectorcall(self.quick, args, given, nullptr);
    if (answer != Py_None) return answer;
    Py_DECREF(answer);
    return nullptr;
  }
  for (Py_ssize_t i = 1; i < given; ++i) {
    const bool number = PyFloat_CheckExact(args[i]) || PyLong_CheckExact(args[i]);
    if (!is_tensor(args[i]) && !(number && self.quick_takes == kNumbers)) return nullptr;
  }
  if (self.quick_order == kInPlace) return apply_in_place(self.quick, args, given);
  if (self.quick_order != kSwapped) return apply_to(self.quick, args, given, given, false);
  PyObject* const operands[] = {args[1], args[0]};
  return apply_to(self.quick, operands, 2, 2, false);
}

PyObject* call(PyObject* object, PyObject* const* args, size_t count, PyObject* keywords) {
  const Function& self = *reinterpret_cast<Function*>(object);
  if (is_answered(self, args, count, keywords)) {
    const Given given(args, count, keywords);
    return given ? answer_of_override(object, given.arguments, given.named) : nullptr;
  }
  auto answer = [&](PyObject* function, PyObject* names) {
    const bool seen = self.as_one && is_watched(function);
    PyObject* const result = seen ? through_modes(function, args, count, names)
                                  : PyObject_Vectorcall(function, args, count, names);
    return result || !self.names ? result : explain(self, args, count, names);
  };
  const Py_ssize_t given = PyVectorcall_NARGS(count);
  if (self.quick && self.quick != Py_None && !keywords) {
    PyObject* const result = answer_of_quick(self, args, given);
    if (result) return result;
    if (PyErr_Occurred()) return self.names ? explain(self, args, count, keywords) : nullptr;
  }
  if (!self.names || given > self.positional)  // of too many, Python says so
    return answer(self.plain, keywords);
  auto checked = [&](PyObject* names) {
    if (fit_kinds(self, args, given, names)) return answer(self.flat, names);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "another kind is expected");
    return explain(self, args, count, names);
  };
  if (keywords) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); ++i) {
      PyObject* const name = PyDict_GetItemWithError(self.names, PyTuple_GET_ITEM(keywords, i));
      if (!name || PyLong_Check(name)) continue;
      const Owned renamed(first_names(self, keywords));
      return renamed ? checked(renamed) : nullptr;
    }
    if (PyErr_Occurred()) return nullptr;
  }
  return checked(keywords);
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *plain, *flat, *names, *module, *qualname;
  Py_ssize_t positional;
  int as_one, asks = 0, quick_takes = 0, quick_order = 0;
  PyObject* quick = Py_None;
  Py_ssize_t quick_count = 0;
  unsigned long long flags = 0, nullable = 0, ints = 0, tensors = 0;
  if (!PyArg_ParseTuple(args, "OOOUUnp|KKKKiOnii", &plain, &flat, &names, &module, &qualname,
                        &positional, &as_one, &flags, &nullable, &ints, &tensors, &asks, &quick,
                        &quick_count, &quick_takes, &quick_order))
    return nullptr;
  if (quick_order == kSwapped && quick_count != 2)
    return PyErr_Format(PyExc_ValueError, "two operands are swapped, got %zd", quick_count);
  if (names != Py_None && !PyDict_Check(names))
    return PyErr_Format(PyExc_TypeError, "names: expected a dict or None");
  auto* const self = reinterpret_cast<Function*>(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  self->plain = Py_NewRef(plain);
  self->flat = Py_NewRef(flat);
  self->names = names == Py_None ? nullptr : Py_NewRef(names);
  self->module = Py_NewRef(module);
  self->qualname = Py_NewRef(qualname);
  self->positional = positional;
  self->as_one = as_one;
  self->asks = asks;
  self->quick = quick == Py_None ? nullptr : Py_NewRef(quick);
  self->quick_count = quick_count;
  self->quick_takes = quick_takes;
  self->quick_order = quick_order;
  self->flags = flags;
  self->nullable = nullable;
  self->ints = ints;
  self->tensors = tensors;
  self->vectorcall = call;
  return reinterpret_cast<PyObject*>(self);
}

using Fields = Held<Function, &Function::plain, &Function::flat, &Function::names,
                    &Function::module, &Function::qualname, &Function::quick>;

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

PyObject* stay(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }

// What it has not itself is the plain function's: its name, signature, ...
PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* const own = PyObject_GenericGetAttr(self, name);
  if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  PyErr_Clear();
  return PyObject_GetAttr(reinterpret_cast<Function*>(self)->plain, name);
}

PyObject* get_doc(PyObject* self, void*) {
  return PyObject_GetAttrString(reinterpret_cast<Function*>(self)->plain, "__doc__");
}

// The module, which compat/naming.py sets.
PyObject* get_module(PyObject* self, void*) {
  return Py_NewRef(reinterpret_cast<Function*>(self)->module);
}

int set_module(PyObject* self, PyObject* name, void*) {
  if (!name || !PyUnicode_Check(name)) {
    PyErr_SetString(PyExc_TypeError, "__module__ must be set to a string object");
    return -1;
  }
  Py_XSETREF(reinterpret_cast<Function*>(self)->module, Py_NewRef(name));
  return 0;
}

PyObject* show(PyObject* self) {
  return PyUnicode_FromFormat("<function %U at %p>", reinterpret_cast<Function*>(self)->qualname,
                              static_cast<void*>(self));
}

// Pickled by its place.
PyObject* reduce(PyObject* self, PyObject*) {
  return Py_NewRef(reinterpret_cast<Function*>(self)->qualname);
}

PyMemberDef members[] = {
    {"quick", T_OBJECT, offsetof(Function, quick), 0, nullptr},  // None: nothing is tried first
    {"__wrapped__", T_OBJECT_EX, offsetof(Function, plain), READONLY, nullptr},
    {"__qualname__", T_OBJECT_EX, offsetof(Function, qualname), READONLY, nullptr},
    {"asks", T_INT, offsetof(Function, asks), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {{"__doc__", get_doc, nullptr, nullptr, nullptr},
                            {"__module__", get_module, set_module, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
template <auto descr_get>
PyType_Slot slots[] = {{Py_tp_new, slot(make)},
                       {Py_tp_dealloc, slot(Fields::destroy)},
                       {Py_tp_traverse, slot(Fields::traverse)},
                       {Py_tp_clear, slot(Fields::clear)},
                       {Py_tp_call, slot(PyVectorcall_Call)},
                       {Py_tp_descr_get, slot(descr_get)},
                       {Py_tp_getattro, slot(get_attribute)},
                       {Py_tp_repr, slot(show)},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
constexpr unsigned kFlags =
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_BASETYPE;
PyType_Spec spec = {"tiny_torch._core.Function", sizeof(Function), 0,
                    kFlags | Py_TPFLAGS_METHOD_DESCRIPTOR, slots<bind>};
PyType_Spec builtin_spec = {"tiny_torch._core.Builtin", sizeof(Function), 0, kFlags, slots<stay>};

// explain_refusals(again, refused): sets what is asked of calls that fail.
PyObject* explain_refusals(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "explain_refusals(again, refused)");
  Py_XSETREF(again, Py_NewRef(args[0]));
  Py_XSETREF(refused, Py_NewRef(args[1]));
  Py_RETURN_NONE;
}

// see_as_one(seen_as_one): sets what is asked of calls that a mode may see as one.
PyObject* see_as_one(PyObject*, PyObject* function) {
  Py_XSETREF(seen_as_one, Py_NewRef(function));
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {fast<explain_refusals>("explain_refusals"),
                           {"see_as_one", see_as_one, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_function(PyObject* module) {
  add_functions(module, functions);
  PyTypeObject* const function = add_type(module, "Function", spec);
  add_type(module, "Builtin", builtin_spec, reinterpret_cast<PyObject*>(function));
}

}  // namespace tt::py
