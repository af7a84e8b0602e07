// One table of all families, and why some operators are not built.
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {

Rule find_rule(std::string_view op) {
  static const Rules all = [] {
    Rules rules;
    for (const auto* family :
         {&activation_rules(), &attention_rules(), &control_rules(), &convolution_rules(), &elementwise_rules(),
          &grid_rules(), &image_rules(), &indexing_rules(), &movement_rules(), &normalization_rules(), &pooling_rules(),
          &product_rules(), &quantization_rules(), &recurrent_rules(), &reduction_rules(), &shape_rules(),
          &signal_rules()})
      rules.insert(family->begin(), family->end());
    return rules;
  }();
  const auto found = all.find(op);
  return found == all.end() ? nullptr : found->second;
}

std::string_view excuse_of(std::string_view op) {
  static const std::map<std::string_view, std::string_view> excuses{
      {"Bernoulli", "random numbers"},
      {"ConcatFromSequence", "sequences"},
      {"ImageDecoder", "image files"},
      {"MaxRoiPool", "regions of interest"},
      {"Multinomial", "random numbers"},
      {"Optional", "optional values"},
      {"OptionalGetElement", "optional values"},
      {"OptionalHasElement", "optional values"},
      {"RandomNormal", "random numbers"},
      {"RandomNormalLike", "random numbers"},
      {"RandomUniform", "random numbers"},
      {"RandomUniformLike", "random numbers"},
      {"RegexFullMatch", "strings"},
      {"SequenceAt", "sequences"},
      {"SequenceConstruct", "sequences"},
      {"SequenceEmpty", "sequences"},
      {"SequenceErase", "sequences"},
      {"SequenceInsert", "sequences"},
      {"SequenceLength", "sequences"},
      {"SequenceMap", "sequences"},
      {"SplitToSequence", "sequences"},
      {"StringConcat", "strings"},
      {"StringNormalizer", "strings"},
      {"StringSplit", "strings"},
      {"TfIdfVectorizer", "strings"},
  };
  const auto found = excuses.find(op);
  return found == excuses.end() ? "" : found->second;
}

}  // namespace weft::compiler::frontend
