// SPDX-License-Identifier: Apache-2.0
#include "plugin/endpoint.hpp"
#include "plugin/http_request.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace slipway::plugin {
namespace {

EndpointPolicy policy(const std::vector<EndpointSetting>& endpoints = {}, bool is_http_allowed = true,
                      const std::vector<std::string>& networks = {}) {
  auto made = EndpointPolicy::make(endpoints, is_http_allowed, networks);
  if (!made) FAIL(made.error().message);
  return *std::move(made);
}

Url url(std::string_view text) {
  auto parsed = parse_url("url", text);
  if (!parsed) FAIL(parsed.error().message);
  return *std::move(parsed);
}

IpAddress address(std::string_view text) {
  const auto parsed = IpAddress::parse(text);
  if (!parsed) FAIL(text);
  return *parsed;
}

TEST_CASE("every kind of address is told apart, whatever form it is written in") {
  const std::vector<std::pair<const char*, AddressKind>> table = {
      {"8.8.8.8", AddressKind::global},
      {"172.15.255.255", AddressKind::global},
      {"172.32.0.0", AddressKind::global},
      {"100.63.255.255", AddressKind::global},
      {"100.128.0.0", AddressKind::global},
      {"2606:4700::1111", AddressKind::global},
      {"64:ff9b::808:808", AddressKind::global},
      {"127.0.0.1", AddressKind::loopback},
      {"127.255.255.254", AddressKind::loopback},
      {"::1", AddressKind::loopback},
      {"::ffff:127.0.0.1", AddressKind::loopback},
      {"64:ff9b::7f00:1", AddressKind::loopback},
      {"2002:7f00:1::", AddressKind::loopback},
      {"::7f00:1", AddressKind::loopback},
      {"169.254.169.254", AddressKind::link_local},
      {"::ffff:169.254.169.254", AddressKind::link_local},
      {"fe80::1", AddressKind::link_local},
      {"febf::1", AddressKind::link_local},
      {"10.0.0.1", AddressKind::private_use},
      {"172.16.0.1", AddressKind::private_use},
      {"172.31.255.255", AddressKind::private_use},
      {"192.168.1.1", AddressKind::private_use},
      {"fd00::1", AddressKind::private_use},
      {"fec0::1", AddressKind::private_use},
      {"2002:a00:1::", AddressKind::private_use},
      {"100.64.0.1", AddressKind::other},
      {"192.0.0.8", AddressKind::other},
      {"198.18.0.1", AddressKind::other},
      {"203.0.113.7", AddressKind::other},
      {"240.0.0.1", AddressKind::other},
      {"2001::1", AddressKind::other},
      {"2001:db8::1", AddressKind::other},
      {"64:ff9b:1::1", AddressKind::other},
      {"100::1", AddressKind::other},
      {"0.0.0.0", AddressKind::never},
      {"0.1.2.3", AddressKind::never},
      {"::", AddressKind::never},
      {"224.0.0.1", AddressKind::never},
      {"ff02::1", AddressKind::never},
      {"255.255.255.255", AddressKind::never},
  };
  for (const auto& [text, kind] : table) {
    CAPTURE(text);
    CHECK(message("{}", kind_of(address(text))) == message("{}", kind));
  }
}

TEST_CASE("a network holds its addresses and no neighbour, and says what is wrong with one") {
  CHECK(Network::parse("10.0.0.0/8")->contains(address("10.255.0.1")));
  CHECK_FALSE(Network::parse("10.0.0.0/8")->contains(address("11.0.0.0")));
  CHECK(Network::parse("10.1.2.0/23")->contains(address("10.1.3.255")));
  CHECK_FALSE(Network::parse("10.1.2.0/23")->contains(address("10.1.4.0")));
  CHECK(Network::parse("127.0.0.0/8")->contains(address("::ffff:127.0.0.1")));
  CHECK(Network::parse("192.0.2.7")->contains(address("192.0.2.7")));
  CHECK_FALSE(Network::parse("192.0.2.7")->contains(address("192.0.2.6")));
  CHECK(Network::parse("fd00::/8")->contains(address("fdff::1")));
  CHECK_FALSE(Network::parse("0.0.0.0/0")->contains(address("fd00::1")));
  for (const char* bad : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.1/8",
                          "10/8", "fd00::/129", "localhost", "[::1]/128", "010.0.0.0/8"}) {
    CAPTURE(bad);
    const auto refused = Network::parse(bad);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::invalid);
  }
  CHECK(Network::parse("10.0.0.1/8").error().message.find("10.0.0.0 begins it") != std::string::npos);
}

TEST_CASE("a URL is read as libcurl reads it") {
  const Url plain = url("HTTPS://Api.Example.:443/a/../b//c?x=1");
  CHECK(plain.scheme == "https");
  CHECK(plain.host == "api.example");
  CHECK(plain.port == 443);
  CHECK(plain.path == "/b//c");
  CHECK(plain.has_query);
  CHECK(plain.shown().find("x=1") == std::string::npos);
  CHECK(url("http://[2001:DB8::1]:8080").host == "2001:db8::1");
  CHECK(url("http://h").path == "/");
  CHECK(url("http://h").port == 80);
  CHECK(url("https://h:444/").is_same_origin(url("https://H.:444/x")));
  CHECK_FALSE(url("https://h:444/").is_same_origin(url("https://h/")));
  CHECK_FALSE(url("http://h:443/").is_same_origin(url("https://h/")));
}

// Where no request may go under a policy that allows plain http and lists nothing: (URL, what the refusal
// names).
constexpr std::array kForbidden = std::to_array<std::pair<const char*, const char*>>({
    {"http://127.0.0.1/", "endpoint-networks"},
    {"http://127.1/", "endpoint-networks"},
    {"http://127.0.1/", "endpoint-networks"},
    {"http://2130706433/", "endpoint-networks"},
    {"http://0x7f000001/", "endpoint-networks"},
    {"http://0x7f.0.0.1/", "endpoint-networks"},
    {"http://0x7F.1/", "endpoint-networks"},
    {"http://017700000001/", "endpoint-networks"},
    {"http://0177.0.0.1/", "endpoint-networks"},
    {"http://127.0.0.1./", ""},
    {"http://[::1]/", "endpoint-networks"},
    {"http://[0:0:0:0:0:0:0:1]/", "endpoint-networks"},
    {"http://[::ffff:127.0.0.1]/", "endpoint-networks"},
    {"http://[::ffff:7f00:1]/", "endpoint-networks"},
    {"http://[::127.0.0.1]/", "endpoint-networks"},
    {"http://[64:ff9b::127.0.0.1]/", "endpoint-networks"},
    {"http://[2002:7f00:1::]/", "endpoint-networks"},
    {"http://[fe80::1%25eth0]/", "percent"},
    {"http://[fe80::1]/", "endpoint-networks"},
    {"http://[fd00::1]/", "endpoint-networks"},
    {"http://[fec0::1]/", "endpoint-networks"},
    {"http://[::]/", "no address of a server"},
    {"http://[ff02::1]/", "no address of a server"},
    {"http://0/", "no address of a server"},
    {"http://0.0.0.0/", "no address of a server"},
    {"http://255.255.255.255/", "no address of a server"},
    {"http://224.0.0.1/", "no address of a server"},
    {"http://169.254.169.254/latest/meta-data/", "endpoint-networks"},
    {"http://0xa9fea9fe/", "endpoint-networks"},
    {"http://[::ffff:169.254.169.254]/", "endpoint-networks"},
    {"http://10.0.0.1/", "endpoint-networks"},
    {"http://012.0.0.1/", "endpoint-networks"},
    {"http://172.16.0.1/", "endpoint-networks"},
    {"http://192.168.0.1:8080/", "endpoint-networks"},
    {"http://3232235521/", "endpoint-networks"},
    {"http://100.64.0.1/", "endpoint-networks"},
    {"http://198.18.0.1/", "endpoint-networks"},
    {"http://192.0.2.1/", "endpoint-networks"},
    {"http://240.0.0.1/", "endpoint-networks"},
    {"http://api.example@127.0.0.1/", "user"},
    {"http://127.0.0.1@api.example/", "user"},
    {"https://user:password@api.example/", "user"},
    {"http://api.example\\@127.0.0.1/", "backslash"},
    {"http://api.example#@127.0.0.1/", "fragment"},
    {"http://%31%32%37.0.0.1/", "percent"},
    {"http://loc%61lhost/", "percent"},
    {"http://127.0.0.1%00.api.example/", "percent"},
    {"http://\xEF\xBC\x91\x32\x37.0.0.1/", "ASCII"},
    {"http://127\xE3\x80\x82\x30.0.1/", "ASCII"},
    {"http://api.example:0/", "port"},
    {"http://api.example:65536/", ""},
    {"http://api.example:80:80/", ""},
    {"http://api.example:-1/", ""},
    {"http://api.example: 80/", "space"},
    {"http://api.example\r\nHost: x/", "control"},
    {"http://api.example/\tx", "control"},
    {"http:///127.0.0.1/", "host"},
    {"http://", "host"},
    {"http:127.0.0.1", "http://"},
    {"//127.0.0.1/", "http://"},
    {"127.0.0.1/", "http://"},
    {"file:///etc/passwd", ""},
    {"file://localhost/etc/passwd", "neither http nor https"},
    {"gopher://127.0.0.1:25/_x", "neither http nor https"},
    {"dict://127.0.0.1:11211/stat", "neither http nor https"},
    {"ftp://127.0.0.1/", "neither http nor https"},
    {"unix:///run/x.sock", ""},
    {"javascript://x", ""},
    {"ws://127.0.0.1/", ""},
    {"", "http://"},
    {"http://..../", ""},
    {"http://a..b/", "neither a name nor an address"},
    {"http://-/../\x7F", "control"},
    {"https://api.example/${secret:token}", "secrets do not go into URLs"},
});

class NoSecrets final : public SecretSource {
 public:
  Result<Secret> secret(std::string_view name) override {
    return fail(Code::not_found, "no secret {}", name);
  }
};

TEST_CASE("forbidden endpoints are refused before anything is sent, and the refusal says what to change") {
  NoSecrets secrets;
  HttpScopeSettings settings;
  settings.is_http_allowed = true;
  const auto scope = HttpScope::make(settings, secrets);
  REQUIRE(scope);
  STATIC_REQUIRE(kForbidden.size() >= 50);
  for (const auto& [text, words] : kForbidden) {
    CAPTURE(text);
    HttpCallRequest request;
    request.url = text;
    const auto refused = prepare(request, **scope);
    REQUIRE_FALSE(refused);
    CHECK((refused.error().code == Code::denied || refused.error().code == Code::invalid));
    CHECK(refused.error().outcome == Outcome::rejected);
    CHECK_THAT(refused.error().message, Catch::Contains(words));
  }
}

TEST_CASE("a policy lets global addresses through and others when they are listed") {
  const EndpointPolicy strict = policy();
  CHECK(strict.check_address(url("https://a.example/"), address("198.51.99.1")));
  CHECK_FALSE(strict.check_address(url("https://a.example/"), address("10.1.1.1")));
  CHECK_FALSE(strict.check_url(url("https://10.1.1.1/")));

  const EndpointPolicy open = policy({}, false, {"10.1.0.0/16", "127.0.0.0/8", "0.0.0.0/0", "::/0"});
  for (const char* text :
       {"10.1.1.1", "127.0.0.1", "169.254.169.254", "::1", "fd00::1", "64:ff9b::a01:101"}) {
    CAPTURE(text);
    CHECK(open.check_address(url("https://a.example/"), address(text)));
  }
  for (const char* text : {"0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1"}) {
    CAPTURE(text);
    CHECK_FALSE(open.check_address(url("https://a.example/"), address(text)));
  }
  const auto refused = open.check_url(url("http://a.example/"));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Catch::Contains("endpoint-http = allow"));
}

TEST_CASE("the private range in which an endpoint of the settings is found is allowed to its neighbours") {
  const Url auth = url("https://keystone.example:5000/v3");
  const Url nova = url("https://nova.example:8774/");
  const EndpointPolicy own = policy({{"auth_url", auth.text}}, false);
  CHECK_FALSE(own.check_address(nova, address("10.2.0.1")));
  CHECK(own.check_address(auth, address("10.1.0.1")));
  CHECK(own.check_address(nova, address("10.2.0.1")));
  CHECK_FALSE(own.check_address(nova, address("192.168.0.1")));
  CHECK_FALSE(own.check_address(nova, address("127.0.0.1")));
  // Never loopback and link-local, whoever names them.
  CHECK_FALSE(own.check_address(auth, address("127.0.0.1")));
  CHECK_FALSE(own.check_address(auth, address("169.254.169.254")));
  // Another port of the same host is another service.
  CHECK_FALSE(own.check_address(url("https://keystone.example:22/"), address("192.168.0.1")));

  const EndpointPolicy literal = policy({{"auth_url", "https://192.168.7.1/v3"}}, false);
  CHECK(literal.check_address(nova, address("192.168.0.1")));
  const auto loopback = EndpointPolicy::make({{"auth_url", "https://127.0.0.1/v3"}}, false, {});
  REQUIRE_FALSE(loopback);
  CHECK_THAT(loopback.error().message,
             Catch::StartsWith("auth_url: ") && Catch::Contains("endpoint-networks"));
  CHECK_THAT(EndpointPolicy::make({}, false, {"10.0.0.0/99"}).error().message,
             Catch::StartsWith("endpoint-networks: "));
  CHECK_THAT(EndpointPolicy::make({{"api", "https://a/?x"}}, false, {}).error().message,
             Catch::StartsWith("api: "));
}

TEST_CASE("secrets go to an endpoint's scheme, host and port, and below its path") {
  const EndpointPolicy own =
      policy({{"endpoint", "https://api.example/v2/"}, {"auth_url", "https://auth.example"}});
  for (const char* yes :
       {"https://api.example/v2", "https://api.example/v2/", "https://API.example.:443/v2/servers?x=1",
        "https://auth.example/", "https://auth.example/any", "https://api.example/v2/a%2Fb",
        "https://api.example/x/../v2/servers", "https://api.example/v2/a..b"}) {
    CAPTURE(yes);
    CHECK(own.may_bear_secrets(url(yes)));
  }
  for (const char* no :
       {"http://api.example/v2/servers", "https://api.example:444/v2/servers",
        "https://api.example/v20/servers", "https://api.example/", "https://api.example/V2/",
        "https://api.example.evil/v2/", "https://xapi.example/v2/", "https://api.example/v2/../x",
        "https://api.example/v2/%2e%2e/x", "https://api.example/v2/%2E./x", "https://api.example/v2/..%2fx",
        "https://api.example/v2/%252e%252e/x", "https://api.example/v2/..;a/x",
        "https://api.example/v2/x%5c..%5cy"}) {
    CAPTURE(no);
    CHECK_FALSE(own.may_bear_secrets(url(no)));
  }
  CHECK_FALSE(policy().may_bear_secrets(url("https://api.example/")));
  CHECK(own.shown_endpoints() == "endpoint=https://api.example/v2/, auth_url=https://auth.example/");
}

}  // namespace
}  // namespace slipway::plugin
