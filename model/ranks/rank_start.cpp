// The program's build is known by the bytes of its file: ranks give each other values as they lie in memory.
#include "model/ranks/rank_start.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/crc32c.hpp"
#include "model/chip/rank_wire.hpp"

namespace weft::ranks {
namespace {

/// mpirun asks ranks to end when one has died, and kills them a second later.
constexpr std::chrono::milliseconds kPatience{300};

std::string own_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  constexpr size_t kPart = 1 << 20;
  std::vector<char> part(kPart);
  uint32_t crc = 0;
  uint64_t bytes = 0;
  while (file.read(part.data(), kPart) || file.gcount() > 0) {
    const auto got = static_cast<size_t>(file.gcount());
    crc = crc32c(part.data(), got, crc);
    bytes += got;
  }
  return fmt::format("{} bytes with CRC {:08x}", bytes, crc);
}

std::string own_host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "a machine without a name";
}

void put_text(chip::WireWriter& out, std::string_view text) {
  out.put_all(std::vector<char>(text.begin(), text.end()));
}
std::string get_text(chip::WireReader& in) {
  const auto text = in.get_all<char>();
  return {text.begin(), text.end()};
}

/// The first line that one has and the other has not there; "nothing" at its end.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  std::stringstream in_a(a), in_b(b);
  for (;;) {
    std::string line_a, line_b;
    const bool more_a = static_cast<bool>(std::getline(in_a, line_a)),
               more_b = static_cast<bool>(std::getline(in_b, line_b));
    if (more_a && more_b && line_a == line_b) continue;
    const auto said = [](bool more, const std::string& line) { return more ? line : std::string("nothing"); };
    return {said(more_a, line_a), said(more_b, line_b)};
  }
}

}  // namespace

std::string RankStart::where() const { return fmt::format("process {} on {}", process, host); }

RankStart rank_start(std::string options) {
  return {own_program(), std::move(options), own_host(), static_cast<uint32_t>(::getpid())};
}

bool is_gone(const RankStart& rank, const RankStart& own, std::chrono::steady_clock::duration waited) {
  if (rank.host != own.host || rank.process == 0) return waited >= kPatience;
  std::ifstream stat(fmt::format("/proc/{}/stat", rank.process));
  std::string text;
  if (!std::getline(stat, text)) return true;
  const size_t name_end = text.rfind(')');  // "4711 (name) S ...": Z, nobody has waited for it; X, it is dead
  return name_end == std::string::npos || name_end + 2 >= text.size() || text[name_end + 2] == 'Z' ||
         text[name_end + 2] == 'X';
}

std::vector<RankStart> tell_starts(chip::RankLink& link, const RankStart& own) {
  chip::RankLink::Bytes said;
  chip::WireWriter out(said);
  put_text(out, own.program);
  put_text(out, own.options);
  put_text(out, own.host);
  out.put(own.process);
  std::vector<chip::RankLink::Bytes> to(link.ranks(), said), from(link.ranks());
  to[link.rank()].clear();
  link.exchange(to, from);
  std::vector<RankStart> all(link.ranks());
  for (unsigned rank = 0; rank < link.ranks(); rank++) {
    if (rank == link.rank()) {
      all[rank] = own;
      continue;
    }
    chip::WireReader in(from[rank]);
    RankStart& start = all[rank];
    start.program = get_text(in);
    start.options = get_text(in);
    start.host = get_text(in);
    start.process = in.get<uint32_t>();
  }
  return all;
}

std::string find_difference(const std::vector<RankStart>& ranks) {
  for (size_t rank = 1; rank < ranks.size(); rank++) {
    const RankStart &first = ranks.front(), &other = ranks[rank];
    const std::string who = fmt::format("rank {} ({})", rank, other.where());
    if (other.program != first.program)
      return fmt::format("{} runs another build than rank 0 ({}): {}, and not {}", who, first.where(), other.program,
                         first.program);
    if (other.options == first.options) continue;
    const auto [has, wanted] = first_difference(other.options, first.options);
    return fmt::format("{} was started with other options than rank 0 ({}): {}, and not {}", who, first.where(), has,
                       wanted);
  }
  return {};
}

}  // namespace weft::ranks
