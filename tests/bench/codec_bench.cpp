// SPDX-License-Identifier: Apache-2.0
// codec_bench.cpp - what a message costs: a start request of about 600 bytes through the codec, beside
// Boost.JSON's own conversions (the peer) and its bare parser or writer (the limit).
#include <slipway/codec.hpp>
#include <slipway/vocabulary.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace json = boost::json;

// As in the first messages, without what the peer cannot do: an absent optional, ids, bytes.
struct Volume {
  std::string tag;
  std::uint64_t size_mib = 0;
  std::map<std::string, std::string> attributes;
  bool read_only = false;
};
BOOST_DESCRIBE_STRUCT(Volume, (), (tag, size_mib, attributes, read_only))

struct Request {
  static constexpr std::array required{std::string_view("nonce"), std::string_view("name")};
  std::string machine;
  std::string nonce;
  std::string name;
  std::string image;
  std::optional<std::string> zone;
  slipway::Hardware hardware;
  std::vector<Volume> volumes;
  std::vector<std::string> subnets;
  std::map<std::string, std::string> marker;
  std::string user_data;
  std::int64_t not_after_ns = 0;
};
BOOST_DESCRIBE_STRUCT(Request, (),
                      (machine, nonce, name, image, zone, hardware, volumes, subnets, marker, user_data,
                       not_after_ns))

Request request() {
  Request r;
  r.machine = "prod:17";
  r.nonce = "0f6c1f4a9be24d2d8a1f6ce1";
  r.name = "web-17";
  r.image = "img-debian-12-20260101";
  r.zone = "eu-1a";
  r.hardware = {slipway::Arch::arm64, 4, 8192, 20480, 400};
  r.volumes = {{"data", 102400, {{"iops", "3000"}, {"type", "ssd"}}, false}, {"log", 10240, {}, false}};
  r.subnets = {"subnet-1", "subnet-2"};
  r.marker = {
      {"slipway-controller", "6b1c7f0e"}, {"slipway-environment", "prod"}, {"slipway-nonce", r.nonce}};
  r.user_data = "#cloud-config\npackages: [nginx]\n";
  r.not_after_ns = 1'700'000'000'000'000;
  return r;
}

// The document that all of them read and write; both conversions must agree on it.
const std::string& text() {
  static const std::string kText = [] {
    std::string out = slipway::encode(request());
    const bool agree =
        json::parse(out) == json::value_from(request()) &&
        json::value_from(*slipway::decode<Request>(out)) == json::value_from(request()) &&
        json::value_from(json::value_to<Request>(json::parse(out))) == json::value_from(request());
    return agree ? out : std::string();
  }();
  return kText;
}

bool is_fit(benchmark::State& state) {
  if (text().empty()) state.SkipWithError("the conversions do not agree about the document");
  return !text().empty();
}

void decode_slipway(benchmark::State& state) {
  if (!is_fit(state)) return;
  for (auto round : state) benchmark::DoNotOptimize(slipway::decode<Request>(text()));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text().size()));
}
void decode_boost_value_to(benchmark::State& state) {
  if (!is_fit(state)) return;
  for (auto round : state) benchmark::DoNotOptimize(json::value_to<Request>(json::parse(text())));
}
void decode_parse_only(benchmark::State& state) {
  if (!is_fit(state)) return;
  for (auto round : state) {
    unsigned char buffer[4096];
    json::monotonic_resource memory(buffer);
    benchmark::DoNotOptimize(json::parse(text(), &memory));
  }
}

void encode_slipway(benchmark::State& state) {
  if (!is_fit(state)) return;
  const Request r = request();
  for (auto round : state) benchmark::DoNotOptimize(slipway::encode(r));
}
void encode_boost_value_from(benchmark::State& state) {
  if (!is_fit(state)) return;
  const Request r = request();
  for (auto round : state) benchmark::DoNotOptimize(json::serialize(json::value_from(r)));
}
void encode_serialize_only(benchmark::State& state) {
  if (!is_fit(state)) return;
  const json::value value = json::value_from(request());
  for (auto round : state) benchmark::DoNotOptimize(json::serialize(value));
}

BENCHMARK(decode_slipway)->Name("decode 600 bytes/slipway");
BENCHMARK(decode_boost_value_to)->Name("decode 600 bytes/Boost.JSON value_to");
BENCHMARK(decode_parse_only)->Name("decode 600 bytes/limit: parse only");
BENCHMARK(encode_slipway)->Name("encode 600 bytes/slipway");
BENCHMARK(encode_boost_value_from)->Name("encode 600 bytes/Boost.JSON value_from");
BENCHMARK(encode_serialize_only)->Name("encode 600 bytes/limit: serialize only");

}  // namespace
