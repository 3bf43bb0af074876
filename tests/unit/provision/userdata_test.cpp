// SPDX-License-Identifier: Apache-2.0
// userdata_test - what cloud-init gets, read back by yaml-cpp itself; and what is refused.
#include "provision/userdata.hpp"

#include "base/random.hpp"
#include "provision/yaml_tree.hpp"

#include <slipway/base64.hpp>

#include <catch2/catch.hpp>
#include <yaml-cpp/yaml.h>
#include <zlib.h>

#include <string>
#include <vector>

namespace slipway::provision {
namespace {

std::string ssh_key(const std::string& type = "ssh-ed25519") {
  std::string blob(3, '\0');
  blob += static_cast<char>(type.size());
  return type + " " + base64(blob + type + "key material") + " me@example";
}

UserDataInput input(std::string user_part = "") {
  UserDataInput in;
  in.hostname = "web-1";
  in.ssh_keys = {ssh_key()};
  in.nonce = "abc";
  in.user_part = std::move(user_part);
  return in;
}

YAML::Node config(const UserDataInput& in) {
  const auto data = make_user_data(in);
  INFO((data ? std::string() : data.error().message));
  REQUIRE(data);
  REQUIRE_THAT(*data, Catch::StartsWith("#cloud-config\n"));
  return YAML::Load(*data);
}

std::string refusal(const UserDataInput& in) {
  const auto data = make_user_data(in);
  REQUIRE(!data);
  CHECK(data.error().code == Code::invalid);
  return data.error().message;
}

TEST_CASE("user data has the name, keys, proxies, updates and the nonce") {
  auto in = input();
  in.hostname = "no";
  in.http_proxy = "http://10.0.0.1:3128";
  in.no_proxy = "localhost,10.0.0.0/8";
  in.apt_proxy = "http://apt:3142";
  in.refresh_packages = true;
  const auto yaml = config(in);
  CHECK(yaml["hostname"].as<std::string>() == "no");
  CHECK(yaml["hostname"].Tag() == "!");  // quoted: no reader takes it for false
  CHECK(yaml["ssh_authorized_keys"][0].as<std::string>() == ssh_key());
  CHECK(yaml["package_update"].as<bool>());
  CHECK_FALSE(yaml["package_upgrade"].as<bool>());
  CHECK(yaml["apt"]["proxy"].as<std::string>() == "http://apt:3142");
  CHECK(yaml["write_files"][0]["content"].as<std::string>() ==
        "http_proxy=http://10.0.0.1:3128\nno_proxy=localhost,10.0.0.0/8\n");
  CHECK(yaml["write_files"][1]["content"].as<std::string>() == "abc\n");
  CHECK(*make_user_data(in) == *make_user_data(in));
  in.http_proxy = "http://a\nLD_PRELOAD=x";
  CHECK_THAT(refusal(in), Catch::StartsWith("http_proxy: "));
}

TEST_CASE("the user's cloud-config is merged: lists joined, keys once, default user kept") {
  const auto yaml =
      config(input("#cloud-config\nruncmd: [[ls, -l], echo]\npackage_upgrade: true\nusers: [bob]\n"
                   "ssh_authorized_keys: ['" +
                   ssh_key() + "', '" + ssh_key("ssh-rsa") +
                   "']\n"
                   "apt: {conf: x}\nwrite_files: [{path: /a, permissions: 0644}]\ntimezone:\n"));
  CHECK(yaml["runcmd"][0][1].as<std::string>() == "-l");
  CHECK(yaml["package_upgrade"].as<bool>());
  CHECK(yaml["users"][0].as<std::string>() == "default");
  CHECK(yaml["users"][1].as<std::string>() == "bob");
  CHECK(yaml["ssh_authorized_keys"].size() == 2);
  CHECK(yaml["write_files"][0]["permissions"].Tag() == "?");  // plain stays plain
  CHECK(yaml["write_files"][1]["path"].as<std::string>() == "/var/lib/slipway/nonce");
  CHECK(yaml["timezone"].IsNull());
  CHECK(config(input("#cloud-config\n"))["hostname"].as<std::string>() == "web-1");
}

TEST_CASE("keys that would cut the machine off are refused by name and with the reason") {
  for (const char* key :
       {"hostname", "ssh_deletekeys", "power_state", "network", "cloud_init_modules", "user"}) {
    const std::string text = refusal(input(std::string("#cloud-config\n") + key + ": x\n"));
    CHECK_THAT(text, Catch::StartsWith(std::string("user data: ") + key + " is not taken: "));
  }
  CHECK_THAT(refusal(input("#cloud-config\nruncmds: []\n")), Catch::Contains("did you mean \"runcmd\""));
  for (const char* path : {"/var/lib/slipway/nonce", "//var/lib/../lib/slipway/x", "/var/lib/slipway"}) {
    const std::string part = std::string("#cloud-config\nwrite_files: [{path: ") + path + "}]\n";
    CHECK_THAT(refusal(input(part)), Catch::Contains("is kept for Slipway's agent"));
  }
}

TEST_CASE("bad and hostile YAML is refused with its line and column") {
  const std::string head = "#cloud-config\n";
  CHECK_THAT(refusal(input(head + "runcmd: [a\n")), Catch::Contains("line "));
  CHECK_THAT(refusal(input(head + "a: 1\na: 2\n")),
             Catch::Contains("line 3, column 1: the key a comes twice"));
  CHECK_THAT(refusal(input(head + "runcmd: &x [1]\n")), Catch::Contains("line 2, column 9: anchors"));
  CHECK_THAT(refusal(input(head + "runcmd: !!binary aGk=\n")), Catch::Contains("b64"));
  CHECK_THAT(refusal(input(head + "<<: {a: 1}\n")), Catch::Contains("merge keys"));
  CHECK_THAT(refusal(input(head + "a: 1\n---\nb: 1\n")), Catch::Contains("second document"));
  CHECK_THAT(refusal(input(head + "runcmd: " + std::string(100000, '[') + "\n")), Catch::Contains("line "));
  CHECK_THAT(refusal(input(head + "- a\n")), Catch::Contains("expected a map"));
  CHECK_THAT(refusal(input(head + "{[a]: b}\n")), Catch::Contains("a key must be a text"));
  CHECK_THAT(refusal(input(head + "a: \xff\n")), Catch::Contains("UTF-8"));
  CHECK_THAT(refusal(input(head + std::string("a: \0\n", 5))), Catch::Contains("UTF-8"));
  CHECK_THAT(refusal(input(head + "runcmd: [\"\\x7f\"]\n")), Catch::Contains("NUL or DEL"));
  CHECK_THAT(refusal(input("#include\nhttp://x\n")), Catch::Contains("#include is not taken"));
  CHECK_THAT(refusal(input("MIME-Version: 1.0\n")), Catch::Contains("MIME"));
  CHECK_THAT(refusal(input(std::string(kMaxUserPart + 1, 'a'))), Catch::Contains("262,145"));
}

TEST_CASE("a script comes beside the cloud-config in MIME parts of at most 76 columns") {
  const std::string script = "#!/bin/sh\necho '--slipway'\n" + std::string(500, 'x') + "\n";
  const auto data = make_user_data(input(script));
  REQUIRE(data);
  CHECK(*data == *make_user_data(input(script)));
  const auto at = data->find("boundary=\"") + 10;
  const std::string boundary = data->substr(at, data->find('"', at) - at);
  std::vector<std::string> bodies;
  std::size_t start = data->find("--" + boundary + "\n");
  while (start != std::string::npos) {
    const std::size_t body = data->find("\n\n", start) + 2;
    start = data->find("--" + boundary, body);
    std::string encoded = data->substr(body, start - body);
    CHECK(encoded.find('\n') <= 76);
    std::erase(encoded, '\n');
    bodies.push_back(parse_base64(encoded).value());
    if (data->compare(start, boundary.size() + 4, "--" + boundary + "--") == 0) break;
  }
  REQUIRE(bodies.size() == 2);
  CHECK(bodies[0] == *make_user_data(input()));
  CHECK(bodies[1] == script);
}

TEST_CASE("too large names both sizes; where gzip is taken it is used, always the same") {
  auto in = input("#!/bin/sh\n" + std::string(13000, 'x'));
  CHECK_THAT(refusal(in), Catch::Matches("user data is 1[0-9],[0-9]{3} bytes, the provider takes 16,384"));
  const auto plain = [&] {
    auto big = in;
    big.max_bytes = 1 << 20;
    return *make_user_data(big);
  }();
  in.accepts_gzip = true;
  const auto data = make_user_data(in);
  REQUIRE(data);
  CHECK(data->substr(0, 8) == std::string("\x1f\x8b\x08\0\0\0\0\0", 8));  // time 0
  CHECK(*data == *make_user_data(in));
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  std::string packed = *data;
  std::string out(plain.size() + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  CHECK(out == plain);
  in.max_bytes = 100;
  CHECK_THAT(refusal(in), Catch::Contains("compressed), the provider takes 100"));
}

TEST_CASE("a key that is none is refused with its place, the operator's and the user's") {
  auto in = input();
  in.ssh_keys.push_back("command=\"x\" " + ssh_key());
  CHECK_THAT(refusal(in), Catch::StartsWith("ssh_keys[1]: "));
  in = input();
  in.user_part = "#cloud-config\nssh_authorized_keys: ['ssh-rsa AAAA']\n";
  CHECK_THAT(refusal(in), Catch::StartsWith("user data: ssh_authorized_keys[0]: "));
}

TEST_CASE("whatever a text is, YAML gives it back as that text") {
  const std::vector<std::string> pieces{"'",
                                        "\"",
                                        ": ",
                                        "\n",
                                        "- ",
                                        "yes",
                                        "null",
                                        "~",
                                        "0x1f",
                                        "1e3",
                                        " #",
                                        "é",
                                        "\xf0\x9f\x98\x80",
                                        "\xe2\x80\xa8",
                                        "\t",
                                        "\\",
                                        "%",
                                        "&a",
                                        "*a",
                                        "!t",
                                        " ",
                                        "{",
                                        "]",
                                        "|",
                                        ">",
                                        "---",
                                        "\r",
                                        "\x1b",
                                        "\xc2\x85",
                                        "@",
                                        "`",
                                        "<<",
                                        "2020-01-01"};
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    SeededRandom random(seed);
    const auto some_text = [&] {
      std::string text;
      for (auto count = random.below(6); count > 0; --count) text += pieces[random.below(pieces.size())];
      return text;
    };
    std::vector<Yaml> items;
    for (int i = 0; i < 4; ++i) items.push_back(Yaml::text(some_text()));
    const std::string key = "k" + some_text();
    const Yaml yaml = Yaml::object({{key, Yaml::list(items)}, {"last", Yaml::boolean(true)}});
    const auto text = write_yaml(yaml);
    REQUIRE(text);
    for (const char c : *text) CHECK(static_cast<unsigned char>(c) < 0x80);
    const auto node = YAML::Load(*text);
    REQUIRE(node[key].size() == items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      CHECK(node[key][i].as<std::string>() == items[i].scalar);
      CHECK(node[key][i].Tag() == "!");
    }
    const auto back = read_yaml(*text);
    REQUIRE(back);
    CHECK(*back == yaml);
  }
}

}  // namespace
}  // namespace slipway::provision
