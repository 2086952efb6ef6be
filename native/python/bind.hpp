// What the module consists of: every file here adds its part.
#pragma once

#include <pybind11/pybind11.h>

namespace gym::python {

void bind_hardware(pybind11::module_& module);
void bind_layer(pybind11::module_& module);
void bind_space(pybind11::module_& module);
void bind_evaluator(pybind11::module_& module);
void bind_observation(pybind11::module_& module);
void bind_network(pybind11::module_& module);
void bind_report(pybind11::module_& module);

}  // namespace gym::python
