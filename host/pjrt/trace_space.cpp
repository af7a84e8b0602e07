// XSpace: planes of lines of events. Names stand in tables of their plane, which events and facts refer to by number.
#include "host/pjrt/trace_space.hpp"

#include <map>

#include "host/pjrt/protobuf_writer.hpp"

namespace weft::pjrt {
namespace {

enum Space : uint64_t { kPlanes = 1 };
enum Plane : uint64_t { kPlaneId = 1, kPlaneName = 2, kPlaneLines = 3, kEventNames = 4, kFactNames = 5 };
enum Line : uint64_t { kLineId = 1, kLineName = 2, kLineBeginNs = 3, kLineEvents = 4 };
enum Event : uint64_t { kEventName = 1, kEventOffsetPs = 2, kEventDurationPs = 3, kEventFacts = 4 };
enum Fact : uint64_t { kFactName = 1, kFactDouble = 2, kFactUnsigned = 3, kFactText = 5 };
enum Entry : uint64_t { kEntryKey = 1, kEntryValue = 2 };
enum Name : uint64_t { kNameId = 1, kNameText = 2 };

/// Texts by number, from 1 on.
class Names {
 public:
  uint64_t number(const std::string& text) { return numbers_.emplace(text, numbers_.size() + 1).first->second; }
  void write(std::string& out, uint64_t field) const {
    for (const auto& [text, number] : numbers_) {
      std::string name, entry;
      put_field(name, kNameId, number);
      put_field(name, kNameText, std::string_view(text));
      put_field(entry, kEntryKey, number);
      put_field(entry, kEntryValue, std::string_view(name));
      put_field(out, field, std::string_view(entry));
    }
  }

 private:
  std::map<std::string, uint64_t> numbers_;
};

std::string fact_of(uint64_t name, const TraceSpan::Number& value) {
  std::string fact;
  put_field(fact, kFactName, name);
  if (const auto* number = std::get_if<uint64_t>(&value)) put_field(fact, kFactUnsigned, *number);
  if (const auto* number = std::get_if<double>(&value)) put_double(fact, kFactDouble, *number);
  if (const auto* text = std::get_if<std::string>(&value)) put_field(fact, kFactText, std::string_view(*text));
  return fact;
}

std::string plane_of(const TraceDevice& device, uint64_t id, uint64_t begin_ns) {
  std::string plane;
  Names events, facts;
  put_field(plane, kPlaneId, id);
  put_field(plane, kPlaneName, std::string_view(device.name));
  for (size_t i = 0; i < device.lines.size(); i++) {
    std::string line;
    put_field(line, kLineId, uint64_t{i + 1});
    put_field(line, kLineName, std::string_view(device.lines[i].name));
    put_field(line, kLineBeginNs, begin_ns);
    for (const TraceSpan& span : device.lines[i].spans) {
      std::string event;
      put_field(event, kEventName, events.number(span.name));
      put_field(event, kEventOffsetPs, span.begin_ps);
      put_field(event, kEventDurationPs, span.duration_ps);
      for (const auto& [name, value] : span.facts)
        put_field(event, kEventFacts, std::string_view(fact_of(facts.number(name), value)));
      put_field(line, kLineEvents, std::string_view(event));
    }
    put_field(plane, kPlaneLines, std::string_view(line));
  }
  events.write(plane, kEventNames);
  facts.write(plane, kFactNames);
  return plane;
}

}  // namespace

std::string space_of(const std::vector<TraceDevice>& devices, uint64_t begin_ns) {
  std::string space;
  for (size_t i = 0; i < devices.size(); i++)
    put_field(space, kPlanes, std::string_view(plane_of(devices[i], i + 1, begin_ns)));
  return space;
}

}  // namespace weft::pjrt
