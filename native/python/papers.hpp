// The wing on behalf of Python: perceptrons of few bits, and sparse matrices.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../papers/quantised/quantised_perceptrons.hpp"
#include "../papers/sparse/products.hpp"
#include "arrays.hpp"
#include "perceptrons.hpp"

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

using sparse::Links;
using Floats = py::array_t<float, py::array::c_style>;

// More weights than this have no 32-bit number.
constexpr py::ssize_t kMostWeights = 1 << 30;

inline Links make_links(const py::array_t<bool, py::array::c_style>& mask) {
  if (mask.ndim() != 2 || mask.size() == 0 || mask.size() > kMostWeights) {
    throw std::invalid_argument("a mask is [inputs, outputs], at most 2^30 entries, got " +
                                described(mask));
  }
  return {mask.data(), static_cast<std::size_t>(mask.shape(0)),
          static_cast<std::size_t>(mask.shape(1))};
}

inline const float* vector_of(const Floats& array, std::size_t size, const char* name) {
  if (array.ndim() != 1 || array.size() != static_cast<py::ssize_t>(size)) {
    throw std::invalid_argument(std::string(name) + " are [" + std::to_string(size) + "], got " +
                                described(array));
  }
  return array.data();
}

inline std::size_t columns_of(const Floats& array, std::size_t rows, const char* name) {
  const auto registers = static_cast<py::ssize_t>(sparse::kRegister);
  if (array.ndim() != 2 || array.shape(0) != static_cast<py::ssize_t>(rows) ||
      array.shape(1) % registers != 0) {
    throw std::invalid_argument(std::string(name) + " are [" + std::to_string(rows) +
                                ", columns], a multiple of " + std::to_string(registers) +
                                " columns, got " + described(array));
  }
  return static_cast<std::size_t>(array.shape(1));
}

inline py::array_t<std::int64_t> places_of(const Links& links) {
  auto places = new_array<std::int64_t>(Shape<1>{static_cast<py::ssize_t>(links.count())});
  std::int64_t* place = places.mutable_data();
  for (std::size_t j = 0; j < links.outputs; ++j) {
    for (std::int32_t link = links.ends[j]; link < links.ends[j + 1]; ++link) {
      *place++ = static_cast<std::int64_t>(links.from[link] * links.outputs + j);
    }
  }
  return places;
}

inline Floats sparse_forward(const Links& links, const Floats& weights, const Floats& biases,
                             const Floats& inputs) {
  const float* of_links = vector_of(weights, links.count(), "weights");
  const float* of_outputs = vector_of(biases, links.outputs, "biases");
  const std::size_t columns = columns_of(inputs, links.inputs, "inputs");
  Floats outputs =
      new_array<float>(Shape<2>{static_cast<py::ssize_t>(links.outputs), inputs.shape(1)});
  sparse::forward(links, of_links, of_outputs, inputs.data(), columns, outputs.mutable_data());
  return outputs;
}

inline std::pair<Floats, std::optional<Floats>> sparse_backward(const Links& links,
                                                                const Floats& weights,
                                                                const Floats& inputs,
                                                                const Floats& of_outputs,
                                                                bool to_inputs) {
  const float* of_links = vector_of(weights, links.count(), "weights");
  const std::size_t columns = columns_of(inputs, links.inputs, "inputs");
  if (columns_of(of_outputs, links.outputs, "gradients") != columns) {
    throw std::invalid_argument("gradients of other columns than inputs: " + described(of_outputs));
  }
  Floats of_weights = new_array<float>(Shape<1>{static_cast<py::ssize_t>(links.count())});
  std::optional<Floats> of_inputs;
  if (to_inputs) {
    of_inputs = new_array<float>(Shape<2>{inputs.shape(0), inputs.shape(1)});
  }
  sparse::backward(links, of_links, inputs.data(), of_outputs.data(), columns,
                   of_weights.mutable_data(), of_inputs ? of_inputs->mutable_data() : nullptr);
  return {std::move(of_weights), std::move(of_inputs)};
}

inline void bind_sparse(py::module_& module) {
  py::class_<Links>(module, "SparseLinks")
      .def(py::init(&make_links), py::arg("mask"))
      .def_property_readonly("places", &places_of)
      .def("forward", &sparse_forward, py::arg("weights"), py::arg("biases"), py::arg("inputs"))
      .def("backward", &sparse_backward, py::arg("weights"), py::arg("inputs"),
           py::arg("of_outputs"), py::arg("to_inputs"));
}

}  // namespace gym::python
