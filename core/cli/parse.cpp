// SPDX-License-Identifier: Apache-2.0
// parse.cpp - one walk over the words. Noun and verb are found on the way, because which options exist
// depends on them.
#include "cli/parse.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace slipway::cli {
namespace {

using Names = std::vector<std::string_view>;

[[noreturn]] void programmer_error(std::string_view what, std::string_view name) {
  std::fprintf(stderr, "slipway: programmer error: %.*s \"%.*s\" is not in the command table\n",
               static_cast<int>(what.size()), what.data(), static_cast<int>(name.size()), name.data());
  std::abort();
}

const Option* find(const std::vector<Option>& options, std::string_view name) {
  const auto found =
      std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
  return found == options.end() ? nullptr : &*found;
}

const Option* find(const std::vector<Option>& options, char letter) {
  const auto found =
      std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.letter == letter; });
  return found == options.end() ? nullptr : &*found;
}

// "a", "a or b", "a, b or c"
std::string any_of(const Names& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out;
}

Status check_choice(const std::string& what, const Names& choices, std::string_view value) {
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) return ok();
  const std::string suggestion = text::did_you_mean(value, choices);
  return fail(Code::invalid, "{}: expected {}, got \"{}\"{}", what, any_of(choices), value, suggestion);
}

std::optional<std::uint64_t> whole_number(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = error == std::errc() && end == digits.data() + digits.size();
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return is_whole && number <= kMax ? std::optional(number) : std::nullopt;
}

bool looks_like_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

}  // namespace

std::string dashed(const Option& option) { return "--" + std::string(option.name); }

const Option& Parsed::option(std::string_view name) const {
  const Option* found = find(commands_->global, name);
  if (found == nullptr && verb_ != nullptr) found = find(verb_->options, name);
  if (found == nullptr) programmer_error("option", name);
  return *found;
}

bool Parsed::has(std::string_view name) const { return options_.contains(option(name).name); }

std::string_view Parsed::value(std::string_view name) const {
  const Option& wanted = option(name);
  const auto given = options_.find(wanted.name);
  return given == options_.end() ? wanted.fallback : std::string_view(given->second.front());
}

std::uint64_t Parsed::number(std::string_view name) const {
  const auto number = whole_number(value(name));
  if (!number) programmer_error("a number for option", name);
  return *number;
}

std::span<const std::string> Parsed::values(std::string_view name) const {
  const auto given = options_.find(option(name).name);
  return given == options_.end() ? std::span<const std::string>() : given->second;
}

std::string_view Parsed::argument(std::string_view name) const {
  const auto all = arguments(name);
  return all.empty() ? std::string_view() : std::string_view(all.front());
}

std::span<const std::string> Parsed::arguments(std::string_view name) const {
  const auto& known = verb_->arguments;
  if (std::none_of(known.begin(), known.end(), [&](const Argument& a) { return a.name == name; })) {
    programmer_error("argument", name);
  }
  const auto given = arguments_.find(name);
  return given == arguments_.end() ? std::span<const std::string>() : given->second;
}

class Parser {
 public:
  Parser(const Commands& commands, std::span<const std::string> words, const Context& context)
      : words_(words), context_(context) {
    parsed_.commands_ = &commands;
  }

  Result<Parsed> run() {
    if (auto done = read(); !done) {
      Error error = std::move(done).error();
      error.details["see"] = command_path(parsed_.noun_, parsed_.verb_) + " --help";
      return error;
    }
    return std::move(parsed_);
  }

 private:
  Status read() {
    bool options_ended = false;
    while (at_ < words_.size()) {
      const std::string_view word = words_[at_++];
      if (options_ended || !looks_like_option(word)) {
        SLIPWAY_TRY(read_word(word));
      } else if (word == "--") {
        options_ended = true;
      } else if (word.starts_with("--")) {
        SLIPWAY_TRY(read_long(word.substr(2)));
      } else {
        SLIPWAY_TRY(read_letters(word.substr(1)));
      }
    }
    // A question for help or the version is answered whatever else is missing.
    if (parsed_.has("help") || parsed_.has("version")) return ok();
    SLIPWAY_TRY(check_complete());
    SLIPWAY_TRY(read_variables(parsed_.commands_->global));
    return read_variables(parsed_.verb_->options);
  }

  Status read_word(std::string_view word) {
    if (parsed_.noun_ == nullptr) return read_noun(word);
    if (parsed_.verb_ == nullptr) return read_verb(word);
    const auto& arguments = parsed_.verb_->arguments;
    if (next_argument_ == arguments.size()) {
      return fail(Code::invalid, "{}: unexpected argument \"{}\"", command_path(parsed_.noun_, parsed_.verb_),
                  word);
    }
    const Argument& argument = arguments[next_argument_];
    SLIPWAY_TRY(check_choice(std::string(argument.name), argument.choices, word));
    parsed_.arguments_[argument.name].emplace_back(word);
    if (!argument.repeatable) ++next_argument_;
    return ok();
  }

  Status read_noun(std::string_view word) {
    parsed_.noun_ = parsed_.commands_->find(word);
    if (parsed_.noun_ == nullptr) {
      Names names;
      for (const Noun& noun : parsed_.commands_->nouns) names.push_back(noun.name);
      return fail(Code::invalid, "unknown noun \"{}\"{}", word, text::did_you_mean(word, names));
    }
    if (parsed_.noun_->is_command()) parsed_.verb_ = &parsed_.noun_->verbs.front();
    return ok();
  }

  Status read_verb(std::string_view word) {
    parsed_.verb_ = cli::find(*parsed_.noun_, word);
    if (parsed_.verb_ != nullptr) return ok();
    const Names names = verbs();
    return fail(Code::invalid, "slipway {}: unknown verb \"{}\"{}", parsed_.noun_->name, word,
                text::did_you_mean(word, names));
  }

  Names verbs() const {
    Names names;
    for (const Verb& verb : parsed_.noun_->verbs) names.push_back(verb.name);
    return names;
  }

  template <class Name>
  const Option* known(Name name) const {
    const Option* option = find(parsed_.commands_->global, name);
    if (option == nullptr && parsed_.verb_ != nullptr) option = find(parsed_.verb_->options, name);
    return option;
  }

  // `text` is what follows the dashes: "group", "group=web".
  Status read_long(std::string_view text) {
    const auto equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const Option* option = known(name);
    if (option == nullptr) return unknown_option("--" + std::string(name), name);
    std::optional<std::string_view> attached;
    if (equals != std::string_view::npos) attached = text.substr(equals + 1);
    return read_value(*option, attached);
  }

  // "q", "qy", "n20": flags may be bundled; the rest behind a letter that takes a value is the value.
  Status read_letters(std::string_view letters) {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const Option* option = known(letters[i]);
      if (option == nullptr) {
        // An outside byte may begin a longer character, which is shown whole.
        const bool is_ascii = static_cast<unsigned char>(letters[i]) < 0x80;
        return unknown_option("-" + std::string(letters.substr(i, is_ascii ? 1 : std::string_view::npos)),
                              "");
      }
      if (option->takes == Takes::nothing) {
        SLIPWAY_TRY(read_value(*option, std::nullopt));
        continue;
      }
      const std::string_view rest = letters.substr(i + 1);
      return read_value(*option, rest.empty() ? std::nullopt : std::optional(rest));
    }
    return ok();
  }

  Failure unknown_option(std::string_view spelling, std::string_view name) const {
    if (parsed_.verb_ == nullptr && is_of_some_verb(name)) {
      return fail(Code::invalid, "option {} stands before noun and verb; only global options may", spelling);
    }
    Names names;
    for (const Option& option : parsed_.commands_->global) names.push_back(option.name);
    if (parsed_.verb_ != nullptr) {
      for (const Option& option : parsed_.verb_->options) names.push_back(option.name);
    }
    const auto near = name.empty() ? std::nullopt : text::closest(name, names);
    const std::string suggestion = near ? message(" (did you mean \"--{}\"?)", *near) : "";
    return fail(Code::invalid, "unknown option {}{}", spelling, suggestion);
  }

  bool is_of_some_verb(std::string_view name) const {
    for (const Noun& noun : parsed_.commands_->nouns) {
      for (const Verb& verb : noun.verbs) {
        if (find(verb.options, name) != nullptr) return true;
      }
    }
    return false;
  }

  Status read_value(const Option& option, std::optional<std::string_view> attached) {
    if (option.takes == Takes::nothing) {
      if (attached) {
        return fail(Code::invalid, "{}: takes no value, got \"{}\"", dashed(option), *attached);
      }
      parsed_.options_[option.name] = {""};
      return ok();
    }
    if (!attached && !option.bare_value.empty()) attached = option.bare_value;
    if (!attached) {
      if (at_ == words_.size())
        return fail(Code::invalid, "{}: needs a value ({})", dashed(option), option.value_name);
      if (looks_like_option(words_[at_])) {
        return fail(Code::invalid, "{}: needs a value ({}), got the option {}; if it is the value: {}={}",
                    dashed(option), option.value_name, words_[at_], dashed(option), words_[at_]);
      }
      attached = words_[at_++];
    }
    if (!option.repeatable && parsed_.options_.contains(option.name)) {
      return fail(Code::invalid, "{}: given twice", dashed(option));
    }
    return add_value(option, dashed(option), *attached);
  }

  Status add_value(const Option& option, const std::string& source, std::string_view value) {
    SLIPWAY_TRY(check_choice(source, option.choices, value));
    if (option.takes == Takes::number && !whole_number(value)) {
      return fail(Code::invalid, "{}: expected a whole number, got \"{}\"", source, value);
    }
    parsed_.options_[option.name].emplace_back(value);
    return ok();
  }

  Status check_complete() const {
    if (parsed_.noun_ == nullptr) return fail(Code::invalid, "a noun is missing");
    if (parsed_.verb_ == nullptr) {
      return fail(Code::invalid, "slipway {}: a verb is missing: {}", parsed_.noun_->name, any_of(verbs()));
    }
    for (const Argument& argument : parsed_.verb_->arguments) {
      if (argument.required && !parsed_.arguments_.contains(argument.name)) {
        return fail(Code::invalid, "{}: the argument {} is missing",
                    command_path(parsed_.noun_, parsed_.verb_), argument.name);
      }
    }
    return ok();
  }

  // A variable is read only where the line says nothing.
  Status read_variables(const std::vector<Option>& options) {
    for (const Option& option : options) {
      if (option.variable.empty() || parsed_.options_.contains(option.name)) continue;
      const std::string name(option.variable);
      if (const auto value = context_.value_of(name)) SLIPWAY_TRY(add_value(option, name, *value));
    }
    return ok();
  }

  std::span<const std::string> words_;
  const Context& context_;
  std::size_t at_ = 0;
  std::size_t next_argument_ = 0;
  Parsed parsed_;
};

Result<Parsed> parse(const Commands& commands, std::span<const std::string> words, const Context& context) {
  return Parser(commands, words, context).run();
}

}  // namespace slipway::cli
