// SPDX-License-Identifier: Apache-2.0
// commands.cpp - the product's table: the global options, and the nouns of all files. Pure.
#include "cli/about.hpp"
#include "cli/plugin.hpp"

#include <iterator>

namespace slipway::cli {

std::vector<Option> global_options() {
  return {
      {.name = "environment",
       .letter = 'e',
       .takes = Takes::text,
       .value_name = "NAME",
       .variable = "SLIPWAY_ENVIRONMENT",
       .help = "work in this environment"},
      {.name = "output",
       .letter = 'o',
       .takes = Takes::text,
       .value_name = "FORMAT",
       .choices = {"table", "wide", "json", "jsonl"},
       .fallback = "table",
       .help = "how to print"},
      {.name = "columns",
       .takes = Takes::text,
       .value_name = "KEYS",
       .help = "of a list only these columns, in this order: id,name"},
      {.name = "no-header", .help = "no titles above a table"},
      {.name = "quiet", .letter = 'q', .help = "of a list only the ids, a line each"},
      {.name = "socket",
       .takes = Takes::text,
       .value_name = "PATH",
       .variable = "SLIPWAY_SOCKET",
       .help = "where the daemon listens"},
      {.name = "yes", .letter = 'y', .help = "answer every question with yes"},
      {.name = "no-color", .help = "no colours, as with the variable NO_COLOR"},
      {.name = "help", .letter = 'h', .help = "explain the noun or verb"},
      {.name = "version", .help = "print the version"},
  };
}

Commands slipway_commands() {
  Commands commands{global_options(), {}};
  for (auto nouns : {std::vector<Noun>{plugin_noun()}, about_nouns()}) {
    std::move(nouns.begin(), nouns.end(), std::back_inserter(commands.nouns));
  }
  add_noun_names(commands);
  return commands;
}

}  // namespace slipway::cli
