# SPDX-License-Identifier: Apache-2.0
# SlipwayPlugin.cmake - slipway_add_plugin() and slipway_add_plugin_test(): everything that a plugin's build must get
# right, in one place. The same file serves the plugins of Slipway's own tree and those of find_package(Slipway).
# It needs the targets Slipway::sdk (the headers) and Slipway::describe (the tool that writes plugin.json).
#
# A project may set, before its first plugin:
#   SLIPWAY_PLUGIN_DIRECTORY   where each plugin gets a directory of its own; default: the current binary directory,
#                              without one
#   SLIPWAY_PLUGIN_LINK        targets that every plugin links, for flags

# Boost.JSON as one object, compiled once a project: a plugin brings it along and needs no libboost_json, so that it
# runs on a host with another version of Boost.
function(slipway_detail_json)
  if(NOT TARGET slipway_plugin_json)
    add_library(slipway_plugin_json OBJECT "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/boost_json.cpp")
    target_link_libraries(slipway_plugin_json PRIVATE Slipway::sdk)
    set_target_properties(slipway_plugin_json PROPERTIES
      POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
endfunction()

# LICENSE and README.md beside the plugin, as in its package: those of its folder, else of its project.
function(slipway_detail_papers directory)
  foreach(paper LICENSE README.md)
    foreach(from "${CMAKE_CURRENT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}")
      if(EXISTS "${from}/${paper}")
        configure_file("${from}/${paper}" "${directory}/${paper}" COPYONLY)
        break()
      endif()
    endforeach()
  endforeach()
endfunction()

# slipway_add_plugin(NAME SOURCES file… [LINK target…] [HELPERS file or target…] [VERSION x.y.z])
#
# Builds NAME.so, and plugin.json, LICENSE, README.md and helpers/ beside it. The module exports the entry symbol and
# nothing else, and needs no library but those of the compiler. NAME_VERSION ("0.1.0", in capitals) is defined for the
# sources: VERSION, or the project's. Targets: NAME, and NAME_objects, to which LINK is applied and which tests share.
function(slipway_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION" "SOURCES;LINK;HELPERS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "slipway_add_plugin(${name}): expected SOURCES file…, and no argument that is not known; "
                        "got \"${ARGN}\"")
  endif()
  if(NOT name MATCHES "^[a-z][a-z0-9-]*$")
    message(FATAL_ERROR "slipway_add_plugin(${name}): a plugin's name is [a-z][a-z0-9-]*, as in its info()")
  endif()
  if(NOT arg_VERSION)
    set(arg_VERSION "${PROJECT_VERSION}")
  endif()
  if(NOT arg_VERSION MATCHES "^[0-9]+\\.[0-9]+\\.[0-9]+$")
    message(FATAL_ERROR "slipway_add_plugin(${name}): expected a version x.y.z, got \"${arg_VERSION}\"; say VERSION, "
                        "or give it to project()")
  endif()
  set(directory "${CMAKE_CURRENT_BINARY_DIR}")
  if(SLIPWAY_PLUGIN_DIRECTORY)
    set(directory "${SLIPWAY_PLUGIN_DIRECTORY}/${name}")
  endif()
  slipway_detail_json()

  add_library(${name}_objects OBJECT ${arg_SOURCES})
  target_link_libraries(${name}_objects PUBLIC Slipway::sdk ${arg_LINK} ${SLIPWAY_PLUGIN_LINK})
  string(TOUPPER "${name}" define)
  string(REPLACE "-" "_" define "${define}")
  target_compile_definitions(${name}_objects PRIVATE ${define}_VERSION="${arg_VERSION}")
  set_target_properties(${name}_objects PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

  add_library(${name} MODULE)
  target_link_libraries(${name} PRIVATE ${name}_objects slipway_plugin_json)
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so" LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY "${directory}" SKIP_BUILD_RPATH ON
    LINK_DEPENDS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map")
  target_link_options(${name} PRIVATE
    "LINKER:--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map" LINKER:--as-needed
    LINKER:-z,relro,-z,now,-z,noexecstack)
  # With clang the program brings the sanitizers' functions.
  if(NOT (CMAKE_CXX_COMPILER_ID MATCHES Clang AND "${CMAKE_CXX_FLAGS}${SLIPWAY_SANITIZE}" MATCHES "address|thread|undefined"))
    target_link_options(${name} PRIVATE LINKER:--no-undefined)
  endif()
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND Slipway::describe $<TARGET_FILE:${name}> "${directory}/plugin.json"
    BYPRODUCTS "${directory}/plugin.json")

  slipway_detail_papers("${directory}")
  foreach(helper IN LISTS arg_HELPERS)
    if(TARGET ${helper})
      set_target_properties(${helper} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${directory}/helpers" SKIP_BUILD_RPATH ON)
      add_dependencies(${name} ${helper})
    else()
      get_filename_component(file "${helper}" NAME)
      configure_file("${helper}" "${directory}/helpers/${file}" COPYONLY)
    endif()
  endforeach()
endfunction()

# slipway_add_plugin_test(NAME SOURCES file… [LINK target…])
#
# The author's unit tests (slipway/testing.hpp) of the plugin NAME, as the program NAME_test with the plugin's code in
# it. When the project has found Catch2 2.x, the program gets its main() and each case is a test of CTest named
# "NAME.case"; else the sources have a main(), and the program is the test.
function(slipway_add_plugin_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "slipway_add_plugin_test(${name}): expected SOURCES file…, and no argument that is not known; "
                        "got \"${ARGN}\"")
  endif()
  if(NOT TARGET ${name}_objects)
    message(FATAL_ERROR "slipway_add_plugin_test(${name}): there is no plugin of this name; call "
                        "slipway_add_plugin(${name} …) before")
  endif()
  add_executable(${name}_test ${arg_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${name}_objects slipway_plugin_json ${arg_LINK})
  set_target_properties(${name}_test PROPERTIES CXX_EXTENSIONS OFF)
  if(NOT TARGET Catch2::Catch2)
    add_test(NAME ${name} COMMAND ${name}_test)
    return()
  endif()
  if(NOT TARGET slipway_plugin_catch) # 12 s to compile, so once a project
    add_library(slipway_plugin_catch OBJECT "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/catch_main.cpp")
    target_link_libraries(slipway_plugin_catch PUBLIC Catch2::Catch2)
  endif()
  target_link_libraries(${name}_test PRIVATE slipway_plugin_catch)
  include("${Catch2_DIR}/Catch.cmake")
  catch_discover_tests(${name}_test TEST_PREFIX "${name}.")
endfunction()
