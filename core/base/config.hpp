// SPDX-License-Identifier: Apache-2.0
// config.hpp - the configuration of a daemon (DESIGN 2): a table of settings with types, defaults and bounds,
// filled from files, the environment and flags. Each value remembers where it comes from, so that an operator
// never has to guess. Thread rule: a Config is immutable.
#pragma once

#include <slipway/result.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace slipway {

enum class SettingType {
  text,
  integer,
  boolean,   // true or false
  duration,  // "30s" (text::parse_duration_ms); bounds in milliseconds
  size,      // "8G" (text::parse_mib); bounds in MiB
  choice,    // one of `choices`
  list       // texts: separated by commas, a repeated key adds, an empty value drops what came before
};

// One line of the table. The texts are literals of the program.
struct Setting {
  std::string_view name;  // "section.kebab-name"
  SettingType type = SettingType::text;
  std::string_view fallback;  // the default, as it would be written
  std::string_view help;      // one line
  std::int64_t min = 0;       // of integer, duration and size
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string_view> choices = {};
};

// Where values come from; a later one beats an earlier one.
struct ConfigSources {
  // INI by Boost.Program_options: "[section]" and "kebab-name = value", or "section.kebab-name = value"; '#'
  // starts a comment anywhere. May be absent unless `is_file_required`. Then conf.d/*.conf beside it by name;
  // of several values of a setting the last counts. Empty: no files.
  std::string file;
  bool is_file_required = false;
  // SLIPWAYD_SECTION_KEBAB_NAME=value; what does not start with SLIPWAYD_ is ignored.
  std::map<std::string, std::string> environment;
  // "--section.kebab-name=value"
  std::vector<std::string> flags;
};

// Of this process, what starts with SLIPWAYD_. Call it before there are threads.
[[nodiscard]] std::map<std::string, std::string> slipwayd_environment();

class Config {
 public:
  struct Entry {
    std::string name;
    std::string value;  // as it was written; a list joined by commas
    std::string
        source;  // "default", "PATH:LINE", "SLIPWAYD_LOG_LEVEL", "--log.level"; of a list the last one
    bool is_default = true;
    std::string help;
  };

  // The error of a bad value names source, setting, what is expected and what came; the error of an unknown
  // setting in a file or flag has a suggestion. The table must be right: that is asserted.
  [[nodiscard]] static Result<Config> load(const std::vector<Setting>& table, const ConfigSources& sources);

  // The value. A name that is not in the table, or has another type there, is a programmer error.
  [[nodiscard]] const std::string& get_string(std::string_view name) const;  // text and choice
  [[nodiscard]] std::int64_t get_integer(std::string_view name) const;
  [[nodiscard]] bool get_bool(std::string_view name) const;
  [[nodiscard]] std::int64_t get_duration_ms(std::string_view name) const;
  [[nodiscard]] std::int64_t get_mib(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& get_list(std::string_view name) const;

  // All settings in the order of the table, for `slipway config show`.
  [[nodiscard]] std::vector<Entry> entries() const;
  // What is no error but worth a line in the log: variables SLIPWAYD_* that are no setting.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  using Parsed = std::variant<std::string, std::int64_t, bool, std::vector<std::string>>;
  struct Value {
    SettingType type = SettingType::text;
    Parsed parsed;
    Entry entry;
  };
  class Loader;

  Config() = default;
  template <class T>
  const T& get(std::string_view name, SettingType type) const;

  std::vector<Value> values_;  // in the order of the table
  std::map<std::string, std::size_t, std::less<>> index_of_;
  std::vector<std::string> warnings_;
};

}  // namespace slipway
