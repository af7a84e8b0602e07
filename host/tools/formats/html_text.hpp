/// What the pages that tools write have in common.
#pragma once
#include <string>

namespace weft::tools {

/// Text in an element or in an attribute.
[[nodiscard]] inline std::string html_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= ' ')
      out += c;
  }
  return out;
}

/// Colours of light and dark, text and tables.
inline constexpr const char* kPageStyle = R"css(
:root{--ink:#1d2329;--soft:#5d6873;--line:#d9dfe4;--paper:#fff;--band:#f5f7f9;--chip:#5d6873}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#98a3ad;--line:#39424a;--paper:#14181c;--band:#1d2328;--chip:#98a3ad}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:72rem;margin:2rem auto;padding:0 1.5rem}
h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.1rem;margin:2rem 0 .6rem}.soft{color:var(--soft)}
table{border-collapse:collapse}th,td{text-align:right;padding:.2rem 1rem .2rem 0;border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums}th{color:var(--soft);font-size:.85rem}
)css";

}  // namespace weft::tools
