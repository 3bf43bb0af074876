// SPDX-License-Identifier: Apache-2.0
// completion.cpp - completion scripts for bash and zsh, from the table. Both walk over the words before the
// cursor with the same loop, which knows three things from the table: which words lead on to a verb, which
// options take the next word, and what may stand at a place. Pure.
#include "cli/help.hpp"
#include "cli/parse.hpp"

#include <functional>

namespace slipway::cli {
namespace {

struct Item {
  std::string word;
  std::string_view help;
};
using Items = std::vector<Item>;
// A list of words in the shell's own notation.
using Notation = std::function<std::string(const Items&)>;

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string bash_list(const Items& items) {
  std::string words;
  for (const Item& item : items) words += (words.empty() ? "" : " ") + item.word;
  return quoted(words);
}

std::string zsh_list(const Items& items) {
  std::string out = "(";
  for (const Item& item : items) {
    out += out.size() > 1 ? " " : "";
    out += quoted(item.word + (item.help.empty() ? "" : ":" + std::string(item.help)));
  }
  return out + ")";
}

Items items_of(const std::vector<std::string_view>& words) {
  Items items;
  for (const std::string_view word : words) items.push_back({std::string(word), ""});
  return items;
}

Items items_of(const std::vector<Option>& options) {
  Items items;
  for (const Option& option : options) {
    items.push_back({dashed(option), option.help});
    if (option.letter != 0) items.push_back({std::string{'-', option.letter}, option.help});
  }
  return items;
}

void for_each_verb(const Commands& commands,
                   const std::function<void(const std::string&, const Verb&)>& visit) {
  for (const Noun& noun : commands.nouns) {
    for (const Verb& verb : noun.verbs) {
      visit(std::string(noun.name) + (verb.name.empty() ? "" : " " + std::string(verb.name)), verb);
    }
  }
}

std::string branch(const std::string& pattern, const std::string& commands) {
  return "    " + pattern + ") " + commands + " ;;\n";
}

// The paths behind which a noun or a verb stands.
std::string inner_paths(const Commands& commands) {
  std::string out = "''";
  for (const Noun& noun : commands.nouns) {
    if (!noun.is_command()) out += "|" + quoted(noun.name);
  }
  return out;
}

// What may stand at "PATH COUNT": nouns, verbs, or an argument with choices.
std::string word_branches(const Commands& commands, const Notation& list) {
  Items nouns;
  for (const Noun& noun : commands.nouns) nouns.push_back({std::string(noun.name), noun.help});
  std::string out = branch("' 0'", "candidates=" + list(nouns));
  for (const Noun& noun : commands.nouns) {
    if (noun.is_command()) continue;
    Items verbs;
    for (const Verb& verb : noun.verbs) verbs.push_back({std::string(verb.name), verb.help});
    out += branch(quoted(std::string(noun.name) + " 0"), "candidates=" + list(verbs));
  }
  for_each_verb(commands, [&](const std::string& path, const Verb& verb) {
    for (std::size_t i = 0; i < verb.arguments.size(); ++i) {
      const Argument& argument = verb.arguments[i];
      if (argument.choices.empty()) continue;
      // Without quotes the star matches the place of every repetition.
      const std::string place =
          argument.repeatable ? quoted(path + " ") + "*" : quoted(path + " " + std::to_string(i));
      out += branch(place, "candidates=" + list(items_of(argument.choices)));
    }
  });
  return out;
}

std::string option_branches(const Commands& commands, const Notation& list) {
  std::string out;
  for_each_verb(commands, [&](const std::string& path, const Verb& verb) {
    if (verb.options.empty()) return;
    std::vector<Option> options = verb.options;
    options.insert(options.end(), commands.global.begin(), commands.global.end());
    out += branch(quoted(path), "candidates=" + list(items_of(options)));
  });
  return out + branch("*", "candidates=" + list(items_of(commands.global)));
}

// "PATH OPTION" as a pattern; a global option stands behind any path.
std::string option_pattern(const std::string& path, const Option& option) {
  const std::string prefix = path.empty() ? "*" + quoted(" ") : quoted(path + " ");
  std::string out = prefix + quoted(dashed(option));
  if (option.letter != 0) out += "|" + prefix + quoted(std::string{'-', option.letter});
  return out;
}

void for_each_option(const Commands& commands,
                     const std::function<void(const std::string&, const Option&)>& visit) {
  for (const Option& option : commands.global) visit("", option);
  for_each_verb(commands, [&](const std::string& path, const Verb& verb) {
    for (const Option& option : verb.options) visit(path, option);
  });
}

// Options whose value is the next word.
std::string taking_branches(const Commands& commands) {
  std::string out;
  for_each_option(commands, [&](const std::string& path, const Option& option) {
    if (option.takes != Takes::nothing && option.bare_value.empty()) {
      out += branch(option_pattern(path, option), "expects=$word");
    }
  });
  return out;
}

std::string value_branches(const Commands& commands, const Notation& list, const std::string& files) {
  std::string out;
  for_each_option(commands, [&](const std::string& path, const Option& option) {
    if (!option.choices.empty()) {
      out += branch(option_pattern(path, option), "candidates=" + list(items_of(option.choices)));
    } else if (option.value_name == "FILE" || option.value_name == "PATH") {
      out += branch(option_pattern(path, option), files);
    }
  });
  return out;
}

// The same in both shells. `word` is a word before the cursor.
std::string step(const Commands& commands) {
  return "    if [[ -n $expects ]]; then expects=; continue; fi\n"
         "    if [[ $ended != yes && $word == -- ]]; then ended=yes; continue; fi\n"
         "    if [[ $ended != yes && $word == -* ]]; then\n"
         "    case \"$place $word\" in\n" +
         taking_branches(commands) +
         "    esac\n"
         "    continue\n"
         "    fi\n"
         "    case $place in\n" +
         branch(inner_paths(commands), "place=\"${place:+$place }$word\"") +
         branch("*", "count=$((count + 1))") + "    esac\n";
}

// The same in both shells, but for lists and files. `current` is the part before the cursor.
std::string choice(const Commands& commands, const Notation& list, const std::string& files) {
  return "  if [[ -n $expects ]]; then\n"
         "    case \"$place $expects\" in\n" +
         value_branches(commands, list, files) +
         "    esac\n"
         "  elif [[ $ended != yes && $current == -* ]]; then\n"
         "    case $place in\n" +
         option_branches(commands, list) +
         "    esac\n"
         "  else\n"
         "    case \"$place $count\" in\n" +
         word_branches(commands, list) +
         "    esac\n"
         "  fi\n";
}

}  // namespace

std::string bash_completion(const Commands& commands) {
  // bash splits "--output=json" at "=" into three words.
  return "# bash completion for slipway; made by: slipway completion bash\n"
         "_slipway() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} word option= expects= place= ended= candidates= i "
         "count=0\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=${COMP_WORDS[i]}\n"
         "    if [[ $word == = && -n $option ]]; then expects=$option; option=; continue; fi\n"
         "    option=\n"
         "    if [[ $ended != yes && -z $expects && $word == --?* ]]; then option=$word; fi\n" +
         step(commands) +
         "  done\n"
         "  if [[ $current == = && -n $option ]]; then expects=$option; current=; fi\n" +
         choice(commands, bash_list, "mapfile -t COMPREPLY < <(compgen -f -- \"$current\")") +
         "  if [[ -n $candidates ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$candidates\" -- \"$current\")\n"
         "  fi\n"
         "}\n"
         "complete -F _slipway slipway\n";
}

std::string zsh_completion(const Commands& commands) {
  return "#compdef slipway\n"
         "# zsh completion for slipway; made by: slipway completion zsh\n"
         "_slipway() {\n"
         "  local current=${words[CURRENT]} word expects= place= ended= count=0 i\n"
         "  local -a candidates\n"
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    word=${words[i]}\n" +
         step(commands) +
         "  done\n"
         "  if [[ $ended != yes && -z $expects && $current == --*=* ]]; then\n"
         "    expects=${current%%=*}\n"
         "    compset -P '*='\n"
         "  fi\n" +
         choice(commands, zsh_list, "_files") +
         "  if ((${#candidates})); then _describe slipway candidates; fi\n"
         "}\n"
         "if [[ $funcstack[1] == _slipway ]]; then _slipway \"$@\"; else compdef _slipway slipway; fi\n";
}

}  // namespace slipway::cli
