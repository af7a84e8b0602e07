// The order of the passes.
#include "host/compiler/passes/pass.hpp"

#include <array>

#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::passes {

std::span<const Pass> all() {
  static constexpr std::array kPasses{Pass{"simplify", simplify},
                                      Pass{"integer_products", integer_products},
                                      Pass{"plain_convolutions", plain_convolutions},
                                      Pass{"split_products", split_products},
                                      Pass{"fold", fold},
                                      Pass{"loop_constants", loop_constants},
                                      Pass{"unroll", unroll},
                                      Pass{"row_blocks", row_blocks},
                                      Pass{"common_subexpressions", common_subexpressions},
                                      Pass{"dead_code", dead_code}};
  return kPasses;
}

Result<ir::Module> run_all(ir::Module module, const std::function<void(std::string_view, const ir::Module&)>& after) {
  return ir::guarded([&] {
    for (const auto& pass : all()) {
      module = pass.run(module);
      if (after) after(pass.name, module);
    }
    return std::move(module);
  });
}

}  // namespace weft::compiler::passes
