// SPDX-License-Identifier: Apache-2.0
#include "provision/userdata.hpp"

#include "base/crash.hpp"
#include "base/crypto.hpp"
#include "base/text.hpp"
#include "model/validate.hpp"
#include "provision/cloud_config.hpp"

#include <slipway/base64.hpp>

#include <zlib.h>

#include <algorithm>
#include <array>

namespace slipway::provision {
namespace {

constexpr std::string_view kCloudConfig = "#cloud-config";

// "17,204".
std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, ",");
  return digits;
}

// Goes into a line of /etc/environment, whose readers know no escapes.
Status check_proxy(std::string_view field, std::string_view value) {
  const bool is_plain = text::is_plain(value) && value.find_first_of(" \"'\\$`#") == std::string_view::npos;
  if (is_plain) return ok();
  return fail(Code::invalid, "{}: expected no spaces, quotes, backslashes, $, ` or #, got \"{}\"", field,
              text::escaped(value));
}

// UTF-8 with ends of line and tabs only.
bool is_text(std::string_view text) {
  const auto lines = text::split(text, '\n');
  return std::all_of(lines.begin(), lines.end(), [](std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto parts = text::split(line, '\t');
    return std::all_of(parts.begin(), parts.end(), text::is_plain);
  });
}

Status check(const UserDataInput& input) {
  if (input.hostname.empty() || !text::is_plain(input.hostname))
    return fail(Code::invalid, "hostname: expected a name, got \"{}\"", text::escaped(input.hostname));
  if (!text::is_plain(input.nonce)) return fail(Code::invalid, "nonce: expected plain text");
  for (std::size_t i = 0; i < input.ssh_keys.size(); ++i)
    if (auto key = model::check_ssh_key(input.ssh_keys[i]); !key)
      return std::move(key).error().within(message("ssh_keys[{}]", i));
  SLIPWAY_TRY(check_proxy("http_proxy", input.http_proxy));
  SLIPWAY_TRY(check_proxy("https_proxy", input.https_proxy));
  SLIPWAY_TRY(check_proxy("no_proxy", input.no_proxy));
  SLIPWAY_TRY(check_proxy("apt_proxy", input.apt_proxy));
  if (input.user_part.size() > kMaxUserPart)
    return fail(Code::invalid, "user data: it is {} bytes, at most {} are read",
                grouped(input.user_part.size()), grouped(kMaxUserPart));
  if (!is_text(input.user_part))
    return fail(Code::invalid, "user data: expected text in UTF-8 without control characters");
  return ok();
}

Result<std::string> cloud_config_text(const Yaml& config) {
  SLIPWAY_TRY(const auto yaml, write_yaml(config));
  return std::string(kCloudConfig).append("\n").append(yaml);
}

struct Part {
  std::string_view type;
  std::string_view name;
  std::string_view body;
};

// RFC 2046 and 2045. Bodies are base64, in which no boundary can occur: it has hyphens.
std::string multipart(std::span<const Part> parts) {
  constexpr std::size_t kColumns = 76;
  Sha256 hash;
  for (const Part& part : parts) hash.update(part.body);
  const std::string boundary = "slipway-" + hex(hash.finish()).substr(0, 32);
  std::string out =
      message("Content-Type: multipart/mixed; boundary=\"{}\"\nMIME-Version: 1.0\n\n", boundary);
  for (const Part& part : parts) {
    out += message(
        "--{}\nContent-Type: {}; charset=\"utf-8\"\nMIME-Version: 1.0\nContent-Transfer-Encoding: base64\n"
        "Content-Disposition: attachment; filename=\"{}\"\n\n",
        boundary, part.type, part.name);
    const std::string encoded = base64(part.body);
    for (std::size_t at = 0; at < encoded.size(); at += kColumns)
      out.append(encoded, at, kColumns).append("\n");
  }
  return out + "--" + boundary + "--\n";
}

// deflateInit2's own header: no name and time 0, so the same text gives the same bytes.
std::string gzip(std::string_view text) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  SLIPWAY_ASSERT(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string in(text);  // zlib's input is not const
  std::string out(deflateBound(&stream, in.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  SLIPWAY_ASSERT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Result<std::string> within_limit(std::string text, const UserDataInput& input) {
  if (text.size() <= input.max_bytes) return text;
  std::string packed = input.accepts_gzip ? gzip(text) : std::string();
  if (input.accepts_gzip && packed.size() <= input.max_bytes) return packed;
  if (!input.accepts_gzip)
    return fail(Code::invalid, "user data is {} bytes, the provider takes {}", grouped(text.size()),
                grouped(input.max_bytes));
  return fail(Code::invalid, "user data is {} bytes ({} compressed), the provider takes {}",
              grouped(text.size()), grouped(packed.size()), grouped(input.max_bytes));
}

Result<std::string> with_user_part(const UserDataInput& input) {
  const Yaml own = own_cloud_config(input);
  const std::string_view part = input.user_part;
  const std::string_view first_line = text::trim(part.substr(0, part.find('\n')));
  if (text::trim(part).empty()) return cloud_config_text(own);
  if (first_line == kCloudConfig) {
    auto users = read_yaml(part);
    if (!users) return std::move(users).error().within("user data");
    auto merged = merge_cloud_config(own, *std::move(users));
    if (!merged) return std::move(merged).error().within("user data");
    return cloud_config_text(*merged);
  }
  if (part.starts_with("#!")) {
    SLIPWAY_TRY(const std::string config, cloud_config_text(own));
    const std::array parts{Part{"text/cloud-config", "slipway.yaml", config},
                           Part{"text/x-shellscript", "user.sh", part}};
    return multipart(parts);
  }
  if (first_line.starts_with("#include"))
    return fail(Code::invalid,
                "user data: #include is not taken, because nobody can check here what the address will give; "
                "put the text itself in");
  return fail(Code::invalid,
              "user data: expected the first line #cloud-config or a script's #!, got \"{}\"; parts that are "
              "MIME already are to be given as one of these",
              text::escaped(first_line.substr(0, 60)));
}

}  // namespace

Result<std::string> make_user_data(const UserDataInput& input) {
  SLIPWAY_TRY(check(input));
  SLIPWAY_TRY(auto text, with_user_part(input));
  return within_limit(std::move(text), input);
}

}  // namespace slipway::provision
