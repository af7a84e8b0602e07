/// --optical-us of the tools that run packets or flows on a slice's links.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <variant>

#include "model/ici/slice.hpp"

namespace weft::ici {

inline CLI::Option* add_optical_option(CLI::App& app, double& us) {
  return app.add_option(
      "--optical-us", us,
      "microseconds of a hop between cubes of 4x4x4 chips (v4, v5p), 1 to 1000; default: as other hops");
}

/// What `option` says of a slice. A message if the slice has no optical links, or not such ones.
inline std::variant<OpticalLinks, std::string> optical_links_of(const CLI::Option& option, double us,
                                                                const Slice& slice) {
  if (option.count() == 0) return OpticalLinks{};
  auto links = slice.optical_links(us);
  if (const auto* error = std::get_if<std::string>(&links)) return "--optical-us: " + *error;
  return links;
}

}  // namespace weft::ici
