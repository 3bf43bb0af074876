// SPDX-License-Identifier: Apache-2.0
// nimbus_test.cpp - a whole provider (nimbus.cpp) as the shared object that an operator would install: called
// through the symbol it exports, against a scripted cloud; and the note in its file.
#include <slipway/messages.hpp>
#include <slipway/testing.hpp>
#include <slipway/version.hpp>

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace slipway;

slipway_entry_fn nimbus() {
  static const auto entry = [] {
    void* library = dlopen(SLIPWAY_NIMBUS, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) FAIL(dlerror());
    return reinterpret_cast<slipway_entry_fn>(dlsym(library, SLIPWAY_ENTRY_SYMBOL));
  }();
  REQUIRE(entry != nullptr);
  return entry;
}

const json::value kSettings = {{"region", "eu-1"}, {"token", "nimbus-token"}};

StartRequest start_request() {
  StartRequest request;
  request.nonce = "n1";
  request.name = "web-0";
  request.marker = {{"slipway-owner", "o"}};
  request.not_after_ns = 3'660'000'000'000;
  request.machine = "0";
  request.type = "s1";
  request.image = "img";
  request.zone = "eu-1a";
  request.user_data = {"#cloud-config"};
  return request;
}

template <class T>
T read_at(const std::string& file, std::size_t offset) {
  T out{};
  REQUIRE(offset + sizeof(T) <= file.size());
  std::memcpy(&out, file.data() + offset, sizeof(T));
  return out;
}

}  // namespace

TEST_CASE("a plugin carries its note in a section and in a segment of notes", "[sdk]") {
  std::ifstream in(SLIPWAY_NIMBUS, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  const auto section = [&](std::size_t i) {
    return read_at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const auto names = section(header.e_shstrndx);
  Elf64_Shdr note{};
  int found = 0;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i);
    if (std::string(&file[names.sh_offset + s.sh_name]) != SLIPWAY_NOTE_SECTION) continue;
    note = s;
    ++found;
  }
  REQUIRE(found == 1);
  CHECK(note.sh_type == SHT_NOTE);
  CHECK(note.sh_addralign == 4);
  CHECK(note.sh_flags == SHF_ALLOC);
  REQUIRE(note.sh_size == sizeof(slipway_note_record));
  const auto record = read_at<slipway_note_record>(file, note.sh_offset);
  CHECK(record.name_size == 8);
  CHECK(record.desc_size == sizeof(slipway_note));
  CHECK(record.type == SLIPWAY_NOTE_TYPE);
  CHECK(std::string(record.name) == SLIPWAY_NOTE_NAME);
  CHECK(record.desc.abi_major == SLIPWAY_ABI_MAJOR);
  CHECK(record.desc.abi_minor == SLIPWAY_ABI_MINOR);
  CHECK(record.desc.sdk_version == SLIPWAY_SDK_VERSION_NUMBER);
  bool is_in_segment = false;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
    is_in_segment = is_in_segment || (segment.p_type == PT_NOTE && segment.p_offset <= note.sh_offset &&
                                      note.sh_offset + note.sh_size <= segment.p_offset + segment.p_filesz);
  }
  CHECK(is_in_segment);
}

TEST_CASE("a provider describes itself", "[sdk]") {
  testing::FakeHost host;
  const auto manifest = testing::Plugin(host, kSettings, nimbus()).manifest();
  REQUIRE(manifest);
  CHECK(manifest->name == "nimbus");
  CHECK(manifest->kinds == std::vector<Kind>{Kind::provider});
  CHECK(manifest->methods ==
        std::vector<std::string>{"account.probe/1", "images.resolve/1", "instances.get/1", "instances.list/1",
                                 "instances.start/1", "instances.stop/1", "types.list/1", "zones.list/1"});
  CHECK(manifest->abi_major == SLIPWAY_ABI_MAJOR);
  CHECK(manifest->sdk == SLIPWAY_PROJECT_VERSION);
  REQUIRE(manifest->settings.size() == 3);
  CHECK(manifest->settings[0].default_value == json::value("https://api.nimbus.example/v2"));
  CHECK(testing::Plugin(host, {{"region", ""}}, nimbus()).error()->message ==
        "region: is required; token: is required (setting token, or NIMBUS_TOKEN)");
}

TEST_CASE("a provider starts a machine with one request that bears the nonce", "[sdk]") {
  testing::FakeHost host;
  host.expect("POST", "/servers")
      .header("Idempotency-Key", "n1")
      .bearer("nimbus-token")
      .once()
      .json_has("/labels/slipway-owner", "o")
      .json_has("/user_data", "I2Nsb3VkLWNvbmZpZw==")
      .reply(201, {{"id", "srv-1"}, {"status", "creating"}, {"public_ip", "192.0.2.1"}, {"new", "member"}});
  testing::Plugin plugin(host, kSettings, nimbus());
  const auto started = plugin.call(start_request());
  CHECK(host.problems() == "");
  REQUIRE(started);
  CHECK(started->instance.id == "srv-1");
  CHECK(started->instance.state == State::building);
  REQUIRE(started->instance.addresses.size() == 1);
  CHECK(started->instance.addresses[0].scope == AddressScope::public_);
  REQUIRE(host.requests().size() == 1);
  CHECK(host.requests()[0].not_after_ns == 3'660'000'000'000);

  host.advance(61s);
  const Error late = plugin.call(start_request()).error();
  CHECK(late.outcome == Outcome::rejected);
}

TEST_CASE("a provider's failures carry scope, quota and outcome", "[sdk]") {
  testing::FakeHost host;
  testing::Plugin plugin(host, kSettings, nimbus());
  host.expect("POST", "/servers")
      .reply(403, {{"code", "quota_exceeded"},
                   {"message", "no more"},
                   {"resource", "servers"},
                   {"limit", 2},
                   {"used", 2}});
  const Error quota = plugin.call(start_request()).error();
  CHECK(quota.code == Code::exhausted);
  CHECK(quota.scope == Scope::account);
  CHECK(quota.outcome == Outcome::rejected);
  CHECK(quota.quota == Quota{"servers", 2, 2});
  host.expect("POST", "/servers").status(503).retry_after(7s);
  const Error busy = plugin.call(start_request()).error();
  CHECK(busy.outcome == Outcome::rejected);
  CHECK(busy.retry_after_ms == 7000);
  host.expect("POST", "/servers").drop_after_request();
  CHECK(plugin.call(start_request()).error().outcome == Outcome::unknown);
  host.expect("POST", "/servers").reply_text(201, "<html>");
  CHECK(plugin.call(start_request()).error().outcome == Outcome::unknown);
  host.expect("POST", "/servers").delay(20s);
  const Error slow = plugin.call(start_request(), {.deadline = 5s}).error();
  CHECK(slow.code == Code::deadline);
  CHECK(slow.outcome == Outcome::unknown);
  CHECK(host.problems() == "");
}

TEST_CASE("a provider lists, gets and stops, each id with its own end", "[sdk]") {
  testing::FakeHost host;
  testing::Plugin plugin(host, kSettings, nimbus());
  host.expect("GET", "/servers?limit=500&label.slipway-owner=o")
      .reply(200, {{"servers", {{{"id", "a"}, {"status", "active"}}, {{"id", "b"}, {"status", "odd"}}}},
                   {"next", "b"}});
  ListRequest list;
  list.owner = {{"slipway-owner", "o"}};
  const auto page = plugin.call(list);
  REQUIRE(page);
  REQUIRE(page->items.size() == 2);
  CHECK(page->items[0].state == State::running);
  CHECK(page->items[1].state == State::unknown);
  CHECK(page->next_page == "b");

  host.expect("GET", "/servers/a").reply(200, {{"id", "a"}});
  host.expect("GET", "/servers/x%2Fy").status(404);
  const auto got = plugin.call(GetRequest{{"a", "x/y"}});
  REQUIRE(got);
  CHECK(got->results[0].item->id == "a");
  CHECK(got->results[1].error->code == Code::not_found);

  host.expect("DELETE", "/servers/a").status(204);
  host.expect("DELETE", "/servers/b").status(404);
  host.expect("DELETE", "/servers/c").cancel_call();
  StopRequest stop;
  stop.ids = {"a", "b", "c", "d"};
  const auto stopped = plugin.call(stop);
  REQUIRE(stopped);
  REQUIRE(stopped->results.size() == 4);
  CHECK_FALSE(stopped->results[1].error);
  CHECK(stopped->results[2].error->code == Code::cancelled);
  CHECK(stopped->results[3].error->message == "not begun: the call was cancelled");
  CHECK(host.problems() == "");
}
