// Perceptrons of few bits, on behalf of Python.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../papers/quantised/quantised_perceptrons.hpp"
#include "perceptrons.hpp"
#include "pybind.hpp"

namespace gym::python {

using quantised::QuantisedPerceptrons;

inline QuantisedPerceptrons make_quantised(const std::vector<Array<std::uint8_t>>& codes,
                                           const std::vector<Array<float>>& scales,
                                           const std::vector<Array<std::int32_t>>& zeros,
                                           const std::vector<Array<float>>& biases,
                                           const std::vector<Array<float>>& input_scales,
                                           const std::vector<Array<std::int32_t>>& input_zeros,
                                           const std::string& activation, int most,
                                           const std::string& kernel) {
  if (most < 1 || most > 255) {
    throw std::invalid_argument("the largest code is 1 to 255, got " + std::to_string(most));
  }
  perceptrons::Shape shape = shape_of(codes, activation);
  const auto of_scales = numbers_of(scales, shape, true, "scales");
  const auto of_zeros = numbers_of(zeros, shape, true, "zeros");
  const auto of_biases = numbers_of(biases, shape, true, "biases");
  const auto of_input_scales = numbers_of(input_scales, shape, false, "scales of inputs");
  const auto of_input_zeros = numbers_of(input_zeros, shape, false, "zeros of inputs");
  std::vector<QuantisedPerceptrons::Layer> layers;
  for (std::size_t layer = 0; layer < shape.layers(); ++layer) {
    layers.push_back({codes[layer].data(), of_scales[layer], of_zeros[layer], of_biases[layer],
                      of_input_scales[layer], of_input_zeros[layer]});
  }
  return {std::move(shape), layers, most, kernel};
}

inline std::vector<std::string> kernel_names() {
  const quantised::Kernels all = quantised::kernels();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.count; ++i) names.emplace_back(all.first[i].name);
  return names;
}

inline void bind_quantised(py::module_& module) {
  module.attr("KERNELS") = py::tuple(py::cast(kernel_names()));
  py::class_<QuantisedPerceptrons>(module, "QuantisedPerceptrons")
      .def(py::init(&make_quantised), py::arg("codes"), py::arg("scales"), py::arg("zeros"),
           py::arg("biases"), py::arg("input_scales"), py::arg("input_zeros"),
           py::arg("activation"), py::arg("most"), py::arg("kernel") = "")
      .def("run", &run<QuantisedPerceptrons>, py::arg("inputs"), py::arg("calls") = 1);
}

}  // namespace gym::python
