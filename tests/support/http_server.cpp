// SPDX-License-Identifier: Apache-2.0
#include "support/http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

namespace slipway::testing {
namespace {

void require(bool is_good, const char* what) {
  if (!is_good) throw std::runtime_error(what);
}

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return text;
}

void add_extension(X509* certificate, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  require(extension != nullptr, "certificate extension");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

TlsIdentity make_identity() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  require(key != nullptr && certificate != nullptr, "certificate");
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -86'400);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86'400);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("slipway test"),
                             -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  require(X509_sign(certificate, key, EVP_sha256()) != 0, "certificate signature");
  BIO* certificate_text = BIO_new(BIO_s_mem());
  BIO* key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_text, certificate);
  PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return {text_of(certificate_text), text_of(key_text)};
}

SSL_CTX* make_tls() {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  require(context != nullptr, "tls context");
  const TlsIdentity& identity = tls_identity();
  BIO* bio =
      BIO_new_mem_buf(identity.certificate_pem.data(), static_cast<int>(identity.certificate_pem.size()));
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  bio = BIO_new_mem_buf(identity.key_pem.data(), static_cast<int>(identity.key_pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  require(SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1,
          "tls identity");
  X509_free(certificate);
  EVP_PKEY_free(key);
  return context;
}

}  // namespace

std::string ServedRequest::target() const {
  const std::size_t start = head.find(' ') + 1;
  return head.substr(start, head.find(' ', start) - start);
}

std::string ServedRequest::header(std::string_view name) const {
  for (std::size_t at = head.find("\r\n"); at != std::string::npos && at + 2 < head.size();) {
    const std::size_t start = at + 2;
    at = head.find("\r\n", start);
    const std::string line = head.substr(start, at - start);
    if (line.size() > name.size() && line[name.size()] == ':' &&
        strncasecmp(line.data(), name.data(), name.size()) == 0) {
      const std::size_t value = line.find_first_not_of(' ', name.size() + 1);
      return value == std::string::npos ? "" : line.substr(value);
    }
  }
  return "";
}

ServedAnswer answer(unsigned status, std::string_view body, std::string_view headers) {
  ServedAnswer out;
  out.bytes = "HTTP/1.1 " + std::to_string(status) + " Words\r\n" + std::string(headers);
  if (status != 204) out.bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  out.bytes.append("\r\n").append(body);
  return out;
}

const TlsIdentity& tls_identity() {
  static const TlsIdentity identity = make_identity();
  return identity;
}

// One accepted connection, plain or TLS.
struct HttpServer::Connection {
  int socket = -1;
  SSL* tls = nullptr;
  std::string read_ahead;

  // False at the end of the connection.
  bool read_more() {
    std::array<char, 65536> buffer;
    const auto count = tls != nullptr ? SSL_read(tls, buffer.data(), static_cast<int>(buffer.size()))
                                      : static_cast<int>(recv(socket, buffer.data(), buffer.size(), 0));
    if (count <= 0) return false;
    read_ahead.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
  }
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = tls != nullptr
                             ? SSL_write(tls, bytes.data(), static_cast<int>(bytes.size()))
                             : static_cast<int>(send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL));
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  std::optional<std::string> read_head() {
    while (read_ahead.find("\r\n\r\n") == std::string::npos)
      if (!read_more()) return std::nullopt;
    const std::size_t end = read_ahead.find("\r\n\r\n") + 4;
    std::string head = read_ahead.substr(0, end);
    read_ahead.erase(0, end);
    return head;
  }
  std::optional<std::string> read_body(std::size_t size) {
    while (read_ahead.size() < size)
      if (!read_more()) return std::nullopt;
    std::string body = read_ahead.substr(0, size);
    read_ahead.erase(0, size);
    return body;
  }
};

HttpServer::HttpServer(Handler handler, bool has_tls, HeadCheck drops_at_head)
    : handler_(std::move(handler)), drops_at_head_(std::move(drops_at_head)) {
  if (has_tls) tls_ = make_tls();
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  require(bind(listener_, generic, size) == 0 && listen(listener_, 64) == 0 &&
              getsockname(listener_, generic, &size) == 0,
          "a listening socket on 127.0.0.1");
  port_ = ntohs(address.sin_port);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // OpenSSL's writes raise SIGPIPE
  acceptor_ = std::thread([this] { accept_all(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

HttpServer::~HttpServer() {
  is_stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(served_mutex_);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  close(listener_);
  SSL_CTX_free(static_cast<SSL_CTX*>(tls_));
}

std::string HttpServer::url(std::string_view path) const {
  return std::string(tls_ != nullptr ? "https" : "http") + "://127.0.0.1:" + std::to_string(port_) +
         std::string(path);
}

bool HttpServer::has_accepted(unsigned connections, std::chrono::milliseconds wait) const {
  const auto end = std::chrono::steady_clock::now() + wait;
  while (connections_ < connections && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return connections_ == connections;
}

std::vector<ServedRequest> HttpServer::requests() const {
  const std::lock_guard lock(served_mutex_);
  return requests_;
}

unsigned HttpServer::count(std::string_view verb) const {
  const auto all = requests();
  return static_cast<unsigned>(
      std::count_if(all.begin(), all.end(), [&](const ServedRequest& r) { return r.verb() == verb; }));
}

void HttpServer::accept_all() {
  while (true) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0 && is_stopping_) return;
    if (socket < 0) continue;
    ++connections_;
    const int on = 1;  // else a TLS handshake waits 40 ms for an acknowledgement
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    {
      const std::lock_guard lock(served_mutex_);
      sockets_.push_back(socket);
    }
    threads_.emplace_back([this, socket] {
      Connection connection;
      connection.socket = socket;
      if (tls_ != nullptr) {
        connection.tls = SSL_new(static_cast<SSL_CTX*>(tls_));
        SSL_set_fd(connection.tls, socket);
      }
      if (connection.tls == nullptr || SSL_accept(connection.tls) == 1) serve(connection);
      SSL_free(connection.tls);
      const std::lock_guard lock(served_mutex_);
      std::erase(sockets_, socket);
      close(socket);
    });
  }
}

void HttpServer::serve(Connection& connection) {
  for (unsigned nth = 1;; ++nth) {
    auto head = connection.read_head();
    if (!head) return;
    ServedRequest request{*std::move(head), "", nth};
    const bool drops_at_head = drops_at_head_ && drops_at_head_(request);
    const std::string length = request.header("content-length");
    std::optional<std::string> body;
    if (!drops_at_head) body = connection.read_body(length.empty() ? 0 : std::stoul(length));
    if (body) request.body = *body;
    {
      const std::lock_guard lock(served_mutex_);
      requests_.push_back(request);
    }
    if (drops_at_head || (!body && !length.empty())) return;
    const ServedAnswer out = handler_(request);
    for (auto waited = std::chrono::milliseconds(0); waited < out.delay && !is_stopping_;
         waited += std::chrono::milliseconds(2))
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (!connection.write(out.bytes) || out.drops) return;
  }
}

}  // namespace slipway::testing
