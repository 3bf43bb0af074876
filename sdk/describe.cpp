// SPDX-License-Identifier: Apache-2.0
// describe.cpp - slipway-describe: the last step of a plugin's build. Loads the author's own fresh library,
// asks it what it is, and writes that as plugin.json; refuses what no host would load, while its author is
// looking. A host never runs this: it reads plugin.json and the file, and trusts neither (core/plugin). One
// thread.
#include "elf_symbols.hpp"

#include <slipway/abi.h>
#include <slipway/codec.hpp>
#include <slipway/detail/host_link.hpp>
#include <slipway/messages/manifest.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace slipway;

// What a plugin of profile pure may need, without the version behind ".so"; and the sanitizers of a test
// build.
const std::set<std::string_view> kLibraries = {"libstdc++", "libgcc_s",        "libm",
                                               "libc",      "ld-linux-x86-64", "ld-linux-aarch64",
                                               "libasan",   "libubsan",        "libtsan"};

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

// Two spaces a level; lists of plain values stay on one line.
void append_pretty(std::string& out, const json::value& value, std::size_t depth) {
  const auto each = [&](const auto& items, char open, char close, const auto& append_item) {
    out += open;
    for (auto it = items.begin(); it != items.end(); ++it) {
      out.append(it == items.begin() ? "\n" : ",\n").append(2 * depth + 2, ' ');
      append_item(*it);
    }
    out.append("\n").append(2 * depth, ' ') += close;
  };
  const auto* object = value.if_object();
  const auto* array = value.if_array();
  if (object != nullptr && !object->empty()) {
    each(*object, '{', '}', [&](const json::key_value_pair& item) {
      out.append(json::serialize(json::value(item.key()))).append(": ");
      append_pretty(out, item.value(), depth + 1);
    });
  } else if (array != nullptr && !array->empty() && array->front().is_object()) {
    each(*array, '[', ']', [&](const json::value& item) { append_pretty(out, item, depth + 1); });
  } else {
    out += json::serialize(value);
  }
}

// The library as a file: what others see of it and what it needs.
Status check_file(const std::string& path) {
  SLIPWAY_TRY(const sdk::ElfSymbols elf, sdk::read_elf_symbols(path));
  std::vector<std::string> surplus = elf.exported;
  if (std::erase(surplus, SLIPWAY_ENTRY_SYMBOL) == 0)
    return fail(Code::invalid, "exports no {}: SLIPWAY_PLUGIN(Class, ...) is missing in its sources",
                SLIPWAY_ENTRY_SYMBOL);
  if (!surplus.empty()) {
    return fail(Code::invalid, "exports {} beside {}; build it with slipway_add_plugin(), which hides them",
                join(surplus), SLIPWAY_ENTRY_SYMBOL);
  }
  if (!elf.has_note)
    return fail(Code::invalid, "has no section {}, which SLIPWAY_PLUGIN makes; was it stripped?",
                SLIPWAY_NOTE_SECTION);
  return ok();
}

// Of a pure plugin: a library that it needs would not be there on the host, or be another one.
Status check_libraries(const std::string& path) {
  SLIPWAY_TRY(sdk::ElfSymbols elf, sdk::read_elf_symbols(path));
  std::erase_if(elf.needed, [](std::string_view name) {
    return kLibraries.count(name.substr(0, name.find(".so"))) != 0;
  });
  if (elf.needed.empty()) return ok();
  return fail(
      Code::invalid,
      "needs {}; a plugin of profile pure needs only libstdc++, libgcc_s, libm and libc: link it statically",
      join(elf.needed));
}

Result<Manifest> describe(const std::string& path) {
  void* const library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);  // for good
  if (library == nullptr) return fail(Code::invalid, "cannot be loaded: {}", dlerror());
  const auto entry = reinterpret_cast<slipway_entry_fn>(dlsym(library, SLIPWAY_ENTRY_SYMBOL));
  std::uint32_t want = 0;
  const slipway_plugin* const table = entry(SLIPWAY_ABI_MAJOR, SLIPWAY_ABI_MAJOR, &want);
  if (table == nullptr)
    return fail(Code::unsupported, "speaks ABI {}, this SDK {}; build it with one SDK throughout", want,
                SLIPWAY_ABI_MAJOR);
  std::optional<Result<Manifest>> manifest;
  table->describe(
      [](void* token, slipway_status status, slipway_bytes body) {
        auto& out = *static_cast<std::optional<Result<Manifest>>*>(token);
        const std::string_view text = detail::as_text(body);
        out.emplace(status == SLIPWAY_OK ? decode<Manifest>(text) : decode_error(status, text));
      },
      &manifest);
  if (!manifest) return fail(Code::internal, "describe did not answer before it returned");
  return *std::move(manifest);
}

// What info() must have said.
Status check_manifest(const Manifest& manifest, std::string_view file_name) {
  if (manifest.name + ".so" != file_name)
    return fail(Code::invalid, "info(): name: expected \"{}\", as the file is called, got \"{}\"",
                file_name.substr(0, file_name.rfind('.')), manifest.name);
  int dots = 0;
  for (const char c : manifest.version) dots += c == '.' ? 1 : 0;
  if (dots != 2 || manifest.version.find_first_not_of("0123456789.") != std::string::npos)
    return fail(Code::invalid, "info(): version: expected MAJOR.MINOR.PATCH, got \"{}\"", manifest.version);
  if (manifest.kinds.empty())
    return fail(Code::invalid, "info(): kinds: is empty; a provider says {{Kind::provider}}");
  if (manifest.licence.empty())
    return fail(Code::invalid, "info(): licence: is empty; expected an SPDX identifier, as \"Apache-2.0\"");
  if (manifest.summary.empty())
    return fail(Code::invalid, "info(): summary: is empty; expected a few words for `plugin list`");
  return ok();
}

Status write(const std::string& path, const std::string& text) {
  const std::string aside = path + ".new";
  std::ofstream file(aside, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::error_code ec;
  if (file) std::filesystem::rename(aside, path, ec);
  if (!file || ec) return fail(Code::unavailable, "{}: cannot be written", path);
  return ok();
}

Status run(const std::string& library, const std::string& output) {
  SLIPWAY_TRY(check_file(library));
  SLIPWAY_TRY(const Manifest manifest, describe(library));
  SLIPWAY_TRY(check_manifest(manifest, std::filesystem::path(library).filename().string()));
  if (manifest.profile == Profile::pure) SLIPWAY_TRY(check_libraries(library));
  std::string text;
  append_pretty(text, to_json(manifest), 0);
  return write(output, text + "\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: slipway-describe NAME.so plugin.json\n");
    return 2;
  }
  const std::string name = std::filesystem::path(argv[1]).filename();
  const Status status = run(argv[1], argv[2]);
  if (!status) {
    std::fprintf(stderr, "error: %s: %s\n", name.c_str(), status.error().message.c_str());
    return 1;
  }
  std::printf("%s: one exported symbol; plugin.json written from info() and schema()\n", name.c_str());
  return 0;
}
