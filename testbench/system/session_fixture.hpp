/// What every system test in C++ needs: a session that is open, or a test that fails with the driver's message.
#pragma once
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "testbench/system/product.hpp"

namespace weft::test {

/// WEFT_SEED, or `standard`; printed, so that a failure can be run again.
inline uint64_t printed_seed(uint64_t standard) {
  const char* text = std::getenv("WEFT_SEED");
  const uint64_t seed = text == nullptr ? standard : std::strtoull(text, nullptr, 0);
  std::printf("WEFT_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

inline runtime::Session open_session(const std::string& chip, const std::string& core) {
  runtime::Target target;
  target.chip = chip;
  target.core = core;
  auto session = runtime::Session::open(target);
  if (!session.ok()) FAIL(chip << ", " << core << " core: " << session.error().message);
  return std::move(session.value());
}

inline ProductRun run_or_fail(runtime::Session& session, const Product& product) {
  auto run = run_product(session, product);
  if (!run.ok()) FAIL(product.name() << " on " << session.chip().name << ": " << run.error().message);
  return std::move(run.value());
}

inline void close_or_fail(runtime::Session& session) {
  const auto status = session.close();
  if (!status.ok()) FAIL("close: " << status.error().message);
}

}  // namespace weft::test
