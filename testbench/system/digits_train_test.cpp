// Training on one chip and on slices: every bit as the host's reference has it, and the same after a break.
#include <catch2/catch.hpp>
#include <tuple>

#include "host/examples/digits_train/draws.hpp"
#include "host/examples/digits_train/pulled_link.hpp"
#include "host/examples/digits_train/reference_trainer.hpp"
#include "host/examples/digits_train/trainer.hpp"
#include "host/reference/comparison.hpp"

using namespace weft;
using examples::Checkpoint;
using examples::Digits;
using examples::RunSettings;
using examples::Trainer;
using runtime::ChipSet;

namespace {

const Digits& digits() {
  static const auto data = examples::read_optdigits(WEFT_DIGITS_DIR "/optdigits.csv");
  if (!data.ok()) FAIL(data.error().message);
  return data.value().training;
}

RunSettings settings(uint64_t batch, uint64_t hidden = 128) {
  return {{{examples::kPixels, hidden, examples::kClasses}}, 1, batch, digits().labels.size(), {}};
}

Checkpoint start(const RunSettings& s) {
  Checkpoint c{s, 0, examples::first_parameters(s.network, s.seed), {}};
  c.momentum.resize(c.parameters.size());
  return c;
}

/// `where`: a slice, or a core of one nano chip.
Trainer trainer(const std::string& where, const Checkpoint& from) {
  auto chips = where.find('-') != std::string::npos ? ChipSet::open_slice("sim:" + where)
                                                    : ChipSet::open_chip({.chip = "nano", .core = where});
  if (!chips.ok()) FAIL(chips.error().message);
  auto made = Trainer::create(std::move(chips.value()), from.settings, digits());
  if (!made.ok()) FAIL(made.error().message);
  REQUIRE(made.value().set(from).ok());
  return std::move(made.value());
}

Checkpoint state(const Trainer& t) {
  auto c = t.get();
  if (!c.ok()) FAIL(c.error().message);
  return std::move(c.value());
}

uint64_t differing(const std::vector<float>& a, const std::vector<float>& b) {
  tools::Comparison comparison;
  comparison.add_list("values", a, b);
  REQUIRE((!a.empty() && comparison.elements() == a.size()));
  return comparison.differing();
}

/// Losses, parameters and momenta that differ from the host's after some steps.
uint64_t check(const std::string& where, const RunSettings& s, uint64_t steps) {
  Trainer t = trainer(where, start(s));
  const auto run = t.run(steps);
  if (!run.ok()) FAIL(run.error().message);
  examples::ReferenceTrainer reference(t.chips().chip(), t.chips().shape(), s, digits());
  reference.set(start(s));
  const auto losses = reference.run(steps);
  const Checkpoint expected = reference.get(), is = state(t);
  return differing(losses, run.value().losses) + differing(expected.parameters, is.parameters) +
         differing(expected.momentum, is.momentum);
}

}  // namespace

TEST_CASE("steps on one chip equal the host's, on the fast core and on the RTL") {
  CHECK(check("fast", settings(64), 5) == 0);
  CHECK(check("rtl", settings(16, 24), 2) == 0);
}

TEST_CASE("steps on slices equal the host's: the documented order of reduction along x, then along y") {
  CHECK(check("nano-2x2", settings(64), 3) == 0);
  CHECK(check("nano-4x4", settings(48, 24), 2) == 0);
  CHECK(check("nano-4x2", settings(40, 16), 2) == 0);
}

TEST_CASE("a link that is pulled in the middle of training costs cycles, and no bit of the model") {
  for (const auto& [where, batch, link] :
       {std::tuple{"nano-2x2", 64u, "1:+y"}, {"nano-4x4", 48u, "5:+x"}, {"nano-4x4", 48u, "10:-y"}}) {
    INFO(where << " " << link);
    const auto s = settings(batch, 24);
    Trainer whole = trainer(where, start(s)), pulled = trainer(where, start(s));
    const auto found = examples::find_link(pulled.chips(), link, 7);
    REQUIRE(found.ok());
    REQUIRE(examples::pull(pulled.chips(), found.value()).ok());
    const auto without = whole.run(4), with = pulled.run(4);
    REQUIRE(without.ok());
    if (!with.ok()) FAIL(with.error().message);
    REQUIRE(examples::pulled_text(pulled.chips(), found.value()).ok());  // it is down
    CHECK(differing(without.value().losses, with.value().losses) == 0);
    CHECK(examples::encode_checkpoint(state(whole)) == examples::encode_checkpoint(state(pulled)));
    CHECK(with.value().device_cycles > without.value().device_cycles);
  }
}

TEST_CASE("a run that was broken off goes on from its checkpoint as if nothing had been: 0 bytes differ") {
  for (const char* where : {"fast", "nano-2x2"}) {
    const auto s = settings(64, 32);
    Trainer whole = trainer(where, start(s));
    REQUIRE(whole.run(20).ok());  // beyond an epoch of 18
    Trainer before = trainer(where, start(s));
    REQUIRE(before.run(10).ok());
    const auto file = examples::encode_checkpoint(state(before));
    const auto read = examples::decode_checkpoint(file);
    REQUIRE(read.ok());
    Trainer after = trainer(where, read.value());
    REQUIRE(after.run(10).ok());
    CHECK(examples::encode_checkpoint(state(after)) == examples::encode_checkpoint(state(whole)));
  }
}

TEST_CASE("losses and device cycles on a slice are the same in every run") {
  const auto s = settings(64, 16);
  Trainer a = trainer("nano-2x2", start(s)), b = trainer("nano-2x2", start(s));
  const auto first = a.run(4), second = b.run(4);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(differing(first.value().losses, second.value().losses) == 0);
  CHECK(first.value().device_cycles == second.value().device_cycles);
}

TEST_CASE("what a trainer cannot do is refused with what it could, and it goes on") {
  auto chips = ChipSet::open_slice("sim:nano-2x2");
  REQUIRE(chips.ok());
  const auto uneven = Trainer::create(std::move(chips.value()), settings(30), digits());
  REQUIRE(!uneven.ok());
  CHECK(uneven.error().message == "a batch of 30 rows on 4 chips: a multiple of 4, 1196 at most, is due");
  Trainer t = trainer("fast", start(settings(32, 8)));
  CHECK(!t.set(start(settings(64, 8))).ok());
  CHECK(t.run(1).ok());
  auto wide = ChipSet::open_chip({.chip = "nano", .core = "fast"});
  REQUIRE(wide.ok());
  auto wrong = settings(32);
  wrong.network.widths = {64, 9};
  CHECK(!Trainer::create(std::move(wide.value()), wrong, digits()).ok());
}
