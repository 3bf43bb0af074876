// SPDX-License-Identifier: Apache-2.0
// script.hpp - what a simulated cloud is and what goes wrong in it, as one JSON document that a test, an
// operator's setting or a harness writes. Everything has a default, so "{}" is a small healthy cloud. Times
// in milliseconds; `from_ms` and `until_ms` count from the moment the script came into force. Thread rule:
// values.
#pragma once

#include <slipway/messages.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::sim {

// What happens to a call instead of its plain course. "Lost" means that the connection ends without an
// answer, so that the caller cannot know.
enum class FaultAction {
  unknown,
  error,         // answered with `error`; nothing is done
  error_after,   // done, then answered with `error`: a 500 after the effect
  lose_request,  // lost before anything was done
  lose_reply,    // done, then lost
  late_accept,   // lost, and done only `delay_ms` after that
  slow,          // done at once, answered `delay_ms` later than usual
  throttle,      // answered 429 with `delay_ms` as Retry-After; nothing is done
  garbage,       // done, then answered with `text` instead of a reply
  duplicate,     // done twice, answered once: a gateway that re-sends
  fail_server,   // done; the server that was started goes to failed instead of running
  partial,       // a list lacks some items and says complete=false
  lies           // a list lacks some items and says nothing of it
};
BOOST_DESCRIBE_ENUM(FaultAction, unknown, error, error_after, lose_request, lose_reply, late_accept, slow,
                    throttle, garbage, duplicate, fail_server, partial, lies)

// Of a call the first fault that fits happens. Fitting calls are counted for each fault from 1 on.
struct Fault {
  FaultAction action = FaultAction::unknown;
  std::string method = "*";          // "instances.start/1"; a * stands for anything: "volumes.*", "*.list/1"
  std::string zone;                  // only calls that name this zone (starts, volumes); empty: all
  std::optional<std::uint32_t> nth;  // from this fitting call on
  std::optional<std::uint32_t> times;  // so many calls; absent: one with nth, all without
  double rate = 1;                     // with this probability, drawn from the cloud's seed
  std::int64_t from_ms = 0;            // only in this span of time
  std::int64_t until_ms = std::numeric_limits<std::int64_t>::max();
  std::int64_t delay_ms = 0;
  std::int64_t hang_ms = 0;    // how much later than usual a lost connection ends
  double share = 0.5;          // of the items, that a list lacks; at least one
  std::optional<Error> error;  // of error and error_after
  std::string text = "<html><body>bad gateway</body></html>";

  static constexpr std::array required{std::string_view("action")};
};
BOOST_DESCRIBE_STRUCT(Fault, (),
                      (action, method, zone, nth, times, rate, from_ms, until_ms, delay_ms, hang_ms, share,
                       error, text))

// No server starts in the zone meanwhile; those that are there stay.
struct Outage {
  std::int64_t from_ms = 0;
  std::int64_t until_ms = std::numeric_limits<std::int64_t>::max();
};
BOOST_DESCRIBE_STRUCT(Outage, (), (from_ms, until_ms))

struct ZoneSpec {
  std::string name;
  std::optional<std::uint32_t> capacity;  // servers at once; absent: no bound
  std::vector<Outage> outages;

  static constexpr std::array required{std::string_view("name")};
};
BOOST_DESCRIBE_STRUCT(ZoneSpec, (), (name, capacity, outages))

// A bucket of `burst` calls that fills by `per_s` a second; a call that finds it empty is answered 429.
struct RateLimit {
  double per_s = 20;
  double burst = 40;
};
BOOST_DESCRIBE_STRUCT(RateLimit, (), (per_s, burst))

std::vector<ZoneSpec> usual_zones();
std::vector<InstanceType> usual_types();
std::vector<Image> usual_images();
std::vector<Subnet> usual_subnets();

struct Script {
  std::string account = "simulated";
  std::string region = "sim-1";
  std::vector<ZoneSpec> zones = usual_zones();
  std::vector<InstanceType> types = usual_types();
  std::vector<Image> images = usual_images();
  std::vector<Subnet> subnets = usual_subnets();  // IPv4
  std::string public_cidr = "198.18.0.0/15";      // addresses that can be claimed
  // Of instances, cores, mem_mib, ports, addresses, firewall_groups, volumes, volume_mib; absent: no bound.
  std::map<std::string, std::uint64_t> quotas;
  std::int64_t boot_ms = 2'000;                       // building to running
  std::int64_t stop_ms = 500;                         // stopping to gone
  std::int64_t volume_ms = 0;                         // of a volume, building to running
  std::int64_t latency_ms = 0;                        // of a call
  std::map<std::string, std::int64_t> latency_of_ms;  // by method, instead of latency_ms
  std::int64_t latency_spread_ms = 0;                 // up to this much is added, drawn from the seed
  std::int64_t visibility_lag_ms = 0;                 // a new resource is absent from lists and get this long
  std::int64_t late_accept_ms = 500;                  // the most that a fault late_accept may delay
  bool start_is_idempotent = false;                   // a start with a known nonce answers the first server
  std::uint32_t max_page = 1'000;                     // items in a page at most, whatever is asked for
  std::uint64_t max_user_data_bytes = 16'384;
  std::uint64_t max_volume_mib = 16'777'216;
  std::optional<RateLimit> rate_limit;
  std::optional<std::vector<std::string>> groups;  // what account.probe says; absent: everything
  std::vector<Fault> faults;
};
BOOST_DESCRIBE_STRUCT(Script, (),
                      (account, region, zones, types, images, subnets, public_cidr, quotas, boot_ms, stop_ms,
                       volume_ms, latency_ms, latency_of_ms, latency_spread_ms, visibility_lag_ms,
                       late_accept_ms, start_is_idempotent, max_page, max_user_data_bytes, max_volume_mib,
                       rate_limit, groups, faults))

// invalid: not JSON, a member that does not exist, a value that makes no sense; names the place.
Result<Script> parse_script(std::string_view text);

// What parse_script holds a script against beyond its types.
Status check_script(const Script& script);

// Whether a fault's `method` means this method.
bool matches_method(std::string_view pattern, std::string_view method);

}  // namespace slipway::sim
