/// Random packets at saturation through the packet model of a slice's network: whether each arrives once and in order,
/// how fast the model is, how much memory it takes.
///
/// Every chip keeps so many packets on their way (--outstanding) to chips drawn at random, of random length, class and
/// order of the axes; one that arrives is followed by its source's next. The checksum covers every delivery and every
/// link's counters: it changes with any time or any order.
///
///   ici_traffic [--slice NAME] [--packets N] [--outstanding N] [--seed S] [--bit-error-rate R] [--json]
#include <fmt/core.h>
#include <malloc.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <unordered_map>
#include <vector>

#include "model/ici/network.hpp"
#include "model/ici/slice.hpp"

using namespace weft::ici;

namespace {

struct Options {
  std::string slice = "v4-4x4x4";
  uint64_t packets = 1'000'000;
  unsigned outstanding = 64;
  uint64_t seed = 1;
  double bit_error_rate = 0;
  bool json = false;
};

struct Result {
  uint64_t delivered = 0, lost = 0, doubled = 0, out_of_order = 0;
  uint64_t packet_hops = 0;
  double device_us = 0, user_seconds = 0;
  uint64_t idle_bytes_a_chip = 0;
  uint64_t checksum = 0;
};

double user_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

uint64_t allocated_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// What is sent, and in which order it comes. A message's tag is its number. Judged after the run, so that it costs the
/// run little.
class Traffic {
 public:
  Traffic(Network& network, const Options& options) : network_(network), options_(options), random_(options.seed) {
    orders_ = network.topology().size(2) > 1 ? kOrders : 2;
    sent_.reserve(options.packets);
    arrived_.reserve(options.packets);
    network.on_delivery([this](const Message& message, Delivery how, Femtoseconds at) {
      if (how == Delivery::kDone) arrived_.push_back(message.tag);
      mix(message.tag);
      mix(at);
      send(message.from);
    });
  }

  void start() {
    for (unsigned i = 0; i < options_.outstanding; i++)
      for (uint32_t chip = 0; chip < network_.topology().chips(); chip++) send(chip);
  }

  Result judge() {
    Result result;
    std::vector<uint8_t> times(sent_.size(), 0);
    std::unordered_map<uint64_t, uint64_t> last;  // tag of each flow
    for (const auto tag : arrived_) {
      result.doubled += times[tag]++ != 0;
      auto& before = last[sent_[tag]];
      result.out_of_order += tag < before;
      before = tag;
    }
    result.delivered = arrived_.size();
    result.lost = static_cast<uint64_t>(std::count(times.begin(), times.end(), 0));
    for (uint32_t chip = 0; chip < network_.topology().chips(); chip++)
      for (unsigned port = 0; port < kPorts; port++) {
        const auto& link = network_.link(chip, port);
        for (const uint64_t value : {link.packets, link.payload_bytes, link.wire_bytes, link.frame_errors, link.busy})
          mix(value);
      }
    result.checksum = checksum_;
    result.packet_hops = network_.packet_hops();
    result.device_us = microseconds(network_.now());
    return result;
  }

 private:
  void send(uint32_t from) {
    if (sent_.size() == options_.packets) return;
    const auto chips = network_.topology().chips();
    Message message;
    message.from = from;
    message.to = static_cast<uint32_t>(random_() % chips);
    message.bytes = random_() % (weft::spec::kIciPacketPayloadBytes + 1);
    message.traffic_class = static_cast<uint8_t>(random_() % kClasses);
    message.order = static_cast<uint8_t>(random_() % orders_);
    message.tag = sent_.size();
    sent_.push_back(((uint64_t{from} * chips + message.to) * kOrders + message.order) * kClasses +
                    message.traffic_class);
    network_.send(message, network_.now());
  }

  /// FNV-1a over 64-bit words (Fowler, Noll, Vo).
  void mix(uint64_t value) { checksum_ = (checksum_ ^ value) * 0x100000001b3ull; }

  Network& network_;
  const Options& options_;
  std::mt19937_64 random_;
  unsigned orders_;
  std::vector<uint64_t> sent_;     // flow of each tag: source, destination, order and class
  std::vector<uint64_t> arrived_;  // tags
  uint64_t checksum_ = 0xcbf29ce484222325ull;
};

Result run(const Slice& slice, const Options& options) {
  const auto before = allocated_bytes();
  Network network(slice.topology(), {.link_bytes_per_second = slice.generation->link_bytes_per_second,
                                     .bit_error_rate = options.bit_error_rate,
                                     .seed = options.seed});
  const auto idle = allocated_bytes() - before;
  Traffic traffic(network, options);
  const auto start = user_seconds();
  traffic.start();
  network.run_until(kNever);
  const auto seconds = user_seconds() - start;
  auto result = traffic.judge();
  result.user_seconds = seconds;
  result.idle_bytes_a_chip = idle / slice.chips();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Random packets at saturation through the packet model of a slice's network."};
  app.add_option("--slice", options.slice, "a slice by its name")->capture_default_str();
  app.add_option("--packets", options.packets, "in all")->capture_default_str()->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--outstanding", options.outstanding, "packets of each chip on their way")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_option("--seed", options.seed, "of the traffic and of the links")->capture_default_str();
  app.add_option("--bit-error-rate", options.bit_error_rate, "of every link")->check(CLI::Range(0.0, 1e-3));
  app.add_flag("--json", options.json, "print JSON");
  CLI11_PARSE(app, argc, argv);
  const auto slice = parse_slice(options.slice);
  if (const auto* rule = std::get_if<std::string>(&slice)) {
    fmt::print(stderr, "ici_traffic: {}\n", *rule);
    return 2;
  }
  const auto result = run(std::get<Slice>(slice), options);
  const double rate = static_cast<double>(result.packet_hops) / result.user_seconds;
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json({{"slice", options.slice},
                                               {"chips", std::get<Slice>(slice).chips()},
                                               {"seed", options.seed},
                                               {"packets", options.packets},
                                               {"delivered", result.delivered},
                                               {"lost", result.lost},
                                               {"doubled", result.doubled},
                                               {"out_of_order", result.out_of_order},
                                               {"packet_hops", result.packet_hops},
                                               {"device_us", result.device_us},
                                               {"user_seconds", result.user_seconds},
                                               {"packet_hops_per_second", rate},
                                               {"idle_bytes_a_chip", result.idle_bytes_a_chip},
                                               {"checksum", fmt::format("{:016x}", result.checksum)}})
                           .dump(2));
  else
    fmt::print(
        "{}: seed {}, {} packets, {} lost, {} doubled, {} out of order; {} packet-hops in {:.2f} s of user time, "
        "{:.2f} M/s; {} bytes an idle chip; {:.1f} us of device time; checksum {:016x}\n",
        options.slice, options.seed, options.packets, result.lost, result.doubled, result.out_of_order,
        result.packet_hops, result.user_seconds, rate / 1e6, result.idle_bytes_a_chip, result.device_us,
        result.checksum);
  return result.lost + result.doubled + result.out_of_order == 0 ? 0 : 1;
}
