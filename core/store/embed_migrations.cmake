# SPDX-License-Identifier: Apache-2.0
# Makes OUTPUT, a source file with the texts of FILES (migrations/NNNN_name.sql, in order), for migrate.hpp.
#   cmake -D OUTPUT=migrations.cpp -D "FILES=a.sql;b.sql" -P embed_migrations.cmake
set(entries "")
set(version 0)
foreach(file IN LISTS FILES)
  math(EXPR version "${version} + 1")
  get_filename_component(stem "${file}" NAME_WE)
  if(NOT stem MATCHES "^([0-9][0-9][0-9][0-9])_([a-z0-9_]+)$")
    message(FATAL_ERROR "${file}: expected a name as 0001_initial.sql")
  endif()
  set(number "${CMAKE_MATCH_1}")
  set(name "${CMAKE_MATCH_2}")
  string(REGEX REPLACE "^0+" "" number "${number}")
  if(NOT number EQUAL version)
    message(FATAL_ERROR "${file}: expected number ${version}: migrations have no gaps")
  endif()
  file(READ "${file}" text)
  string(APPEND entries "    Migration{${version}, \"${name}\", R\"sql(${text})sql\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by embed_migrations.cmake.
#include \"store/migrate.hpp\"

#include <array>

namespace slipway::store {
namespace {
constexpr std::array kMigrations{
${entries}};
}  // namespace

std::span<const Migration> migrations() { return kMigrations; }
}  // namespace slipway::store
")
