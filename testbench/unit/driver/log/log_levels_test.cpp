// WEFT_LOG: what is understood, and what is said of what is not.
#include "driver/log/log_levels.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace weft::driver;
using Catch::Contains;

namespace {

LogLevels good(std::string_view text) {
  std::string complaint;
  const LogLevels levels = parse_log_levels(text, complaint);
  INFO(complaint);
  CHECK(complaint.empty());
  return levels;
}

std::string complaint_about(std::string_view text) {
  std::string complaint;
  (void)parse_log_levels(text, complaint);
  return complaint;
}

}  // namespace

TEST_CASE("nothing is logged unless it is asked for") {
  CHECK_FALSE(good("").any());
  CHECK_FALSE(good(" , ").any());
  CHECK_FALSE(good("off").any());
}

TEST_CASE("a module has its level, a part of a name stands for all below it, and later parts win") {
  const LogLevels one = good("driver.queue=debug");
  CHECK(one.wants(LogModule::kDriverQueue, LogLevel::kDebug));
  CHECK_FALSE(one.wants(LogModule::kDriverDevice, LogLevel::kError));
  CHECK(one.firmware() == LogLevel::kOff);
  const LogLevels both = good("driver=warning, driver.queue=debug,firmware=info");
  CHECK(both.wants(LogModule::kDriverQueue, LogLevel::kDebug));
  CHECK(both.wants(LogModule::kDriverDevice, LogLevel::kWarning));
  CHECK_FALSE(both.wants(LogModule::kDriverDevice, LogLevel::kInfo));
  CHECK(both.wants(LogModule::kFirmwareCore, LogLevel::kInfo));
  CHECK(both.firmware() == LogLevel::kInfo);
  const LogLevels all = good("debug,firmware.core=off");
  CHECK(all.wants(LogModule::kDriverReport, LogLevel::kDebug));
  CHECK_FALSE(all.wants(LogModule::kFirmwareCore, LogLevel::kError));
  CHECK(all.firmware() == LogLevel::kDebug);
}

TEST_CASE("what is wrong is named with the good form, and the rest counts") {
  CHECK_THAT(complaint_about("driver.queu=debug"),
             Contains("no module 'driver.queu'") && Contains("for example driver.queue=debug,firmware=info"));
  CHECK_THAT(complaint_about("driver.queue=loud"), Contains("no level 'loud'"));
  CHECK_THAT(complaint_about("driver."), Contains("no level 'driver.'"));
  CHECK_THAT(complaint_about("=debug"), Contains("no module ''"));
  std::string complaint;
  const LogLevels levels = parse_log_levels("nonsense,driver.queue=info", complaint);
  CHECK_THAT(complaint, Contains("'nonsense'"));
  CHECK(levels.wants(LogModule::kDriverQueue, LogLevel::kInfo));
}

TEST_CASE("any text is safe, and every event and module has its name") {
  const uint64_t seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : 20'261'122;
  WARN("seed " << seed << " (rerun with --rng-seed)");
  std::mt19937_64 random(seed);
  constexpr std::string_view kLetters = "driver.queue=debug,firmware=info \t\0\xff=,,";
  for (int i = 0; i < 50'000; i++) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = random() % 4 == 0 ? static_cast<char>(random()) : kLetters[random() % kLetters.size()];
    std::string complaint;
    const LogLevels levels = parse_log_levels(text, complaint);
    REQUIRE((levels.any() || !levels.wants(LogModule::kDriverQueue, LogLevel::kError)));
  }
  for (uint32_t event = 0; event < 65536; event++)
    REQUIRE(log_module_name(log_module_of(static_cast<uint16_t>(event))).starts_with("firmware."));
}
