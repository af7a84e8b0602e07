// Boot: every stage, every way to fail, and the answer to the host.
#include <functional>

#include "check.hpp"
#include "host_side.hpp"

using namespace mock;

namespace {

constexpr uint32_t kVersion = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR;

struct Failure {
  const char* name;
  std::function<void(Host&)> arrange;
  weft_boot_stage stage;  ///< the last one reached
  weft_error error;
};

}  // namespace

static void a_good_page_leads_to_ready_with_its_nonce(void**) {
  Host host = boot();
  run_firmware();
  auto& r = machine().registers;
  assert_int_equal(r[WEFT_REG_BOOT_STAGE], WEFT_BOOT_STAGE_READY);
  assert_int_equal(r[WEFT_REG_DEVICE_STATE], WEFT_DEVICE_STATE_READY);
  assert_int_equal(r[WEFT_REG_BOOT_ERROR], WEFT_ERROR_OK);
  assert_int_equal(r[WEFT_REG_BOOT_ANSWER_NONCE], 0xfeed);
  assert_int_equal(host.page().answer_nonce, 0xfeed);
  assert_int_equal(host.page().answer_version, kVersion);
  assert_int_equal(host.page().answer_features, 0);
  assert_int_equal(r[WEFT_REG_FIRST_ERROR], 0);
}

static void every_stage_fails_with_its_name_and_stays_failed(void**) {
  const Failure failures[] = {
      {"core stuck in reset", [](Host&) { machine().core.reset_stuck = true; }, WEFT_BOOT_STAGE_IMAGE_VERIFIED,
       WEFT_ERROR_BOOT_FAILED},
      {"HBM write", [](Host&) { machine().fail_dma_after = 0; }, WEFT_BOOT_STAGE_IMAGE_VERIFIED,
       WEFT_ERROR_BOOT_FAILED},
      {"HBM read", [](Host&) { machine().fail_dma_after = 1; }, WEFT_BOOT_STAGE_IMAGE_VERIFIED, WEFT_ERROR_BOOT_FAILED},
      {"page unaligned", [](Host&) { machine().parameter_page += 8; }, WEFT_BOOT_STAGE_MEMORY_INITIALISED,
       WEFT_ERROR_BOOT_FAILED},
      {"page beyond the IOVA space", [](Host&) { machine().parameter_page = ~UINT64_C(63); },
       WEFT_BOOT_STAGE_MEMORY_INITIALISED, WEFT_ERROR_BOOT_FAILED},
      {"page not mapped", [](Host&) { machine().parameter_page = 0x4000; }, WEFT_BOOT_STAGE_MEMORY_INITIALISED,
       WEFT_ERROR_DMA_FAULT},
      {"magic", [](Host& h) { h.page().magic ^= 1; }, WEFT_BOOT_STAGE_MEMORY_INITIALISED, WEFT_ERROR_BOOT_FAILED},
      {"nonce 0", [](Host& h) { h.page().nonce = 0; }, WEFT_BOOT_STAGE_MEMORY_INITIALISED, WEFT_ERROR_BOOT_FAILED},
      {"answer not writable", [](Host&) { machine().fail_dma_after = 3; }, WEFT_BOOT_STAGE_MEMORY_INITIALISED,
       WEFT_ERROR_DMA_FAULT},
      {"ABI major", [](Host& h) { h.page().abi_version += 1 << 16; }, WEFT_BOOT_STAGE_MEMORY_INITIALISED,
       WEFT_ERROR_ABI_MISMATCH},
      {"admin ring unaligned", [](Host& h) { h.page().admin_submission_iova += 4; }, WEFT_BOOT_STAGE_MEMORY_INITIALISED,
       WEFT_ERROR_BOOT_FAILED},
      {"fault ring wraps", [](Host& h) { h.page().fault_iova = ~UINT64_C(63); }, WEFT_BOOT_STAGE_MEMORY_INITIALISED,
       WEFT_ERROR_BOOT_FAILED},
      {"admin ring not mapped", [](Host& h) { h.page().admin_submission_iova = 0x10000; },
       WEFT_BOOT_STAGE_PARAMETERS_ACCEPTED, WEFT_ERROR_DMA_FAULT},
      {"end of the admin ring not mapped",
       [](Host& h) { h.page().admin_submission_iova = kHostBase + kHostBytes - 1024; },
       WEFT_BOOT_STAGE_PARAMETERS_ACCEPTED, WEFT_ERROR_DMA_FAULT},
  };
  for (const Failure& f : failures) {
    Host host = boot();
    f.arrange(host);
    machine().script = {[&] { host.request_boot(); }};  // a second request does not help: failed is sticky
    run_firmware();
    auto& r = machine().registers;
    if (r[WEFT_REG_BOOT_STAGE] != f.stage || r[WEFT_REG_BOOT_ERROR] != f.error) {
      fail_msg("%s: stage %d, error %d", f.name, static_cast<int>(r[WEFT_REG_BOOT_STAGE]),
               static_cast<int>(r[WEFT_REG_BOOT_ERROR]));
    }
    assert_int_equal(r[WEFT_REG_DEVICE_STATE], WEFT_DEVICE_STATE_FAILED);
    assert_int_equal(r[WEFT_REG_BOOT_ANSWER_NONCE], 0);
    assert_int_equal(r[WEFT_REG_FIRST_ERROR], f.error);
    assert_int_equal(machine().interrupts.size(), 1);
    assert_false(machine().hung);
  }
}

static void an_abi_mismatch_names_both_versions_in_the_page(void**) {
  Host host = boot();
  host.page().abi_version = 9 << 16 | 3;
  run_firmware();
  assert_int_equal(host.page().answer_version, kVersion);
  assert_int_equal(host.page().abi_version, 9 << 16 | 3);
}

static void a_newer_minor_version_and_unknown_features_are_accepted(void**) {
  Host host = boot();
  host.page().abi_version += 7;
  host.page().feature_mask = UINT64_MAX;
  run_firmware();
  assert_int_equal(machine().registers[WEFT_REG_DEVICE_STATE], WEFT_DEVICE_STATE_READY);
  assert_int_equal(host.page().answer_features, 0);
}

static void a_reset_boots_again_and_forgets_everything(void**) {
  Host host = boot();
  machine().script = {[&] { host.create(3, 8, 8); }, [&] { machine().running = false; }};
  run_firmware();
  machine().running = true;
  machine().submission_doorbell.fill(0);
  machine().completion_doorbell.fill(0);
  host = Host();
  host.page().nonce = 0xbeef;
  machine().script = {[&] { host.create(3, 8, 8); },
                      [&] { assert_int_equal(CODE(host.drain(0).at(0)), WEFT_ERROR_OK); }};
  machine().script_next = 0;
  run_firmware();
  assert_int_equal(machine().registers[WEFT_REG_BOOT_ANSWER_NONCE], 0xbeef);
  assert_int_equal(machine().script_next, 2);
}

static void nothing_is_written_outside_of_what_the_page_names(void**) {
  boot();
  machine().writable = {{WEFT_ADDRESS_SPACE_HOST, kPage + offsetof(weft_parameter_page, answer_version), 24},
                        {WEFT_ADDRESS_SPACE_HOST, kLog, WEFT_LIMIT_LOG_ENTRIES * sizeof(weft_log_record)},
                        {WEFT_ADDRESS_SPACE_HBM, 0, WEFT_MANAGER_HBM_RESERVED_BYTES}};
  run_firmware();
  assert_int_equal(machine().stray_writes, 0);
  assert_true(machine().dma_writes >= 4);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_good_page_leads_to_ready_with_its_nonce),
      cmocka_unit_test(every_stage_fails_with_its_name_and_stays_failed),
      cmocka_unit_test(an_abi_mismatch_names_both_versions_in_the_page),
      cmocka_unit_test(a_newer_minor_version_and_unknown_features_are_accepted),
      cmocka_unit_test(a_reset_boots_again_and_forgets_everything),
      cmocka_unit_test(nothing_is_written_outside_of_what_the_page_names),
  };
  return cmocka_run_group_tests_name("firmware/boot", tests, nullptr, nullptr);
}
