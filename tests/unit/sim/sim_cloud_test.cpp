// SPDX-License-Identifier: Apache-2.0
// The simulated cloud as a process: real sockets on loopback, and libcurl as the client.
#include "sim_fixture.hpp"
#include "support/temp_dir.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>

extern char** environ;

namespace slipway::sim {
namespace {

struct Got {
  CURLcode curl = CURLE_OK;
  long status = 0;
  std::string body;
  curl_off_t retry_after_s = 0;
};

// One connection, kept as long as the server keeps it.
class Client {
 public:
  Client() : curl_(curl_easy_init()) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    curl_easy_cleanup(curl_);
    curl_slist_free_all(headers_);
  }

  void set_header(const char* line) { headers_ = curl_slist_append(headers_, line); }

  // With a body it is a POST.
  Got send(const std::string& url, const std::optional<std::string>& body = {}) {
    Got got;
    curl_easy_setopt(curl_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(curl_, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, 5'000L);
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &Client::write);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &got.body);
    if (body) {
      curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE, static_cast<long>(body->size()));
      curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body->c_str());
    } else {
      curl_easy_setopt(curl_, CURLOPT_HTTPGET, 1L);
    }
    got.curl = curl_easy_perform(curl_);
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &got.status);
    curl_easy_getinfo(curl_, CURLINFO_RETRY_AFTER, &got.retry_after_s);
    return got;
  }
  // Of the last request; 0: it went over the connection of the one before.
  long new_connections() {
    long count = 0;
    curl_easy_getinfo(curl_, CURLINFO_NUM_CONNECTS, &count);
    return count;
  }

 private:
  static std::size_t write(const char* data, std::size_t size, std::size_t count, void* body) {
    static_cast<std::string*>(body)->append(data, size * count);
    return size * count;
  }

  CURL* curl_;
  curl_slist* headers_ = nullptr;
};

// The process; goes with this object, and with the test program however that ends.
class SimProcess {
 public:
  explicit SimProcess(std::vector<std::string> arguments) {
    int in[2];
    int out[2];
    REQUIRE(::pipe2(in, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
    arguments.insert(arguments.begin(), {SLIPWAY_SIM_CLOUD, "--end-with-stdin"});
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    REQUIRE(::posix_spawn(&pid_, SLIPWAY_SIM_CLOUD, &actions, nullptr, argv.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    stdin_ = in[1];
    std::string line;
    for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) line += c;
    ::close(out[0]);
    url = "http://127.0.0.1:" + line;
  }
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;
  ~SimProcess() {
    close_stdin();
    if (pid_ > 0) wait();
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  void close_stdin() {
    if (stdin_ >= 0) ::close(stdin_);
    stdin_ = -1;
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

  template <class R>
  Got call(const R& request) {
    return client.send(url + "/v1/" + std::string(R::method), encode(request));
  }
  Audit audit() { return decode<Audit>(client.send(url + "/control/audit").body).value(); }

  std::string url;
  Client client;

 private:
  pid_t pid_ = -1;
  int stdin_ = -1;
};

std::string file_with(const testing::TempDir& dir, const std::string& name, const std::string& text) {
  std::string path = dir.path(name);
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("the process serves calls on connections that are kept, and refusals with their status") {
  SimProcess cloud({});
  const Got got = cloud.call(start_request("n1"));
  CHECK(got.status == 200);
  CHECK(decode<StartReply>(got.body).value().instance.state == State::building);
  const Got list = cloud.call(ListRequest{});
  CHECK(cloud.client.new_connections() == 0);
  CHECK(decode<ListReply>(list.body).value().items.size() == 1);
  CHECK(cloud.call(start_request("n2", "az9")).status == 400);
  CHECK(cloud.client.send(cloud.url + "/v1/instances.begin/1", "{}").status == 404);
  CHECK(cloud.client.send(cloud.url + "/v1/instances.list/1").status == 404);  // a GET
  CHECK(cloud.client.send(cloud.url + "/elsewhere").status == 404);
  CHECK(cloud.client.new_connections() == 0);
  Client second;
  CHECK(second.send(cloud.url + "/v1/zones.list/1", "{}").status == 200);
}

TEST_CASE("a lost reply ends the connection after its effect, and the process goes on") {
  const testing::TempDir dir;
  SimProcess cloud({"--script", file_with(dir, "script", R"({"latency_ms": 5, "faults": [
      {"method": "instances.start/1", "nth": 1, "action": "lose_reply"},
      {"method": "instances.start/1", "nth": 2, "action": "throttle", "delay_ms": 1500},
      {"method": "instances.start/1", "nth": 3, "action": "slow", "delay_ms": 30}]})")});
  CHECK(cloud.call(start_request("n1")).curl == CURLE_GOT_NOTHING);
  const Got throttled = cloud.call(start_request("n2"));
  CHECK(throttled.status == 429);
  CHECK(throttled.retry_after_s == 2);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(cloud.call(start_request("n3")).status == 200);
  CHECK(std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(30));
  const Audit audit = cloud.audit();
  CHECK(audit.resources.size() == 2);
  CHECK(audit.calls.at("instances.start/1").lost == 1);
  CHECK(audit.doubles().empty());
  const Got requests = cloud.client.send(cloud.url + "/control/requests");
  CHECK_THAT(requests.body,
             Catch::Contains(R"("nonce":"n1","fault":"lose_reply","result":"ok","is_lost":true)"));
}

TEST_CASE("another script comes into force while it runs, a wrong one does not") {
  SimProcess cloud({});
  const std::string url = cloud.url + "/control/script";
  const Got refused = cloud.client.send(url, R"({"zones": []})");
  CHECK(refused.status == 400);
  CHECK_THAT(refused.body, Catch::Contains("a cloud has at least one"));
  CHECK(cloud.call(start_request("n1")).status == 200);
  CHECK(cloud.client.send(url, R"({"quotas": {"instances": 1}})").status == 200);
  const Got full = cloud.call(start_request("n2"));
  CHECK(full.status == 409);
  CHECK_THAT(full.body, Catch::Contains(R"("resource":"instances","limit":1,"used":1)"));
}

TEST_CASE("calls need the token, control does not") {
  const testing::TempDir dir;
  SimProcess cloud({"--token-file", file_with(dir, "token", "s3cret\n")});
  CHECK(cloud.call(ListRequest{}).status == 401);
  CHECK(cloud.audit().calls.empty());
  Client with_token;
  with_token.set_header("Authorization: Bearer s3cret");
  CHECK(with_token.send(cloud.url + "/v1/instances.list/1", "{}").status == 200);
}

TEST_CASE("killed and started again on its journal it is the same cloud, less a line that was cut short") {
  const testing::TempDir dir;
  const std::string state = dir.path("journal");
  std::string before;
  {
    SimProcess cloud(
        {"--state", state, "--seed", "3", "--script",
         file_with(
             dir, "script",
             R"({"boot_ms": 0, "faults": [{"method": "*.start/1", "rate": 0.5, "action": "lose_request"}]})")});
    for (int i = 0; i < 10; ++i) (void)cloud.call(start_request("n" + std::to_string(i)));
    before = encode(cloud.audit().resources);
    cloud.kill();
  }
  std::ofstream(state, std::ios::app) << R"({"at_ms": 5, "meth)";
  SimProcess cloud({"--state", state});
  CHECK(encode(cloud.audit().resources) == before);
  CHECK(cloud.audit().resources.size() > 1);
  CHECK(cloud.audit().resources.size() < 10);
  CHECK(cloud.call(ListRequest{}).status == 200);
}

TEST_CASE("an object is read by its URL without a token until that ends") {
  const testing::TempDir dir;
  SimProcess cloud({"--token-file", file_with(dir, "token", "t")});
  cloud.client.set_header("Authorization: Bearer t");
  ObjectPutRequest put;
  put.key = "images/a b+c";
  put.data.data = std::string(2'000'000, 'x');  // large enough for Expect: 100-continue
  CHECK(cloud.call(put).status == 200);
  ObjectUrlRequest request;
  request.key = put.key;
  const std::string url = decode<ObjectUrlReply>(cloud.call(request).body).value().url;
  Client anybody;
  CHECK(anybody.send(url).body == put.data.data);
  request.valid_ms = -1'000;
  CHECK(anybody.send(decode<ObjectUrlReply>(cloud.call(request).body).value().url).status == 403);
}

TEST_CASE("it ends with its standard input when it was told to") {
  SimProcess cloud({});
  cloud.close_stdin();
  CHECK(WIFEXITED(cloud.wait()));
}

}  // namespace slipway::sim
