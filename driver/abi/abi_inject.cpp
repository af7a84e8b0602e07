// weft.h: fault injection.
#include <algorithm>
#include <iterator>

#include "driver/abi/abi.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

weft_status weft_fault_inject(weft_device* device, const weft_fault_injection* fault) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    const auto given = taken(fault, "fault");
    if (!given.ok()) return given.status();
    const weft_fault_injection& f = given.value();
    Device::Injection injection{number_of(f.kind), f.target, std::max(f.nth, 1u), std::max(f.count, 1u), {}};
    std::copy(std::begin(f.value), std::end(f.value), injection.value.begin());
    return device->device->inject(injection);
  });
}

weft_status weft_fault_disarm(weft_device* device) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    return device->device->disarm_faults();
  });
}

weft_status weft_fault_get_info(weft_device* device, weft_fault_injection_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    const auto counts = device->device->injected_faults();
    if (!counts.ok()) return counts.status();
    give(weft_fault_injection_info{sizeof *info, counts.value().armed, counts.value().acted}, info);
    return {};
  });
}
