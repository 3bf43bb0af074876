-- SPDX-License-Identifier: Apache-2.0
-- 0001_initial - the first schema. A table's columns are the members of its row struct (tables.hpp) in their
-- order; structs, lists and maps are JSON text, empty for the default. Numbers are unsigned unless they are
-- times. IN with more than two words builds a table for each row (half of an insert's cost), so words are
-- compared one by one. Unique indexes say what Row::Indexes says, once more, so that no file can hold what
-- memory refuses.
--
-- WITHOUT ROWID where rows are small and read or written in the order of their key. `machine` and `attempt`
-- have long rows, which such a table would keep in overflow pages; `attempt` grows at one end as a table with
-- row ids, where its random key would touch a page for each row (groups of inserts were 2.4 times slower).

CREATE TABLE meta (
  name  TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The engine's own (wal_guard.hpp): the state from which the write-ahead log goes on.
CREATE TABLE wal_base (
  one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  epoch    INTEGER NOT NULL,
  revision INTEGER NOT NULL
) STRICT;
INSERT INTO wal_base (one, epoch, revision) VALUES (1, 0, 0);

CREATE TABLE credential (
  id         INTEGER NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  provider   TEXT NOT NULL,
  account    TEXT NOT NULL,
  secret_id  TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  revision   INTEGER NOT NULL CHECK (revision >= 0),
  checksum   BLOB NOT NULL CHECK (length(checksum) = 16)
) STRICT;
CREATE UNIQUE INDEX credential_name ON credential (name);

CREATE TABLE environment (
  id             INTEGER NOT NULL PRIMARY KEY,
  uuid           TEXT NOT NULL,
  name           TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 20),
  life           TEXT NOT NULL CHECK (life = 'alive' OR life = 'dying' OR life = 'dead'),
  provider       TEXT NOT NULL,
  settings       TEXT NOT NULL,
  credential     INTEGER REFERENCES credential (id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  storage_plugin TEXT NOT NULL,
  network_plugin TEXT NOT NULL,
  constraints    TEXT NOT NULL,
  harvest_mode   TEXT NOT NULL CHECK (harvest_mode = 'none' OR harvest_mode = 'destroyed'
                      OR harvest_mode = 'unknown' OR harvest_mode = 'all'),
  firewall_mode  TEXT NOT NULL CHECK (firewall_mode = 'instance' OR firewall_mode = 'global'
                      OR firewall_mode = 'none'),
  is_paused      INTEGER NOT NULL CHECK (is_paused IN (0, 1)),
  suspended      TEXT NOT NULL CHECK (suspended = 'none' OR suspended = 'quota' OR suspended = 'throttled'
                      OR suspended = 'credential' OR suspended = 'paused' OR suspended = 'brake'
                      OR suspended = 'plugin' OR suspended = 'no_zone' OR suspended = 'read_only'),
  message        TEXT NOT NULL,
  next_machine   INTEGER NOT NULL CHECK (next_machine >= 0),
  next_attempt   INTEGER NOT NULL CHECK (next_attempt >= 0),
  created_ms     INTEGER NOT NULL,
  revision       INTEGER NOT NULL CHECK (revision >= 0)
) STRICT;
CREATE UNIQUE INDEX environment_name ON environment (name);
CREATE INDEX environment_credential ON environment (credential);

CREATE TABLE machine (
  environment      INTEGER NOT NULL REFERENCES environment (id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  id               TEXT NOT NULL CHECK (id <> ''),
  name             TEXT NOT NULL,
  life             TEXT NOT NULL CHECK (life = 'alive' OR life = 'dying' OR life = 'dead'),
  role             TEXT NOT NULL CHECK (role = 'machine' OR role = 'controller'),
  constraints      TEXT NOT NULL,
  placement        TEXT NOT NULL,
  image            TEXT NOT NULL,
  "group"          TEXT NOT NULL,
  labels           TEXT NOT NULL,
  ssh_keys         TEXT NOT NULL,
  user_data_id     TEXT NOT NULL,
  ports            TEXT NOT NULL,
  volumes          TEXT NOT NULL,
  is_paused        INTEGER NOT NULL CHECK (is_paused IN (0, 1)),
  is_protected     INTEGER NOT NULL CHECK (is_protected IN (0, 1)),
  keep_instance    INTEGER NOT NULL CHECK (keep_instance IN (0, 1)),
  state            TEXT NOT NULL CHECK (state = 'pending' OR state = 'building' OR state = 'running'
                      OR state = 'blocked' OR state = 'failed' OR state = 'down' OR state = 'stopping'
                      OR state = 'gone'),
  blocked          TEXT NOT NULL CHECK (blocked = 'none' OR blocked = 'quota' OR blocked = 'throttled'
                      OR blocked = 'credential' OR blocked = 'paused' OR blocked = 'brake'
                      OR blocked = 'plugin' OR blocked = 'no_zone' OR blocked = 'read_only'),
  message          TEXT NOT NULL,
  is_transient     INTEGER NOT NULL CHECK (is_transient IN (0, 1)),
  state_since_ms   INTEGER NOT NULL,
  tries_used       INTEGER NOT NULL CHECK (tries_used >= 0),
  next_try_ms      INTEGER NOT NULL,
  instance_id      TEXT NOT NULL,
  instance_nonce   BLOB CHECK (length(instance_nonce) = 16),
  instance_state   TEXT NOT NULL CHECK (instance_state = 'unknown' OR instance_state = 'building'
                      OR instance_state = 'running' OR instance_state = 'stopping'
                      OR instance_state = 'stopped' OR instance_state = 'failed' OR instance_state = 'gone'),
  instance_message TEXT NOT NULL,
  zone             TEXT NOT NULL,
  type             TEXT NOT NULL,
  hardware         TEXT NOT NULL,
  addresses        TEXT NOT NULL,
  created_ms       INTEGER NOT NULL,
  revision         INTEGER NOT NULL CHECK (revision >= 0),
  PRIMARY KEY (environment, id)
) STRICT;
CREATE UNIQUE INDEX machine_instance ON machine (environment, instance_id) WHERE instance_id <> '';

CREATE TABLE attempt (
  nonce              BLOB NOT NULL PRIMARY KEY CHECK (length(nonce) = 16),
  environment        INTEGER NOT NULL,
  machine            TEXT NOT NULL,
  seq                INTEGER NOT NULL CHECK (seq >= 0),
  kind               TEXT NOT NULL CHECK (kind = 'server' OR kind = 'port' OR kind = 'public_address'
                      OR kind = 'security_group' OR kind = 'volume' OR kind = 'attachment' OR kind = 'container'),
  slot               INTEGER NOT NULL CHECK (slot >= 0),
  parent             BLOB CHECK (length(parent) = 16),
  provider           TEXT NOT NULL,
  project            TEXT NOT NULL,
  region             TEXT NOT NULL,
  zone               TEXT NOT NULL,
  name               TEXT NOT NULL,
  request_sha256     TEXT NOT NULL,
  phase              TEXT NOT NULL CHECK (phase = 'sent' OR phase = 'created' OR phase = 'deleting'
                      OR phase = 'gone' OR phase = 'abandoned' OR phase = 'rejected' OR phase = 'released'),
  epoch              INTEGER NOT NULL CHECK (epoch >= 0),
  incarnation        INTEGER NOT NULL CHECK (incarnation >= 0),
  sent_ms            INTEGER NOT NULL,
  ambiguous_until_ms INTEGER NOT NULL,
  provider_id        TEXT NOT NULL,
  evidence           TEXT NOT NULL,
  choice             TEXT NOT NULL,
  error              TEXT NOT NULL,
  ended_ms           INTEGER NOT NULL,
  revision           INTEGER NOT NULL CHECK (revision >= 0),
  checksum           BLOB NOT NULL CHECK (length(checksum) = 16)
) STRICT;
CREATE UNIQUE INDEX attempt_machine ON attempt (environment, machine, seq);
CREATE UNIQUE INDEX attempt_active ON attempt (environment, machine, kind, slot)
  WHERE phase = 'sent' OR phase = 'created' OR phase = 'deleting';

CREATE TABLE pool (
  environment INTEGER NOT NULL REFERENCES environment (id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  name        TEXT NOT NULL,
  provider    TEXT NOT NULL,
  attributes  TEXT NOT NULL,
  revision    INTEGER NOT NULL CHECK (revision >= 0),
  PRIMARY KEY (environment, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE volume (
  environment       INTEGER NOT NULL REFERENCES environment (id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  id                TEXT NOT NULL,
  pool              TEXT NOT NULL,
  size_mib          INTEGER NOT NULL CHECK (size_mib >= 0),
  life              TEXT NOT NULL CHECK (life = 'alive' OR life = 'dying' OR life = 'dead'),
  is_read_only      INTEGER NOT NULL CHECK (is_read_only IN (0, 1)),
  goes_with_machine INTEGER NOT NULL CHECK (goes_with_machine IN (0, 1)),
  machine           TEXT NOT NULL,
  provider_id       TEXT NOT NULL,
  state             TEXT NOT NULL CHECK (state = 'unknown' OR state = 'building' OR state = 'running'
                      OR state = 'stopping' OR state = 'stopped' OR state = 'failed' OR state = 'gone'),
  message           TEXT NOT NULL,
  zone              TEXT NOT NULL,
  created_ms        INTEGER NOT NULL,
  revision          INTEGER NOT NULL CHECK (revision >= 0),
  PRIMARY KEY (environment, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE attachment (
  environment  INTEGER NOT NULL,
  volume       TEXT NOT NULL,
  machine      TEXT NOT NULL,
  life         TEXT NOT NULL CHECK (life = 'alive' OR life = 'dying' OR life = 'dead'),
  is_read_only INTEGER NOT NULL CHECK (is_read_only IN (0, 1)),
  state        TEXT NOT NULL CHECK (state = 'unknown' OR state = 'building' OR state = 'running'
                      OR state = 'stopping' OR state = 'stopped' OR state = 'failed' OR state = 'gone'),
  device_name  TEXT NOT NULL,
  device_link  TEXT NOT NULL,
  bus_address  TEXT NOT NULL,
  message      TEXT NOT NULL,
  revision     INTEGER NOT NULL CHECK (revision >= 0),
  PRIMARY KEY (environment, volume, machine),
  FOREIGN KEY (environment, volume) REFERENCES volume (environment, id) ON DELETE RESTRICT ON UPDATE RESTRICT
) STRICT, WITHOUT ROWID;

CREATE TABLE space (
  environment INTEGER NOT NULL REFERENCES environment (id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  name        TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  revision    INTEGER NOT NULL CHECK (revision >= 0),
  PRIMARY KEY (environment, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE subnet (
  environment INTEGER NOT NULL REFERENCES environment (id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  cidr        TEXT NOT NULL,
  space       TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  network     TEXT NOT NULL,
  zones       TEXT NOT NULL,
  vlan        INTEGER NOT NULL,
  is_public   INTEGER NOT NULL CHECK (is_public IN (0, 1)),
  revision    INTEGER NOT NULL CHECK (revision >= 0),
  PRIMARY KEY (environment, cidr)
) STRICT, WITHOUT ROWID;

-- What plugins remember; rows of up to 64 KiB, so with row ids.
CREATE TABLE plugin_note (
  environment INTEGER NOT NULL REFERENCES environment (id) ON DELETE RESTRICT ON UPDATE RESTRICT,
  plugin      TEXT NOT NULL,
  name        TEXT NOT NULL,
  value       TEXT NOT NULL,
  revision    INTEGER NOT NULL CHECK (revision >= 0),
  PRIMARY KEY (environment, plugin, name)
) STRICT;

CREATE TABLE secret (
  id       TEXT NOT NULL PRIMARY KEY CHECK (id <> ''),
  sealed   BLOB NOT NULL,
  revision INTEGER NOT NULL CHECK (revision >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE change (
  revision    INTEGER NOT NULL,
  ordinal     INTEGER NOT NULL CHECK (ordinal >= 0),
  at_ms       INTEGER NOT NULL,
  environment INTEGER NOT NULL,
  entity      TEXT NOT NULL CHECK (entity <> ''),  -- one more with each table: no list here
  op          TEXT NOT NULL CHECK (op = 'added' OR op = 'changed' OR op = 'removed'),
  id          TEXT NOT NULL,
  actor       TEXT NOT NULL,
  note        TEXT NOT NULL,
  PRIMARY KEY (revision, ordinal)
) STRICT, WITHOUT ROWID;
