// SPDX-License-Identifier: Apache-2.0
// contract.cpp - slipway-contract: holds what is compiled against what is recorded in sdk/schema: the schema
// of every message, and the layout of abi.h. CI runs --check; scripts/contract --record runs --write. One
// thread.
#include "abi_layout.hpp"
#include "message_schemas.hpp"

#include <slipway/codec.hpp>
#include <slipway/schema.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace slipway;
namespace fs = std::filesystem;

constexpr std::string_view kLayoutFile = "abi.layout";

using Files = std::map<std::string, std::string>;  // name to text

Files compile_contract() {
  Files out;
  for (const auto& [name, schema] : sdk::message_schemas()) out[name] = schema_text(schema);
  out[std::string(kLayoutFile)] = sdk::abi_layout();
  return out;
}

Result<Files> read_contract(const fs::path& directory) {
  Files out;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(directory, ec)) {
    if (entry.path().extension() != ".json" && entry.path().filename() != kLayoutFile) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    out[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(in), {});
    if (!in) return fail(Code::unavailable, "{}: cannot be read", entry.path().string());
  }
  if (ec) return fail(Code::unavailable, "{}: {}", directory.string(), ec.message());
  return out;
}

std::vector<std::string> incompatibilities_of(const std::string& name, const std::string& recorded,
                                              const std::string& compiled) {
  if (name == kLayoutFile) return sdk::abi_incompatibilities(recorded, compiled);
  const auto before = decode<json::value>(recorded);
  const auto after = decode<json::value>(compiled);
  if (!before || !before->is_object()) return {"is no JSON object; restore it from the history"};
  return incompatibilities(before->get_object(), after->get_object());
}

// What became of the recorded contract.
struct Verdict {
  std::vector<std::string> broken;  // peers that exist cannot live with it
  std::vector<std::string> grown;   // files
};

Verdict judge(const Files& recorded, const Files& compiled) {
  Verdict out;
  for (const auto& [name, text] : recorded) {
    const auto now = compiled.find(name);
    if (now == compiled.end()) {
      out.broken.push_back(
          message("{}: the message is gone or renamed, and peers that exist still send it; keep it, and "
                  "put what is new beside it under the next revision",
                  name));
    } else if (now->second != text) {
      const auto problems = incompatibilities_of(name, text, now->second);
      for (const std::string& problem : problems) out.broken.push_back(message("{}: {}", name, problem));
      if (problems.empty()) out.grown.push_back(name);
    }
  }
  for (const auto& [name, text] : compiled)
    if (recorded.count(name) == 0) out.grown.push_back(name);
  return out;
}

Status write_contract(const fs::path& directory, const Files& recorded, const Files& compiled) {
  for (const auto& [name, text] : compiled) {
    const auto old = recorded.find(name);
    if (old != recorded.end() && old->second == text) continue;
    std::ofstream file(directory / name, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) return fail(Code::unavailable, "{}: cannot be written", (directory / name).string());
    std::printf("%s: recorded\n", name.c_str());
  }
  return ok();
}

// 0: as recorded, or now recorded; 1: not.
int run(std::string_view mode, const fs::path& directory) {
  const auto recorded = read_contract(directory);
  if (!recorded) {
    std::fprintf(stderr, "error: %s\n", recorded.error().message.c_str());
    return 1;
  }
  const Files compiled = compile_contract();
  const Verdict verdict = judge(*recorded, compiled);
  for (const std::string& problem : verdict.broken)
    std::fprintf(stderr, "incompatible: %s\n", problem.c_str());
  if (!verdict.broken.empty()) {
    std::fprintf(stderr, "%zu incompatible edits of the frozen contract\n", verdict.broken.size());
    return 1;
  }
  if (mode == "--write") {
    const Status written = write_contract(directory, *recorded, compiled);
    if (!written) std::fprintf(stderr, "error: %s\n", written.error().message.c_str());
    return written ? 0 : 1;
  }
  for (const std::string& name : verdict.grown)
    std::fprintf(stderr,
                 "%s: only grew, which is compatible, and is not recorded; run scripts/contract --record\n",
                 name.c_str());
  if (!verdict.grown.empty()) return 1;
  std::printf("%zu files of the contract are as recorded\n", compiled.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[1] : "";
  if (mode != "--check" && mode != "--write") {
    std::fprintf(stderr, "usage: slipway-contract --check|--write DIRECTORY\n");
    return 2;
  }
  return run(mode, argv[2]);
}
