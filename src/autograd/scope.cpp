// Scope: what a `with` changes and puts back, whole at any moment.
//
// Ctrl-C, or a signal handler that raises, may end Python between any two of its steps: within
// __enter__, on the way to __exit__, within that. So both are C++ here, and Python says what they
// do in three methods: `current` answers what is to be put back, `begin` changes it, `restore` puts
// that back, as often as it is called. A `with` that is ended before it calls __exit__ drops that
// method, which then does its work.
#include <memory>
#include <vector>

#include "autograd/tensor.h"
#include "core/memory/storage.h"

namespace tt::py {

namespace {

// What an entry is to put back, and who has entered: threads may share a scope.
struct Entry {
  unsigned long thread;
  PyObject* before;
};
struct Scope {
  PyObject_HEAD std::vector<Entry>* entries;  // null before the first
};

// A bound __exit__.
struct Exit {
  PyObject_HEAD PyObject* scope;  // null once it was called
  Py_ssize_t entries;             // of the scope, when this was made
};

PyTypeObject *scope_type, *mode_type, *exit_type;
constexpr int kAttempts = 8;  // to put back, where each time a signal's handler raises

// The names that Python has given its parts.
struct Names {
  PyObject* current = PyUnicode_InternFromString("current");
  PyObject* begin = PyUnicode_InternFromString("begin");
  PyObject* restore = PyUnicode_InternFromString("restore");
  PyObject* bits_on = PyUnicode_InternFromString("bits_on");
  PyObject* bits_off = PyUnicode_InternFromString("bits_off");
};
const Names& names() {
  static const Names all;
  return all;
}

// An error that is on its way while something else runs.
class Pending {
 public:
  Pending() { PyErr_Fetch(&type_, &error_, &trace_); }
  ~Pending() {
    if (type_) PyErr_Restore(type_, error_, trace_);
  }

 private:
  PyObject *type_, *error_, *trace_;
};

// ------------------------------------------------------------------------------- bits of the modes
// What a mode switches on and off. False with a Python error.
bool find_bits(PyObject* self, long& on, long& off) {
  const Owned first(PyObject_GetAttr(self, names().bits_on));
  const Owned second(first ? PyObject_GetAttr(self, names().bits_off) : nullptr);
  if (!second) return false;
  on = PyLong_AsLong(first);
  off = PyLong_AsLong(second);
  return (on != -1 && off != -1) || !PyErr_Occurred();
}

void use_bits(long bits) {
  if ((bits ^ thread_modes()) & kInference) set_inference_mode(bits & kInference);
  set_thread_modes(bits);
}

// ---------------------------------------------------------------------------- entering and leaving
PyObject* current(PyObject* self) {
  if (PyObject_TypeCheck(self, mode_type)) return PyLong_FromLong(thread_modes());
  return PyObject_CallMethodNoArgs(self, names().current);
}

PyObject* begin(PyObject* self) {
  if (!PyObject_TypeCheck(self, mode_type)) return PyObject_CallMethodNoArgs(self, names().begin);
  long on, off;
  if (!find_bits(self, on, off)) return nullptr;
  use_bits((thread_modes() & ~off) | on);
  Py_RETURN_NONE;
}

bool restore_once(PyObject* self, PyObject* before) {
  if (!PyObject_TypeCheck(self, mode_type))
    return Owned(PyObject_CallMethodOneArg(self, names().restore, before)) != nullptr;
  long on, off;
  if (!find_bits(self, on, off)) return false;
  const long own = on | off;  // others may have changed since
  use_bits((thread_modes() & ~own) | (PyLong_AsLong(before) & own));
  return true;
}

// False with the first error that a restoring has raised, though a later one has succeeded.
bool restore(PyObject* self, PyObject* before) {
  if (restore_once(self, before)) return true;
  const Pending first;
  for (int i = 1; i < kAttempts && !restore_once(self, before); ++i) PyErr_Clear();
  return false;
}

Py_ssize_t entries(PyObject* self) {
  const auto* const all = reinterpret_cast<Scope*>(self)->entries;
  return all ? static_cast<Py_ssize_t>(all->size()) : 0;
}

// Puts back what this thread's last entry has found.
PyObject* leave(PyObject* self) {
  if (!entries(self))
    return PyErr_Format(PyExc_RuntimeError, "%s is not entered", Py_TYPE(self)->tp_name);
  auto& all = *reinterpret_cast<Scope*>(self)->entries;
  const unsigned long thread = PyThread_get_thread_ident();
  auto last = all.end() - 1;
  while (last->thread != thread && last != all.begin()) --last;
  if (last->thread != thread) last = all.end() - 1;
  const Owned before(last->before);
  all.erase(last);
  if (!restore(self, before)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* enter(PyObject* self, PyObject*) {
  PyObject* const before = current(self);
  if (!before) return nullptr;
  auto*& all = reinterpret_cast<Scope*>(self)->entries;
  if (!all) all = new std::vector<Entry>;
  all->push_back({PyThread_get_thread_ident(), before});
  PyObject* const answer = begin(self);
  if (answer) return answer;
  const Pending error;
  if (!Owned(leave(self))) PyErr_Clear();
  return nullptr;
}

// within(scope, function, *args, **kwargs): function(*args, **kwargs) in the scope, which several
// threads may use so at once.
PyObject* within(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  if (count < 2 || !PyObject_TypeCheck(args[0], scope_type))
    return PyErr_Format(PyExc_TypeError, "within(scope, function, *args, **kwargs)");
  PyObject* const self = args[0];
  const Owned before(current(self));
  if (!before) return nullptr;
  const Owned begun(begin(self));
  PyObject* answer = begun ? PyObject_Vectorcall(args[1], args + 2, count - 2, keywords) : nullptr;
  if (answer) {
    if (!restore(self, before)) Py_CLEAR(answer);
    return answer;
  }
  const Pending error;
  if (!restore(self, before)) PyErr_Clear();
  return nullptr;
}

// -----------------------------------------------------------------------------------------
// __exit__
PyObject* make_exit(PyObject* scope) {
  auto* const made = reinterpret_cast<Exit*>(exit_type->tp_alloc(exit_type, 0));
  if (!made) return nullptr;
  made->scope = Py_NewRef(scope);
  made->entries = entries(scope);
  return reinterpret_cast<PyObject*>(made);
}

PyObject* call_exit(PyObject* self, PyObject*, PyObject*) {
  const Owned scope(std::exchange(reinterpret_cast<Exit*>(self)->scope, nullptr));
  if (!scope) return PyErr_Format(PyExc_RuntimeError, "__exit__ was called already");
  return leave(scope);
}

void drop_exit(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* const type = Py_TYPE(self);
  const Py_ssize_t known = reinterpret_cast<Exit*>(self)->entries;
  if (PyObject* const scope = std::exchange(reinterpret_cast<Exit*>(self)->scope, nullptr)) {
    if (entries(scope) > known) {  // entered since, by a `with` that was ended
      const Pending error;
      if (!Owned(leave(scope))) PyErr_Clear();
    }
    Py_DECREF(scope);
  }
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse_exit(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<Exit*>(self)->scope);
  return 0;
}

// The class's __exit__: a call of it takes the scope first.
PyObject* bind_exit(PyObject* self, PyObject* scope, PyObject*) {
  return scope && PyObject_TypeCheck(scope, scope_type) ? make_exit(scope) : Py_NewRef(self);
}

PyObject* call_unbound(PyObject*, PyObject* args, PyObject*) {
  PyObject* const scope = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : nullptr;
  if (!scope || !PyObject_TypeCheck(scope, scope_type))
    return PyErr_Format(PyExc_TypeError, "__exit__(scope, *exception)");
  return leave(scope);
}

int traverse_scope(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (const auto* all = reinterpret_cast<Scope*>(self)->entries)
    for (const Entry& entry : *all) Py_VISIT(entry.before);
  return 0;
}

int clear_scope(PyObject* self) {
  const std::unique_ptr<std::vector<Entry>> all(
      std::exchange(reinterpret_cast<Scope*>(self)->entries, nullptr));
  if (all)
    for (const Entry& entry : *all) Py_DECREF(entry.before);
  return 0;
}

void destroy_scope(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear_scope(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// A copy is not entered.
PyObject* get_state(PyObject* self, PyObject*) {
  PyObject* const fields = PyObject_GetAttrString(self, "__dict__");
  if (fields || !PyErr_ExceptionMatches(PyExc_AttributeError)) return fields;
  PyErr_Clear();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"__getstate__", get_state, METH_NOARGS, "What a copy has of it."},
                         {"__enter__", enter, METH_NOARGS, "Begins what the `with` changes."},
                         {nullptr, nullptr, 0, nullptr}};
PyMethodDef functions[] = {
    {"within", reinterpret_cast<PyCFunction>(slot(within)), METH_FASTCALL | METH_KEYWORDS,
     "within(scope, function, *args, **kwargs): the function's answer, called in the scope."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_scope(PyObject* module) {
  constexpr unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  static PyType_Slot scope_slots[] = {{Py_tp_dealloc, slot(destroy_scope)},
                                      {Py_tp_traverse, slot(traverse_scope)},
                                      {Py_tp_clear, slot(clear_scope)},
                                      {Py_tp_methods, methods},
                                      {0, nullptr}};
  static PyType_Slot mode_slots[] = {{0, nullptr}};
  static PyType_Slot exit_slots[] = {{Py_tp_dealloc, slot(drop_exit)},
                                     {Py_tp_traverse, slot(traverse_exit)},
                                     {Py_tp_call, slot(call_exit)},
                                     {0, nullptr}};
  static PyType_Slot unbound_slots[] = {
      {Py_tp_descr_get, slot(bind_exit)}, {Py_tp_call, slot(call_unbound)}, {0, nullptr}};
  static PyType_Spec scope_spec = {"tiny_torch._core.Scope", sizeof(Scope), 0,
                                   flags | Py_TPFLAGS_BASETYPE, scope_slots};
  static PyType_Spec mode_spec = {"tiny_torch._core.ModeScope", sizeof(Scope), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, mode_slots};
  static PyType_Spec exit_spec = {"tiny_torch._core.Exit", sizeof(Exit), 0, flags, exit_slots};
  static PyType_Spec unbound_spec = {"tiny_torch._core.UnboundExit", sizeof(PyObject), 0,
                                     Py_TPFLAGS_DEFAULT, unbound_slots};
  scope_type = add_type(module, "Scope", scope_spec);
  exit_type = add_type(module, "Exit", exit_spec);
  PyTypeObject* const unbound = add_type(module, "UnboundExit", unbound_spec);
  const Owned method(unbound->tp_alloc(unbound, 0));
  if (!method ||
      PyObject_SetAttrString(reinterpret_cast<PyObject*>(scope_type), "__exit__", method) < 0)
    throw PythonError();
  mode_type = add_type(module, "ModeScope", mode_spec, reinterpret_cast<PyObject*>(scope_type));
  add_functions(module, functions);
}

}  // namespace tt::py
