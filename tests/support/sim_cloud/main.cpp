// SPDX-License-Identifier: Apache-2.0
// main.cpp - slipway-sim-cloud: a simulated cloud as a process of its own, in real time, over HTTP on
// loopback. It outlives the daemon that it is used by, so a harness that kills daemons reads the truth here.
#include "support/sim_cloud/http_listener.hpp"

#include <boost/program_options.hpp>

#include <chrono>
#include <iostream>

namespace {
using namespace slipway;
namespace po = boost::program_options;

std::int64_t utc_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Result<std::string> file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(Code::not_found, "{}: cannot be read", path);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

// A file holds the token, as arguments are everybody's to see; a line end behind it is not part of it.
Result<sim::ServiceOptions> service_options(const po::variables_map& given) {
  sim::ServiceOptions out;
  if (given.count("script") != 0) {
    SLIPWAY_TRY(out.script, file_text(given["script"].as<std::string>()));
  }
  if (given.count("token-file") != 0) {
    SLIPWAY_TRY(out.token, file_text(given["token-file"].as<std::string>()));
    while (out.token.ends_with('\n')) out.token.pop_back();
  }
  if (given.count("state") != 0) out.state = given["state"].as<std::string>();
  out.seed = given["seed"].as<std::uint64_t>();
  return out;
}

Status run(const po::variables_map& given) {
  SLIPWAY_TRY(const sim::ServiceOptions options, service_options(given));
  SLIPWAY_TRY(const auto service, sim::Service::open(options, utc_ms()));
  SLIPWAY_TRY(const auto listener, sim::HttpListener::open(given["port"].as<std::uint16_t>()));
  service->set_base_url(message("http://127.0.0.1:{}", listener->port()));
  std::cout << listener->port() << std::endl;
  listener->run([&](const sim::HttpAsk& ask) { return service->serve(ask, utc_ms()); },
                given.count("end-with-stdin") != 0);
  return ok();
}

}  // namespace

int main(int argc, char** argv) {
  po::options_description options("slipway-sim-cloud: a simulated cloud on loopback; prints its port");
  options.add_options()("help", "this")                                                                   //
      ("port", po::value<std::uint16_t>()->default_value(0), "where to listen; 0: any free port")         //
      ("script", po::value<std::string>(), "file: what the cloud is and what goes wrong (JSON)")          //
      ("seed", po::value<std::uint64_t>()->default_value(1), "of what the script leaves to chance")       //
      ("token-file", po::value<std::string>(), "file: the token that calls must bear")                    //
      ("state", po::value<std::string>(), "file: all calls are kept in it, and read again at the start")  //
      ("end-with-stdin", "end when the standard input does");
  try {
    po::variables_map given;
    po::store(po::parse_command_line(argc, argv, options), given);
    if (given.count("help") != 0) {
      std::cout << options;
      return 0;
    }
    const Status status = run(given);
    if (status) return 0;
    std::cerr << "slipway-sim-cloud: " << status.error().message << '\n';
  } catch (const std::exception& e) {
    std::cerr << "slipway-sim-cloud: " << e.what() << '\n';
  }
  return 2;
}
