// SPDX-License-Identifier: Apache-2.0
#include "store/backup.hpp"

#include "base/crypto.hpp"
#include "base/failpoint.hpp"
#include "base/fs.hpp"
#include "base/log.hpp"
#include "store/files.hpp"
#include "store/keys.hpp"
#include "store/migrate.hpp"
#include "store/prepare.hpp"
#include "store/sqlite.hpp"
#include "store/sqlite_engine.hpp"
#include "store/tables.hpp"
#include "store/wal_guard.hpp"

#include <slipway/codec.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

namespace slipway::store::backup {
namespace {

constexpr Logger kLog("store");
FailPoint before_name("store.backup_before_name");
FailPoint before_swap("store.restore_before_swap");
FailPoint after_swap("store.restore_after_swap");

constexpr std::string_view kMadePrefix = "slipway-";
constexpr std::string_view kMigrationPrefix = "pre-migration-";
constexpr std::string_view kSuffix = ".db";
constexpr std::string_view kKeyPlace = "slipway backup key 1";  // what the sealed key is bound to
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kKeyFileMaxBytes = 4096;

// The file beside a backup that holds its key, as JSON.
struct SealedKey {
  std::string key_id;
  std::uint64_t scrypt_n = 0;
  std::uint64_t scrypt_r = 0;
  std::uint64_t scrypt_p = 0;
  Bytes salt;
  Bytes sealed;
};
BOOST_DESCRIBE_STRUCT(SealedKey, (), (key_id, scrypt_n, scrypt_r, scrypt_p, salt, sealed))

std::string key_path(const std::string& backup) {
  return backup.substr(0, backup.size() - kSuffix.size()) + ".key";
}

// The time in a backup's name, or nothing if it is none.
std::optional<std::int64_t> time_of(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  std::string_view stamp;
  if (name.starts_with(kMadePrefix)) {
    name.remove_prefix(kMadePrefix.size());
    stamp = name.substr(0, name.find('-'));
  } else if (name.starts_with(kMigrationPrefix)) {
    stamp = name.substr(name.rfind('-') + 1);
  }
  auto time_ms = files::parse_utc_stamp(stamp);
  if (!time_ms) return std::nullopt;
  return *time_ms;
}

std::uint64_t to_number(const std::string& text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

struct Meta {
  std::uint64_t revision = 0;
  std::uint64_t incarnation = 0;
  std::string key_id;
};

Meta meta_of(const std::vector<Values>& rows) {
  Meta meta;
  for (const Values& row : rows) {
    const std::string name = sqlite::text_of(row[0]);
    const std::string value = sqlite::text_of(row[1]);
    if (name == "revision") meta.revision = to_number(value);
    if (name == "incarnation") meta.incarnation = to_number(value);
    if (name == "key_id") meta.key_id = value;
  }
  return meta;
}

// Whether the file is a whole state of ours, and of which moment.
Result<Meta> inspect(const std::string& path) {
  SLIPWAY_TRY(sqlite::Database database, sqlite::Database::open(path, sqlite::Access::frozen));
  SLIPWAY_TRY(check_is_ours(database));
  SLIPWAY_TRY(database.quick_check());
  SLIPWAY_TRY(const auto rows, database.query("SELECT name, value FROM meta"));
  return meta_of(rows);
}

Status write_key(const Keys& keys, const std::string& path, const Secret& passphrase, Random& random) {
  const ScryptCost cost;
  std::string salt(kSaltBytes, '\0');
  random.fill({reinterpret_cast<std::uint8_t*>(salt.data()), salt.size()});
  SLIPWAY_TRY(Key32 key, scrypt_key(passphrase, salt, cost));
  const std::string sealed = AeadKey(std::move(key)).seal(keys.root().reveal(), kKeyPlace, random);
  const SealedKey content{keys.id(), cost.n, cost.r, cost.p, {salt}, {sealed}};
  return fs::write_file_atomically(path, encode(content) + "\n", 0400);
}

Result<Key32> read_key(const std::string& path, const Secret& passphrase) {
  SLIPWAY_TRY(const std::string text, fs::read_file(path, kKeyFileMaxBytes));
  auto content = decode<SealedKey>(text);
  if (!content) return std::move(content).error().within(path);
  auto key =
      scrypt_key(passphrase, content->salt.data, {content->scrypt_n, content->scrypt_r, content->scrypt_p});
  if (!key) return std::move(key).error().within(path);
  auto root = AeadKey(*std::move(key)).open(content->sealed.data, kKeyPlace);
  if (!root) return fail(Code::denied, "{}: does not open with this passphrase, or is damaged", path);
  return Key32::from_bytes(root->reveal());
}

// ---- Restoring ----

// The file's key if it has to become slipway.key; nothing if the one that is there is right.
Result<std::optional<Key32>> key_to_bring(const std::string& path, const Meta& meta, const DataDir& target,
                                          const std::optional<Secret>& passphrase, Random& random) {
  auto present = Keys::open(target.key(), false, random);
  if (present && present->id() == meta.key_id) return std::optional<Key32>();
  if (!present && present.error().code != Code::not_found) return std::move(present).error();
  const std::string have = present ? "slipway.key is " + present->id() : "there is no slipway.key";
  if (!files::exists(key_path(path))) {
    return fail(Code::denied, "{} belongs to the key {}, and {}; bring the slipway.key that was made with it",
                path, meta.key_id, have);
  }
  if (!passphrase) {
    return fail(Code::denied,
                "{} belongs to the key {}, and {}; give the passphrase of the key that lies beside it", path,
                meta.key_id, have);
  }
  SLIPWAY_TRY(Key32 root, read_key(key_path(path), *passphrase));
  if (const std::string id = Keys::from_bytes(root).id(); id != meta.key_id) {
    return fail(Code::invalid, "{} holds the key {}, its backup belongs to {}; bring the right one",
                key_path(path), id, meta.key_id);
  }
  return std::optional(std::move(root));
}

// A copy at `path` that is up to date and says that it was restored.
Status prepare_copy(const std::string& from, const std::string& path, const Meta& meta, const Clock& clock) {
  for (const char* suffix : {"", "-wal", "-shm"}) SLIPWAY_TRY(files::remove(path + suffix));
  SLIPWAY_TRY(files::copy(from, path));
  SLIPWAY_TRY(auto engine, SqliteEngine::open({.path = path}, schema(), clock));
  const std::vector<RowChange> rows{meta_row("incarnation", std::to_string(meta.incarnation + 1))};
  SLIPWAY_TRY(engine->begin());
  SLIPWAY_TRY(engine->apply(rows));
  SLIPWAY_TRY(engine->commit());
  SLIPWAY_TRY(engine->recover());  // moves the commit into the file
  engine.reset();
  for (const char* suffix : {"-wal", "-shm"}) SLIPWAY_TRY(files::remove(path + suffix));
  return files::sync(path);
}

// Moves the log of the old database into it, so that it can be kept as one file.
Status fold_log(const std::string& path) {
  const auto without_log = state_without_log(path, {});
  SLIPWAY_TRY(sqlite::Database database, sqlite::Database::open(path, sqlite::Access::read_write));
  database.set_checkpoint_on_close(false);
  SLIPWAY_TRY(check_is_ours(database));
  SLIPWAY_TRY(check_log_belongs(database, without_log));
  SLIPWAY_TRY(database.quick_check());
  SLIPWAY_TRY(const auto moved, sqlite::checkpoint(database, sqlite::CheckpointMode::passive));
  SLIPWAY_TRY(check_log_is_whole(path, moved.log_pages));
  SLIPWAY_TRY(sqlite::checkpoint(database, sqlite::CheckpointMode::truncate));
  return ok();
}

}  // namespace

Result<Info> create(Store& store, const std::string& directory, const std::optional<Secret>& passphrase,
                    const Clock& clock, Random& random) {
  if (passphrase && passphrase->is_empty()) {
    return fail(Code::invalid, "passphrase: expected text, got nothing; a key is never kept unprotected");
  }
  SLIPWAY_TRY(fs::make_directory(directory, 0700));
  const std::string aside = directory + "/.slipway-backup";
  SLIPWAY_TRY(files::remove(aside));  // of a run that was interrupted
  SLIPWAY_TRY(store.copy_to(aside));
  auto meta = inspect(aside);
  if (!meta) {
    if (auto removed = files::remove(aside); !removed) return removed.error();
    return std::move(meta).error();
  }
  Info info;
  info.name = message("{}{}-{}{}", kMadePrefix, files::utc_stamp(clock.utc_ms()), meta->revision, kSuffix);
  info.time_ms = clock.utc_ms() / 1000 * 1000;
  info.bytes = files::size(aside);
  info.revision = meta->revision;
  info.key_id = meta->key_id;
  info.has_key = passphrase.has_value();
  const std::string path = directory + "/" + info.name;
  // The key first: where the backup is, its key is.
  if (passphrase) SLIPWAY_TRY(write_key(store.keys(), key_path(path), *passphrase, random));
  SLIPWAY_TRY(before_name.hit());
  SLIPWAY_TRY(files::rename(aside, path));
  return info;
}

Result<std::vector<Info>> list(const std::string& directory) {
  std::vector<Info> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    Info info;
    info.name = at->path().filename().string();
    const auto time_ms = time_of(info.name);
    if (!time_ms) continue;
    const std::string path = directory + "/" + info.name;
    info.time_ms = *time_ms;
    info.bytes = files::size(path);
    info.has_key = files::exists(key_path(path));
    if (auto meta = inspect(path)) {
      info.revision = meta->revision;
      info.key_id = meta->key_id;
    } else {
      info.problem = meta.error().message;
    }
    found.push_back(std::move(info));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return fs::error_of(error.value(), "listing", directory);
  }
  std::sort(found.begin(), found.end(), [](const Info& a, const Info& b) {
    return std::tie(a.time_ms, a.revision, a.name) > std::tie(b.time_ms, b.revision, b.name);
  });
  return found;
}

Status restore(const std::string& directory, std::string_view name, const DataDir& target,
               const std::optional<Secret>& passphrase, const Clock& clock) {
  const std::string path = message("{}/{}", directory, name);
  if (!time_of(name) || name.find('/') != std::string_view::npos || !files::exists(path)) {
    return fail(Code::not_found, "there is no backup {} in {}; see backup list", name, directory);
  }
  SLIPWAY_TRY(const Meta meta, inspect(path));
  SystemRandom random;
  SLIPWAY_TRY(const auto key, key_to_bring(path, meta, target, passphrase, random));

  const std::string database = target.database();
  const std::string restored = database + ".restoring";
  SLIPWAY_TRY(prepare_copy(path, restored, meta, clock));
  if (files::size(database + "-wal") > 0) {
    // A database that is too damaged for that is kept as it is, with its log.
    if (auto folded = fold_log(database); !folded) {
      kLog.warn("the replaced database is kept with its log", {{"message", folded.error().message}});
    }
  }
  SLIPWAY_TRY(before_swap.hit());

  const std::string kept = ".before-restore-" + files::utc_stamp(clock.utc_ms());
  SLIPWAY_TRY(files::link(database, database + kept));
  SLIPWAY_TRY(files::link(database + "-wal", database + kept + "-wal"));
  if (key) {
    SLIPWAY_TRY(files::link(target.key(), target.key() + kept));
    SLIPWAY_TRY(fs::write_file_atomically(target.key(), key->reveal(), 0400));
  }
  SLIPWAY_TRY(files::rename(restored, database));
  SLIPWAY_TRY(after_swap.hit());
  // Until here the old log, if it could not be folded, is refused beside the new database (wal_guard.hpp).
  SLIPWAY_TRY(files::remove(database + "-wal"));
  SLIPWAY_TRY(files::remove(database + "-shm"));
  kLog.info("backup restored", {{"path", path}, {"revision", meta.revision}});
  return ok();
}

Result<std::vector<std::string>> prune(const std::string& directory, std::size_t keep) {
  SLIPWAY_TRY(const auto all, list(directory));
  std::vector<std::string> removed;
  std::size_t count = 0;
  for (const Info& info : all) {
    if (!info.name.starts_with(kMadePrefix) || ++count <= keep) continue;
    const std::string path = directory + "/" + info.name;
    SLIPWAY_TRY(files::remove(path));
    SLIPWAY_TRY(files::remove(key_path(path)));
    removed.push_back(info.name);
  }
  return removed;
}

}  // namespace slipway::store::backup
