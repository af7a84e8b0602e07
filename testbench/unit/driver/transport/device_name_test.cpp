// Device names: what they mean, and what is said of wrong ones.
#include "driver/transport/device_name.hpp"

#include <catch2/catch.hpp>

using namespace weft::driver;
using Catch::Contains;

TEST_CASE("a simulator's name carries preset and options") {
  const auto name = parse_device_name(
      "sim:nano?core=rtl&array=structural&manager=rv32&wave=out/"
      "a.fst&wave-from=10&wave-to=20&trace=t.json&mismatch-report=m.txt&record=r.weftrec");
  REQUIRE(name.ok());
  CHECK(name.value().kind == DeviceKind::kSimulator);
  CHECK(name.value().target == "nano");
  CHECK(name.value().core == "rtl");
  CHECK(name.value().array == "structural");
  CHECK(name.value().manager == "rv32");
  CHECK(name.value().wave_file == "out/a.fst");
  CHECK(name.value().wave_from_cycle == "10");
  CHECK(name.value().wave_to_cycle == "20");
  CHECK(name.value().trace_file == "t.json");
  CHECK(name.value().mismatch_report_file == "m.txt");
  CHECK(name.value().record_file == "r.weftrec");
  CHECK(parse_device_name("sim:v5e-1mxu").value().core == "rtl");
}

TEST_CASE("the other kinds") {
  CHECK(parse_device_name("vfio-user:/run/weft?x").value().target == "/run/weft?x");
  CHECK(parse_device_name("pci:0000:00:05.0").value().kind == DeviceKind::kPci);
  CHECK(parse_device_name("pci:0000:00:05.0").value().target == "0000:00:05.0");
  CHECK(parse_device_name("mock").value().target == "nano");
  CHECK(parse_device_name("mock:small").value().target == "small");
}

TEST_CASE("a wrong name is refused with what is possible") {
  const auto [text, why] = GENERATE(
      table<std::string, std::string>({{"", "are possible"},
                                       {"usb:1", "are possible"},
                                       {"pci:", "pci:0000:00:05.0"},
                                       {"replay:a.weftrec", "weft replay a.weftrec"},
                                       {"sim", "no preset ''"},
                                       {"sim:", "nano"},
                                       {"sim:huge",
                                        "no preset 'huge': mini, nano-4mxu, nano-pe2, nano-pe3, nano-pe4, nano, small, "
                                        "v2, v3, v4, v5e-1mxu, v5e, v5p, v6e"},
                                       {"sim:nano?core=slow", "rtl, fast and lockstep"},
                                       {"sim:nano?core=", "no value"},
                                       {"sim:nano?array=round", "fast and structural"},
                                       {"sim:nano?manager=arm", "manager 'arm': native, rv32 and ibex are possible"},
                                       {"sim:nano?core=fast&array=structural", "the fast core has no array of RTL"},
                                       {"sim:nano?core", "no value"},
                                       {"sim:nano?speed=1", "option 'speed'"},
                                       {"sim:nano?wave-from=1", "need wave"},
                                       {"sim:nano?wave=f&wave-from=-1", "device cycle"},
                                       {"vfio-user:", "path"},
                                       {"mock?x=1", "are possible"},
                                       {"mock:nano?x=1", "no options"}}));
  CAPTURE(text);
  const auto name = parse_device_name(text);
  REQUIRE_FALSE(name.ok());
  CHECK(name.status().code() == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(name.status().message(), Contains(why));
}

TEST_CASE("the names of slices") {
  const auto name = parse_slice_name("sim:nano-2x4?core=rtl,fast");
  REQUIRE(name.ok());
  CHECK(name.value().slice);
  CHECK(name.value().target == "nano-2x4");
  CHECK(name.value().chips == 8);
  CHECK(name.value().core == "rtl,fast");
  CHECK(parse_slice_name("sim:v5e-4x4").value().core == "fast");
  CHECK(parse_slice_name("sim:v4-4x4x8?core=fast&optical-us=2.5").value().optical_us == "2.5");
  CHECK(parse_slice_name("sim:v5p-4x4x4_twisted").value().chips == 64);
  CHECK(parse_slice_name("vfio-user:/run/weft").value().target == "/run/weft");
}

TEST_CASE("a wrong name of a slice is refused with what is possible") {
  const auto [text, why] = GENERATE(table<std::string, std::string>(
      {{"", "are possible"},
       {"mock", "are possible"},
       {"vfio-user:", "directory"},
       {"sim:nano", "as in nano-2x2"},
       {"sim:-2x2", "as in"},
       {"sim:nano-2", "as in"},
       {"sim:nano-2x", "as in"},
       {"sim:nano-0x2", "as in"},
       {"sim:nano-2x2x2x2", "as in"},
       {"sim:nano-99999x2", "as in"},
       {"sim:nano-2x2_twistedly", "as in"},
       {"sim:nano-9999x9999x9999", "at most 65534"},
       {"sim:nano-2x2?core=slow", "rtl, fast and"},
       {"sim:nano-2x2?core=fast,", "rtl, fast and"},
       {"sim:nano-2x2?wave=f", "core, array, manager, trace, record and optical-us only"}}));
  CAPTURE(text);
  const auto name = parse_slice_name(text);
  REQUIRE_FALSE(name.ok());
  CHECK(name.status().code() == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(name.status().message(), Contains(why));
}

TEST_CASE("one device cannot be a slice, and the message says what opens it") {
  CHECK_THAT(parse_device_name("sim:nano-2x2").status().message(), Contains("weft_slice_open"));
}

namespace {

/// Sets a variable of the environment while it stands.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace

TEST_CASE("the environment overrides the manager of a chip's and of a slice's name") {
  const Variable manager("WEFT_MANAGER", "rv32"), core("WEFT_CORE", "rtl");
  auto chip = parse_device_name("sim:nano?core=fast&manager=native");
  REQUIRE((chip.ok() && apply_environment(chip.value()).ok()));
  CHECK((chip.value().manager == "rv32" && chip.value().core == "rtl"));
  auto slice = parse_slice_name("sim:nano-2x2?core=fast&manager=native");
  REQUIRE((slice.ok() && apply_environment(slice.value()).ok()));
  CHECK((slice.value().manager == "rv32" && slice.value().core == "fast"));
  auto attached = parse_device_name("vfio-user:/tmp/s.sock");
  REQUIRE((attached.ok() && apply_environment(attached.value()).ok()));
  CHECK(attached.value().manager.empty());
}

TEST_CASE("a manager in the environment that is none is refused with the variable's name") {
  const Variable manager("WEFT_MANAGER", "arm");
  for (auto name : {parse_device_name("sim:nano"), parse_slice_name("sim:nano-2x2")}) {
    REQUIRE(name.ok());
    const Status status = apply_environment(name.value());
    CHECK(status.code() == WEFT_ERROR_INVALID_ARGUMENT);
    CHECK(status.message() ==
          "environment variable WEFT_MANAGER=arm: manager 'arm': native, rv32 and ibex are possible");
  }
}
