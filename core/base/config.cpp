// SPDX-License-Identifier: Apache-2.0
#include "base/config.hpp"

#include "base/crash.hpp"
#include "base/fs.hpp"
#include "base/text.hpp"

#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

namespace slipway {
namespace {

constexpr std::string_view kVariablePrefix = "SLIPWAYD_";
constexpr std::size_t kMaxFileBytes = 1U << 20U;

// "log.max-size" -> "SLIPWAYD_LOG_MAX_SIZE"
std::string variable_of(std::string_view setting) {
  std::string name(kVariablePrefix);
  for (const char c : setting) {
    name += c == '.' || c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return name;
}

// The number of a value, in the unit of its bounds; an error says what form is expected.
Result<std::int64_t> parse_number(SettingType type, std::string_view text) {
  if (type == SettingType::duration) return text::parse_duration_ms(text);
  if (type == SettingType::size) {
    SLIPWAY_TRY(const std::uint64_t mib, text::parse_mib(text));
    if (mib <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return static_cast<std::int64_t>(mib);
    }
    return fail(Code::invalid, "expected a size that fits 63 bits of MiB, got \"{}\"", text);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return fail(Code::invalid, "expected a whole number, got \"{}\"", text);
}

std::string format_number(SettingType type, std::int64_t number) {
  if (type == SettingType::duration) return text::format_duration_ms(number);
  if (type == SettingType::size) return text::format_mib(static_cast<std::uint64_t>(number));
  return std::to_string(number);
}

Result<std::int64_t> parse_bounded(const Setting& setting, std::string_view text) {
  SLIPWAY_TRY(const std::int64_t number, parse_number(setting.type, text));
  if (number >= setting.min && number <= setting.max) return number;
  const std::string least = format_number(setting.type, setting.min);
  if (setting.max == std::numeric_limits<std::int64_t>::max()) {
    return fail(Code::invalid, "expected at least {}, got \"{}\"", least, text);
  }
  return fail(Code::invalid, "expected {} to {}, got \"{}\"", least, format_number(setting.type, setting.max),
              text);
}

Result<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  return fail(Code::invalid, "expected true or false, got \"{}\"", text);
}

Result<std::string> parse_choice(const Setting& setting, std::string_view text) {
  if (std::find(setting.choices.begin(), setting.choices.end(), text) != setting.choices.end()) {
    return std::string(text);
  }
  const std::vector<std::string> choices(setting.choices.begin(), setting.choices.end());
  return fail(Code::invalid, "expected one of {}, got \"{}\"{}", text::join(choices, ", "), text,
              text::did_you_mean(text, setting.choices));
}

std::vector<std::string> parse_list(std::string_view text) {
  std::vector<std::string> parts;
  for (const std::string_view part : text::split(text, ',')) {
    if (const std::string_view item = text::trim(part); !item.empty()) parts.emplace_back(item);
  }
  return parts;
}

struct Assignment {
  std::string name;
  std::string value;
  std::string source;
};

// The number of each line that Program_options takes for an assignment: it has something before '#' that is
// not "[section]" with a name. `is_whole` tells whether it has a '=' at all.
struct AssignmentLine {
  std::size_t number;
  bool is_whole;
};
std::vector<AssignmentLine> assignment_lines(std::string_view content) {
  std::vector<AssignmentLine> lines;
  std::size_t number = 0;
  for (const std::string_view line : text::split(content, '\n')) {
    ++number;
    const std::string_view rest = text::trim(line.substr(0, line.find('#')));
    const bool is_section = rest.size() > 2 && rest.starts_with('[') && rest.ends_with(']');
    if (!rest.empty() && !is_section) lines.push_back({number, rest.find('=') != std::string_view::npos});
  }
  return lines;
}

Result<std::vector<Assignment>> parse_file(const std::string& path) {
  namespace po = boost::program_options;
  SLIPWAY_TRY(const std::string content, fs::read_file(path, kMaxFileBytes));
  const std::vector<AssignmentLine> lines = assignment_lines(content);
  const auto source = [&](const AssignmentLine& line) { return message("{}:{}", path, line.number); };
  const auto broken =
      std::find_if(lines.begin(), lines.end(), [](const AssignmentLine& line) { return !line.is_whole; });
  if (broken != lines.end()) {
    return fail(Code::invalid, "{}: expected [section], name = value or a comment", source(*broken));
  }
  try {
    std::istringstream stream(content);
    const bool allow_unregistered = true;
    const auto parsed = po::parse_config_file(stream, po::options_description(), allow_unregistered);
    SLIPWAY_ASSERT(parsed.options.size() == lines.size());
    std::vector<Assignment> assignments;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const po::option& option = parsed.options[i];
      assignments.push_back(
          {option.string_key, option.value.empty() ? "" : option.value.front(), source(lines[i])});
    }
    return assignments;
  } catch (const po::error& error) {
    return fail(Code::invalid, "{}: {}", path, error.what());
  }
}

// conf.d/*.conf beside the file, by name.
Result<std::vector<std::string>> extra_files(const std::string& file) {
  namespace stdfs = std::filesystem;
  const stdfs::path directory = stdfs::path(file).parent_path() / "conf.d";
  std::vector<std::string> paths;
  std::error_code error;
  stdfs::directory_iterator entry(directory, error);
  for (; !error && entry != stdfs::directory_iterator(); entry.increment(error)) {
    const stdfs::path& path = entry->path();
    if (path.extension() == ".conf") paths.push_back(path.string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return fs::error_of(error.value(), "reading directory", directory.string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::vector<Assignment>> parse_files(const ConfigSources& sources) {
  std::vector<Assignment> all;
  if (sources.file.empty()) return all;
  SLIPWAY_TRY(std::vector<std::string> paths, extra_files(sources.file));
  paths.insert(paths.begin(), sources.file);
  for (const std::string& path : paths) {
    auto assignments = parse_file(path);
    const bool is_main = &path == &paths.front();
    if (!assignments && is_main && !sources.is_file_required && assignments.error().code == Code::not_found) {
      continue;
    }
    if (!assignments) return std::move(assignments).error();
    std::move(assignments->begin(), assignments->end(), std::back_inserter(all));
  }
  return all;
}

Result<std::vector<Assignment>> parse_flags(const std::vector<std::string>& flags) {
  std::vector<Assignment> all;
  for (const std::string_view flag : flags) {
    const std::size_t equals = flag.find('=');
    if (!flag.starts_with("--") || equals == std::string_view::npos) {
      return fail(Code::invalid, "flag {}: expected --section.name=value", flag);
    }
    all.push_back({std::string(flag.substr(2, equals - 2)), std::string(flag.substr(equals + 1)),
                   std::string(flag.substr(0, equals))});
  }
  return all;
}

}  // namespace

// Puts one source after the other over the defaults.
class Config::Loader {
 public:
  explicit Loader(const std::vector<Setting>& table) : table_(table) {
    for (const Setting& setting : table) {
      const std::size_t index = config_.values_.size();
      SLIPWAY_ASSERT_MSG(setting.name.find('.') != std::string_view::npos, std::string(setting.name));
      SLIPWAY_ASSERT_MSG(config_.index_of_.emplace(setting.name, index).second, std::string(setting.name));
      SLIPWAY_ASSERT_MSG(variables_.emplace(variable_of(setting.name), index).second,
                         std::string(setting.name));
      names_.push_back(setting.name);
      config_.values_.push_back({setting.type, {}, {std::string(setting.name), "", "", true, ""}});
      config_.values_.back().entry.help = setting.help;
      const Status is_good = set(index, {"", std::string(setting.fallback), "default"});
      SLIPWAY_ASSERT_MSG(is_good, is_good.error().message);
      config_.values_.back().entry.is_default = true;
    }
  }

  // Of one source: what it says about a list takes the place of what the sources below say.
  Status apply(const std::vector<Assignment>& assignments) {
    for (Value& value : config_.values_) {
      const auto sets_it = [&](const Assignment& a) { return a.name == value.entry.name; };
      if (value.type == SettingType::list && std::any_of(assignments.begin(), assignments.end(), sets_it)) {
        value.parsed = std::vector<std::string>();
      }
    }
    for (const Assignment& assignment : assignments) {
      const auto found = config_.index_of_.find(assignment.name);
      if (found == config_.index_of_.end()) {
        return fail(Code::invalid, "{}: unknown setting \"{}\"{}", assignment.source, assignment.name,
                    text::did_you_mean(assignment.name, names_));
      }
      SLIPWAY_TRY(set(found->second, assignment));
    }
    return ok();
  }

  Status apply_environment(const std::map<std::string, std::string>& environment) {
    std::vector<std::string_view> known;
    for (const auto& [variable, index] : variables_) known.push_back(variable);
    std::vector<Assignment> assignments;
    for (const auto& [variable, value] : environment) {
      if (!variable.starts_with(kVariablePrefix)) continue;
      if (const auto found = variables_.find(variable); found != variables_.end()) {
        assignments.push_back({config_.values_[found->second].entry.name, value, variable});
      } else {
        config_.warnings_.push_back(message("environment variable {} is no setting and was ignored{}",
                                            variable, text::did_you_mean(variable, known)));
      }
    }
    return apply(assignments);
  }

  Config finish() { return std::move(config_); }

 private:
  Status set(std::size_t index, const Assignment& assignment) {
    const Setting& setting = table_[index];
    Value& value = config_.values_[index];
    auto parsed = parse(setting, assignment.value, value.parsed);
    if (!parsed) {
      return std::move(parsed).error().within(message("{}: setting {}", assignment.source, setting.name));
    }
    value.parsed = *std::move(parsed);
    const auto* list = std::get_if<std::vector<std::string>>(&value.parsed);
    value.entry.value = list != nullptr ? text::join(*list, ",") : assignment.value;
    value.entry.source = assignment.source;
    value.entry.is_default = false;
    return ok();
  }

  static Result<Parsed> parse(const Setting& setting, const std::string& text, const Parsed& before) {
    if (!text::is_plain(text)) {
      return fail(Code::invalid, "expected UTF-8 without control characters, got \"{}\"",
                  text::escaped(text));
    }
    switch (setting.type) {
      case SettingType::text:
        return Parsed(text);
      case SettingType::integer:
      case SettingType::duration:
      case SettingType::size: {
        SLIPWAY_TRY(const std::int64_t number, parse_bounded(setting, text));
        return Parsed(number);
      }
      case SettingType::boolean: {
        SLIPWAY_TRY(const bool truth, parse_bool(text));
        return Parsed(truth);
      }
      case SettingType::choice: {
        SLIPWAY_TRY(std::string choice, parse_choice(setting, text));
        return Parsed(std::move(choice));
      }
      case SettingType::list:
        break;
    }
    std::vector<std::string> parts = parse_list(text);
    const auto* there = std::get_if<std::vector<std::string>>(&before);
    if (there != nullptr && !parts.empty()) parts.insert(parts.begin(), there->begin(), there->end());
    return Parsed(std::move(parts));
  }

  const std::vector<Setting>& table_;
  Config config_;
  std::vector<std::string_view> names_;
  std::map<std::string, std::size_t> variables_;
};

std::map<std::string, std::string> slipwayd_environment() {
  std::map<std::string, std::string> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !text.starts_with(kVariablePrefix)) continue;
    found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

Result<Config> Config::load(const std::vector<Setting>& table, const ConfigSources& sources) {
  Loader loader(table);
  SLIPWAY_TRY(const auto files, parse_files(sources));
  SLIPWAY_TRY(loader.apply(files));
  SLIPWAY_TRY(loader.apply_environment(sources.environment));
  SLIPWAY_TRY(const auto flags, parse_flags(sources.flags));
  SLIPWAY_TRY(loader.apply(flags));
  return loader.finish();
}

template <class T>
const T& Config::get(std::string_view name, SettingType type) const {
  const auto found = index_of_.find(name);
  SLIPWAY_ASSERT_MSG(found != index_of_.end(), std::string(name));
  const Value& value = values_[found->second];
  SLIPWAY_ASSERT_MSG(value.type == type, std::string(name));
  return std::get<T>(value.parsed);
}

const std::string& Config::get_string(std::string_view name) const {
  const auto found = index_of_.find(name);
  const bool is_choice = found != index_of_.end() && values_[found->second].type == SettingType::choice;
  return get<std::string>(name, is_choice ? SettingType::choice : SettingType::text);
}

std::int64_t Config::get_integer(std::string_view name) const {
  return get<std::int64_t>(name, SettingType::integer);
}

bool Config::get_bool(std::string_view name) const { return get<bool>(name, SettingType::boolean); }

std::int64_t Config::get_duration_ms(std::string_view name) const {
  return get<std::int64_t>(name, SettingType::duration);
}

std::int64_t Config::get_mib(std::string_view name) const {
  return get<std::int64_t>(name, SettingType::size);
}

const std::vector<std::string>& Config::get_list(std::string_view name) const {
  return get<std::vector<std::string>>(name, SettingType::list);
}

std::vector<Config::Entry> Config::entries() const {
  std::vector<Entry> all;
  for (const Value& value : values_) all.push_back(value.entry);
  return all;
}

}  // namespace slipway
