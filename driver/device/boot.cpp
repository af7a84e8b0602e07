// The boot handshake.
#include "driver/device/boot.hpp"

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "driver/transport/registers.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

/// Waits a little longer each time.
class Backoff {
 public:
  void pause() {
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(pause_ * 2, kLongest);
  }

 private:
  static constexpr microseconds kLongest{5000};
  microseconds pause_{50};
};

std::string version_text(uint32_t version) { return fmt::format("{}.{}", version >> 16, version & 0xffff); }
constexpr uint32_t kOurVersion = (WEFT_ABI_MAJOR << 16) | WEFT_ABI_MINOR;

uint64_t fresh_nonce() {
  std::random_device random;
  const uint64_t nonce = uint64_t{random()} << 32 | random();
  return nonce != 0 ? nonce : 1;
}

std::string stage_text(uint32_t stage) {
  for (const auto& row : spec::kBootStageNames) {
    if (row.value == stage) return fmt::format("{} ({}: {})", stage, row.name, row.doc);
  }
  return std::to_string(stage);
}

/// DEVICE_STATE and BOOT_STAGE; all ones is DEVICE_LOST.
struct Progress {
  uint32_t state;
  uint32_t stage;
};
Result<Progress> read_progress(Transport& transport) {
  const auto state = read32(transport, WEFT_REG_DEVICE_STATE);
  if (!state.ok()) return state.status();
  const auto stage = read32(transport, WEFT_REG_BOOT_STAGE);
  if (!stage.ok()) return stage.status();
  if (state.value() == kAllOnes) return failure(WEFT_ERROR_DEVICE_LOST, "the device answers with all ones");
  return Progress{state.value(), stage.value()};
}

/// That of BOOT_ERROR, or what the chip says itself if it is not the firmware that has ended the boot. Any name, or the
/// number.
Result<std::string> error_text(Transport& transport) {
  const auto error = read32(transport, WEFT_REG_BOOT_ERROR);
  if (!error.ok()) return error.status();
  uint64_t code = error.value();
  if (code == WEFT_ERROR_OK) {
    const auto first = read64(transport, WEFT_REG_FIRST_ERROR);
    if (!first.ok()) return first.status();
    code = first.value();
  }
  const std::string_view name = spec::error_name(static_cast<uint32_t>(code));
  return name.empty() ? std::to_string(code) : std::string(name);
}

Status boot_error(Transport& transport, const weft_parameter_page& page, uint32_t stage) {
  const auto error = read32(transport, WEFT_REG_BOOT_ERROR);
  if (!error.ok()) return error.status();
  if (error.value() == WEFT_ERROR_ABI_MISMATCH) {
    return failure(WEFT_ERROR_ABI_MISMATCH, "the firmware has ABI {}, this driver {}",
                   version_text(page.answer_version), version_text(kOurVersion));
  }
  const auto text = error_text(transport);
  if (!text.ok()) return text.status();
  return failure(WEFT_ERROR_BOOT_FAILED, "boot failed with {} after stage {}", text.value(), stage_text(stage));
}

/// READY was seen: is it the answer to this boot?
Status check_answer(Transport& transport, const weft_parameter_page& page) {
  const auto nonce = read64(transport, WEFT_REG_BOOT_ANSWER_NONCE);
  if (!nonce.ok()) return nonce.status();
  std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the firmware: answer fields, then READY
  if (nonce.value() != page.nonce || page.answer_nonce != page.nonce) {
    return failure(WEFT_ERROR_BOOT_FAILED, "stale READY: it answers nonce {:#x} (page {:#x}), this boot has {:#x}",
                   nonce.value(), page.answer_nonce, page.nonce);
  }
  if (page.answer_version >> 16 != WEFT_ABI_MAJOR) {
    return failure(WEFT_ERROR_ABI_MISMATCH, "the firmware has ABI {}, this driver {}",
                   version_text(page.answer_version), version_text(kOurVersion));
  }
  return {};
}

}  // namespace

Result<DeviceIdentity> identify(Transport& transport) {
  const auto magic = read32(transport, WEFT_REG_MAGIC);
  if (!magic.ok()) return magic.status();
  if (magic.value() == kAllOnes) return failure(WEFT_ERROR_DEVICE_LOST, "the device answers with all ones");
  if (magic.value() != WEFT_MAGIC)
    return failure(WEFT_ERROR_UNSUPPORTED, "not a Weft device: magic {:#010x} instead of {:#010x}", magic.value(),
                   WEFT_MAGIC);
  const auto version = read32(transport, WEFT_REG_ABI_VERSION);
  if (!version.ok()) return version.status();
  if (WEFT_FIELD(WEFT_REG_ABI_VERSION_MAJOR, version.value()) != WEFT_ABI_MAJOR) {
    return failure(WEFT_ERROR_ABI_MISMATCH, "the device has ABI {}, this driver {}", version_text(version.value()),
                   version_text(kOurVersion));
  }
  const auto fingerprint = read64(transport, WEFT_REG_CHIP_FINGERPRINT);
  const auto clock = read64(transport, WEFT_REG_CLOCK_HZ);
  const auto hbm = read64(transport, WEFT_REG_HBM_BYTES);
  const auto reserved = read64(transport, WEFT_REG_HBM_RESERVED_BYTES);
  const auto capabilities = read32(transport, WEFT_REG_CAPABILITIES);
  for (const Status& status :
       {fingerprint.status(), clock.status(), hbm.status(), reserved.status(), capabilities.status()}) {
    if (!status.ok()) return status;
  }
  if (reserved.value() > hbm.value())
    return failure(WEFT_ERROR_BOOT_FAILED, "{} bytes of HBM with {} reserved", hbm.value(), reserved.value());
  return DeviceIdentity{fingerprint.value(), clock.value(),   hbm.value(),
                        reserved.value(),    version.value(), capabilities.value()};
}

Result<bool> waits_for_boot(Transport& transport) {
  const auto progress = read_progress(transport);
  if (!progress.ok()) return progress.status();
  return progress.value().state == WEFT_DEVICE_STATE_PRESENT;
}

Status boot_device(Transport& transport, const HostMemory& control, const Queue& admin, const BootLimits& limits) {
  auto& page = *reinterpret_cast<weft_parameter_page*>(control.data());
  page = weft_parameter_page{};
  page.magic = WEFT_MAGIC;
  page.abi_version = kOurVersion;
  page.nonce = fresh_nonce();
  page.admin_submission_iova = admin.submission_iova();
  page.admin_completion_iova = admin.completion_iova();
  page.fault_iova = control.iova() + ControlMemory::kFaultOffset;
  page.log_iova = control.iova() + ControlMemory::kLogOffset;
  std::atomic_thread_fence(std::memory_order_release);  // pairs with the firmware: BOOT_CONTROL, then the page
  if (Status s = write64(transport, WEFT_REG_PARAMETER_PAGE, control.iova()); !s.ok()) return s;
  if (Status s = write32(transport, WEFT_REG_BOOT_CONTROL, 1); !s.ok()) return s;

  uint32_t stage = WEFT_BOOT_STAGE_ROM;
  auto stage_start = Clock::now();
  for (Backoff backoff;; backoff.pause()) {
    const auto progress = read_progress(transport);
    if (!progress.ok()) return progress.status();
    const auto [state, now_stage] = progress.value();
    if (state == WEFT_DEVICE_STATE_FAILED) return boot_error(transport, page, now_stage);
    if (state == WEFT_DEVICE_STATE_READY && now_stage == WEFT_BOOT_STAGE_READY) return check_answer(transport, page);
    if (now_stage != stage) {
      stage = now_stage;
      stage_start = Clock::now();
    } else if (Clock::now() > stage_start + limits.stage) {
      return failure(WEFT_ERROR_BOOT_FAILED, "boot is stuck after stage {} for {} ms", stage_text(stage),
                     limits.stage.count());
    }
  }
}

Result<uint32_t> reset_device(Transport& transport, const BootLimits& limits) {
  const auto before = read32(transport, WEFT_REG_RESET_GENERATION);
  if (!before.ok()) return before.status();
  if (Status s = write32(transport, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY); !s.ok()) return s;
  const auto start = Clock::now();
  for (Backoff backoff;; backoff.pause()) {
    const auto generation = read32(transport, WEFT_REG_RESET_GENERATION);
    if (!generation.ok()) return generation.status();
    const auto progress = read_progress(transport);
    if (!progress.ok()) return progress.status();
    const auto [state, stage] = progress.value();
    if (generation.value() != before.value() && state == WEFT_DEVICE_STATE_PRESENT) {
      // Firmware that does not take the reset is started anew by the chip, which counts one more: maybe just now.
      const auto still = read32(transport, WEFT_REG_RESET_GENERATION);
      if (!still.ok() || still.value() == generation.value()) return still;
    }
    if (Clock::now() > start + limits.reset) {
      if (generation.value() != before.value() && state == WEFT_DEVICE_STATE_FAILED) {
        const auto text = error_text(transport);
        if (!text.ok()) return text.status();
        return failure(WEFT_ERROR_BOOT_FAILED, "the device has failed with {} after its reset, stage {}", text.value(),
                       stage_text(stage));
      }
      return failure(WEFT_ERROR_BOOT_FAILED, "the reset has not ended after {} ms: generation {} (before {})",
                     limits.reset.count(), generation.value(), before.value());
    }
  }
}

}  // namespace weft::driver
