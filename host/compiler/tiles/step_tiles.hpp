/// Steps of a program as operators on matrices: a place in scratch is a matrix in VMEM, an argument is loaded or stored.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "host/compiler/program.hpp"
#include "host/compiler/tiles/spills.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {

/// One owner.
class StepTiles {
 public:
  /// The values `spilled` go through memory. `readers`: the steps that count as readers of a place,
  /// those that are added and perhaps others.
  StepTiles(CommandGraph& graph, ProgramBuilder& program, std::span<const Step> readers,
            std::set<ValueKey> spilled = {}, bool one_product = false);

  /// `last`: no step follows.
  void add(const Step& step, bool last);

  /// What lies at a place in scratch, or null.
  [[nodiscard]] const Matrix* value(const TensorPlace& place) const;
  /// Of what lies in memory, all that has not been loaded is loaded.
  Matrix& load_all(const TensorPlace& place, uint64_t rows, uint64_t columns, weft_vpu_dtype dtype);
  /// A matrix that is there before the first step.
  void keep(const TensorPlace& place, Matrix value) { values_.insert_or_assign(key_of(place), std::move(value)); }
  void store(const Matrix& value, const TensorPlace& to, const std::string& name) { tiles_.store(value, to, name); }
  /// Rows of what comes and goes in chunks can be long: chunks of them are as small as VMEM asks for.
  void limit_chunks(std::span<const Step> steps);
  /// Weights that several products have come anew for each.
  void let_weights_go() { products_of_.clear(); }
  /// Other chips have stored what lies at the place: steps that read it load it.
  void stored(const TensorPlace& place);
  /// Somebody behind the last step reads it too, as rows.
  void leaves(const TensorPlace& place) { readers_of_[key_of(place)]++; }
  /// A product was before the first step, whose work hides what the next one loads.
  void begin_behind_product() { tiles_.begin_behind_product(); }
  /// Before the first step, of a program that chips run together.
  void enter_slice(const spec::BarrierCommand& barrier, bool lands_in_memory) {
    tiles_.enter_slice(barrier, lands_in_memory);
  }

 private:
  /// Segment and offset. Of what lies in memory also rows, columns and type: equal constants of several shapes lie in one
  /// place, and so do an input and its first rows.
  using Key = std::tuple<uint8_t, uint64_t, uint64_t, uint64_t, int>;
  [[nodiscard]] static Key key_of(const TensorPlace& place, uint64_t rows = 0, uint64_t columns = 0, int dtype = 0) {
    return {place.segment, place.offset_bytes, rows, columns, dtype};
  }

  Matrix& matrix(const TensorPlace& place, uint64_t rows, uint64_t columns, weft_vpu_dtype dtype);
  const Matrix& weights(const PairProductStep& step);
  [[nodiscard]] uint64_t only_weights_of(const TensorPlace& y) const;
  Matrix& factor(const PairProductStep& step);
  [[nodiscard]] bool goes_through_memory(const TensorPlace& place) const;
  void finish(const TensorPlace& place, Matrix value, const std::string& name);
  template <typename Sums>
  Matrix sum_apart(Product& product, Matrix& residual, Sums sums);
  void add_step(const DenseStep& step, bool last);
  void add_step(const VectorStep& step, bool last);
  void add_step(const RearrangeStep& step, bool last);
  void add_step(const ReduceStep& step, bool last);
  void add_step(const PairProductStep& step, bool last);
  void add_step(const ConvolutionStep& step, bool last);
  void add_step(const WindowStep& step, bool last);
  void add_step(const CollectiveStep& step, bool last);
  [[nodiscard]] const CollectiveStep* only_collective_of(const TensorPlace& y) const;
  void add_step(const RowsStep& step, bool last);

  const std::set<ValueKey> spilled_;
  TileBuilder tiles_;
  std::map<Key, Matrix> values_;
  std::map<std::pair<uint8_t, uint64_t>, uint64_t> products_of_;  ///< of weights by their place
  std::map<std::pair<Key, uint64_t>, Matrix> weights_;  ///< of products of two computed matrices, by place and batch
  std::map<Key, uint64_t> readers_of_;                  ///< of what begins at a place, whatever its shape
  std::map<Key, const CollectiveStep*> collectives_;    ///< by the place of what they read
  std::map<Key, std::map<uint64_t, uint64_t>> weights_for_;  ///< by place: steps that have it as weights, by batch
};

/// A multiplication by one whose result has another type is a cast.
[[nodiscard]] bool only_casts(const VectorStep& step);

}  // namespace weft::compiler::tiles
