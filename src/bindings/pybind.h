// For functions that pybind11 binds.
#pragma once
#include <pybind11/pybind11.h>

#include "bindings/types.h"

namespace tt::py {

inline pybind11::module_ module_from(PyObject* module) {
  return pybind11::reinterpret_borrow<pybind11::module_>(module);
}
inline pybind11::object wrap(NDArray&& array) {
  return pybind11::reinterpret_steal<pybind11::object>(to_python(std::move(array)));
}
inline const NDArray& array_arg(pybind11::handle object) {
  return Argument<const NDArray&>::get(object.ptr());
}

}  // namespace tt::py
