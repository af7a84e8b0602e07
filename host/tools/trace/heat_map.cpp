// The page's text, its style and what draws it.
#include "host/tools/trace/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/tools/formats/html_text.hpp"
#include "host/tools/formats/json_text.hpp"
#include "host/tools/trace/link_map.hpp"

namespace weft::tools {
namespace {

constexpr const char* kStyle = R"css(
.row{display:flex;gap:1rem;align-items:center;margin:1rem 0}.row input{flex:1}button{font:inherit;padding:.1rem .8rem}
canvas{display:block;max-width:100%}#when{font-variant-numeric:tabular-nums;min-width:16rem}
.scale{display:inline-block;width:160px;height:10px;vertical-align:middle;margin:0 .5rem}
)css";

// d is the data. A link is a bar at its chip, on the side of its port; one that closes a ring sticks out. Ports along z
// are squares at a chip's corners. Up and down of an axis are drawn beside each other.
constexpr const char* kScript = R"js(
const canvas=document.getElementById('map'),over=document.getElementById('over'),slider=document.getElementById('step');
const css=name=>getComputedStyle(document.documentElement).getPropertyValue(name);
const heat=u=>`hsl(${220-220*Math.min(1,u)} 85% ${u<=0?'88%':'48%'})`;
const [X,Y,Z]=d.size,cell=Math.max(26,Math.min(Z>1?60:110,Math.floor(1050/(X+1)))),chip=Math.round(.34*cell),bar=cell-chip,wide=Math.round(.36*chip),apart=Math.round(.54*chip);
const plane=X*cell+2*bar,columns=Math.min(Z,Math.max(1,Math.floor(1100/plane))),rows=Math.ceil(Z/columns),head=Z>1?20:0;
canvas.width=columns*plane;canvas.height=rows*(Y*cell+2*bar+head);over.width=1100;over.height=160;
function place(c){const z=c[2];return [bar+(z%columns)*plane+c[0]*cell,head+bar+Math.floor(z/columns)*(Y*cell+2*bar+head)+c[1]*cell]}
const ports={'+x':[chip,1,bar,wide],'-x':[-bar,1+apart,bar,wide],'+y':[1,chip,wide,bar],'-y':[1+apart,-bar,wide,bar],'+z':[chip+3,chip+3,.36*bar,.36*bar],'-z':[-.36*bar-3,-.36*bar-3,.36*bar,.36*bar]};
function draw(step){const g=canvas.getContext('2d');g.clearRect(0,0,canvas.width,canvas.height);g.font='12px system-ui';
 if(Z>1)for(let z=0;z<Z;z++){const [x,y]=place([0,0,z]);g.fillStyle=css('--soft');g.fillText('z = '+z,x,y-bar-4)}
 for(const link of d.links){const [x,y]=place(link.at),p=ports[link.port];g.fillStyle=heat((step<0?link.mean:link.use[step])/100);g.fillRect(x+p[0],y+p[1],p[2],p[3])}
 const seen=new Set();for(const link of d.links){const key=link.at.join();if(seen.has(key))continue;seen.add(key);const [x,y]=place(link.at);g.fillStyle=css('--chip');g.fillRect(x,y,chip,chip)}
 document.getElementById('when').textContent=step<0?'all of the time':`${(step*d.step_us).toFixed(2)} to ${((step+1)*d.step_us).toFixed(2)} us, mean use ${d.total[step].toFixed(1)} %`;
 const o=over.getContext('2d');o.clearRect(0,0,over.width,over.height);const w=over.width/d.total.length;
 d.total.forEach((t,i)=>{o.fillStyle=heat(t/100);o.fillRect(i*w,150-1.4*t,Math.max(1,w-.5),1.4*t)});
 o.fillStyle=css('--line');o.fillRect(0,150,over.width,1);if(step>=0){o.fillStyle=css('--ink');o.fillRect(step*w,0,1.5,155)}}
slider.max=d.total.length-1;slider.oninput=()=>draw(+slider.value);
over.onclick=e=>{slider.value=Math.floor(e.offsetX/over.clientWidth*d.total.length);draw(+slider.value)};
document.getElementById('mean').onclick=()=>draw(-1);
let timer=null;document.getElementById('play').onclick=()=>{if(timer){clearInterval(timer);timer=null;return}
 timer=setInterval(()=>{slider.value=(+slider.value+1)%d.total.length;draw(+slider.value)},80)};
const from=location.hash.match(/^#step=(\d+)$/);if(from)slider.value=from[1];draw(from?+from[1]:-1);
)js";

double percent(double share) { return std::round(1000 * share) / 10; }

/// What the page draws: shares in %.
nlohmann::ordered_json data_of(const LinkMap& map) {
  nlohmann::ordered_json total, links = nlohmann::ordered_json::array();
  for (const double share : map.total) total.push_back(percent(share));
  for (const MappedLink& link : map.links) {
    nlohmann::ordered_json use;
    for (const double share : link.use) use.push_back(static_cast<int>(std::lround(100 * share)));
    links.push_back(
        {{"at", link.at}, {"port", link.port}, {"use", use}, {"mean", percent(link.mean)}, {"packets", link.packets}});
  }
  return {{"size", map.size}, {"step_us", map.step_us}, {"total", total}, {"links", links}};
}

/// A row per port: how many links, and what they did.
std::string port_rows(const LinkMap& map) {
  std::string rows;
  for (const char* port : {"+x", "-x", "+y", "-y", "+z", "-z"}) {
    uint64_t links = 0, packets = 0;
    double sum = 0, least = 1, most = 0;
    for (const MappedLink& link : map.links) {
      if (link.port != port) continue;
      links++;
      packets += link.packets;
      sum += link.mean;
      least = std::min(least, link.mean);
      most = std::max(most, link.mean);
    }
    if (links != 0)
      rows +=
          fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.1f} %</td><td>{:.1f} %</td><td>{:.1f} %</td></tr>\n",
                      port, links, packets, 100 * sum / static_cast<double>(links), 100 * least, 100 * most);
  }
  return rows;
}

std::string page_of(const LinkMap& map, const std::string& title) {
  uint64_t packets = 0;
  for (const MappedLink& link : map.links) packets += link.packets;
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>{0}</title><style>{1}</style></head><body>\n<h1>{0}</"
      "h1>\n",
      html_escaped(title), std::string(kPageStyle) + kStyle);
  out += fmt::format(
      "<p class=\"soft\">{}x{}x{} chips, {} links one way each, {} packets, {:.2f} us from the first to the last</p>\n",
      map.size[0], map.size[1], map.size[2], map.links.size(), packets, map.end_us - map.begin_us);
  out +=
      R"html(<div class="row"><button id="play">play</button><button id="mean">mean</button><input id="step" type="range" min="0" value="0" aria-label="time"><span id="when" class="soft"></span></div>
<p class="soft">idle<span class="scale" style="background:linear-gradient(90deg,hsl(220 85% 48%),hsl(110 85% 48%),hsl(0 85% 48%))"></span>always busy. A grey square is a chip; a bar beside it a link that leaves it; a small square at its corner one along z.</p>
<canvas id="map" aria-label="use of each link"></canvas>
<h2>Use of all links over time</h2>
<canvas id="over" aria-label="mean use of all links over time"></canvas>
<h2>By port</h2>
<table><tr><th>port</th><th>links</th><th>packets</th><th>mean use</th><th>least</th><th>most</th></tr>
)html";
  out += port_rows(map) + "</table>\n";
  out += fmt::format("<script>const d={};\n{}</script>\n</body></html>\n", json_text(data_of(map), -1), kScript);
  return out;
}

}  // namespace

Result<std::string> heat_map_page(const std::string& trace_path, const HeatMapOptions& options) {
  const auto map = read_link_map(trace_path, options.steps);
  if (!map.ok()) return map.error();
  return page_of(map.value(), options.title);
}

}  // namespace weft::tools
