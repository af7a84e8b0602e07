/// A collective of packets alone: who sends what to whom is the model's (model/ici/collective.hpp), no program runs.
/// Programs with real data are compared with it. Beside it the closed form.
///
///   ici_collective all-gather|reduce-scatter|all-reduce [--slice NAME] [--bytes B] [--axis xyz] [--flows] [--json]
#include <fmt/core.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "model/ici/closed_forms.hpp"
#include "model/ici/collective.hpp"
#include "model/ici/flow_network.hpp"
#include "model/ici/slice.hpp"

using namespace weft::ici;

namespace {

/// 0: it did not end.
template <typename Net>
double run(Net& network, const CollectiveOptions& options) {
  Collective collective(network.topology(), options,
                        [&](const Message& message) { network.send(message, network.now()); });
  network.on_delivery([&](const Message& message, auto...) { collective.delivered(message); });
  collective.start();
  network.run_until(kNever);
  return collective.finished() ? microseconds(network.now()) : 0;
}

rusage usage() {
  rusage found{};
  getrusage(RUSAGE_SELF, &found);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A collective of packets alone, with framing."};
  std::string name = "v5e-16x16", axes = "xyz", kind = "all-reduce";
  uint64_t bytes = 1 << 20;
  bool flows = false, json = false;
  const std::map<std::string, CollectiveKind> kinds{{"all-gather", CollectiveKind::kAllGather},
                                                    {"reduce-scatter", CollectiveKind::kReduceScatter},
                                                    {"all-reduce", CollectiveKind::kAllReduce}};
  app.add_option("kind", kind)->check(CLI::IsMember(kinds))->capture_default_str();
  app.add_option("--slice", name)->capture_default_str();
  app.add_option("--bytes", bytes, "of the whole array")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--axis", axes, "x, y, z or several")->capture_default_str();
  app.add_flag("--flows", flows, "the flow model in place of packets");
  app.add_flag("--json", json);
  CLI11_PARSE(app, argc, argv);
  const auto parsed = parse_slice(name);
  if (const auto* error = std::get_if<std::string>(&parsed)) {
    fmt::print(stderr, "ici_collective: {}\n", *error);
    return 2;
  }
  const Slice& slice = std::get<Slice>(parsed);
  CollectiveOptions options{kinds.at(kind), bytes, 0};
  for (const char axis : axes) options.axes |= axis >= 'x' && axis <= 'z' ? 1u << (axis - 'x') : 0;
  const uint64_t rate = slice.generation->link_bytes_per_second;
  double us = 0;
  if (flows) {
    FlowNetwork network(slice.topology(), {.link_bytes_per_second = rate});
    us = run(network, options);
  } else {
    Network network(slice.topology(), {.link_bytes_per_second = rate});
    us = run(network, options);
  }
  const LinkRate link{static_cast<double>(rate)};
  const double exact = (options.kind == CollectiveKind::kAllReduce ? all_reduce_us : all_gather_us)(
      slice.topology(), bytes, options.axes, link);
  const auto used = usage();
  const double user_seconds =
      static_cast<double>(used.ru_utime.tv_sec) + 1e-6 * static_cast<double>(used.ru_utime.tv_usec);
  if (json)
    fmt::print("{}\n", nlohmann::ordered_json{{"collective", kind},
                                              {"slice", name},
                                              {"chips", slice.chips()},
                                              {"bytes", bytes},
                                              {"us", us},
                                              {"exact_us", exact},
                                              {"user_seconds", user_seconds},
                                              {"peak_bytes", used.ru_maxrss * 1024}}
                           .dump(2));
  else
    fmt::print("{} of {} bytes on {}: {:.2f} us, without framing and waits {:.2f}\n", kind, bytes, name, us, exact);
  return us == 0 ? 1 : 0;
}
