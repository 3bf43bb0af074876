// SPDX-License-Identifier: Apache-2.0
#include "plugin/signature.hpp"

#include "base/text.hpp"
#include "plugin/manifest_rules.hpp"

#include <slipway/base64.hpp>

#include <algorithm>
#include <utility>

namespace slipway::plugin {
namespace {

constexpr std::string_view kFirstLine = "slipway-plugin-signature 1";
constexpr std::size_t kHashDigits = 64;

// Takes lines off a text, each with the word that it must begin with.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool next_is(std::string_view word) const {
    return rest_.starts_with(std::string(word) + " ");
  }

  // The line's text behind the word and one space.
  [[nodiscard]] Result<std::string_view> take(std::string_view word) {
    ++number_;
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos || !next_is(word)) {
      return fail(Code::invalid, "line {}: expected \"{} ...\" and an end of line", number_, word);
    }
    const std::string_view value = rest_.substr(word.size() + 1, end - word.size() - 1);
    rest_.remove_prefix(end + 1);
    return value;
  }

  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

bool is_hash(std::string_view text) {
  return text.size() == kHashDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Status take_files(Lines& lines, FileHashes& files) {
  while (lines.next_is("file")) {
    SLIPWAY_TRY(const std::string_view line, lines.take("file"));
    const std::string_view hash = line.substr(0, kHashDigits);
    if (!is_hash(hash) || line.substr(kHashDigits, 2) != "  ") {
      return fail(Code::invalid, "line {}: expected \"file SHA256  PATH\"", lines.number());
    }
    const std::string_view path = line.substr(kHashDigits + 2);
    SLIPWAY_TRY(const PackageFileKind kind, package_file_kind(path));
    if (kind == PackageFileKind::signature || (!files.empty() && path <= std::prev(files.end())->first)) {
      return fail(Code::invalid, "line {}: expected paths sorted, each once, without plugin.sig",
                  lines.number());
    }
    files.emplace(path, hash);
  }
  return ok();
}

}  // namespace

std::string PackageSignature::signed_text() const {
  std::string out = message("{}\nkey {}\nname {}\nversion {}\n", kFirstLine, key.text(), name, version);
  for (const auto& [path, hash] : files) out += message("file {}  {}\n", hash, path);
  return out;
}

std::string PackageSignature::text() const {
  return signed_text() + message("signature {}\n", base64(signature));
}

PackageSignature sign_package(const SigningKey& key, std::string name, std::string version,
                              FileHashes files) {
  files.erase("plugin.sig");
  PackageSignature out{key.public_key().id(), std::move(name), std::move(version), std::move(files), {}};
  out.signature = key.sign(out.signed_text());
  return out;
}

Result<PackageSignature> parse_signature(std::string_view text) {
  Lines lines(text);
  SLIPWAY_TRY(const std::string_view format, lines.take("slipway-plugin-signature"));
  if (format != "1")
    return fail(Code::unsupported, "line 1: expected \"{}\", got format {}", kFirstLine,
                text::escaped(format.substr(0, 16)));
  PackageSignature out;
  SLIPWAY_TRY(const std::string_view key, lines.take("key"));
  SLIPWAY_TRY(out.key, KeyId::parse(key));
  SLIPWAY_TRY(out.name, lines.take("name"));
  SLIPWAY_TRY(out.version, lines.take("version"));
  SLIPWAY_TRY(take_files(lines, out.files));
  SLIPWAY_TRY(const std::string_view signature, lines.take("signature"));
  SLIPWAY_TRY(out.signature, parse_base64(signature));
  // One text for one content: nothing is in the file that was not looked at.
  if (!lines.is_at_end() || out.text() != text) {
    return fail(Code::invalid, "it is not in the form that pack writes");
  }
  if (!is_plugin_name(out.name) || !text::is_plain(out.version)) {
    return fail(Code::invalid, "name or version is none of a plugin");
  }
  return out;
}

}  // namespace slipway::plugin
