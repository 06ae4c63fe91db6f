#!/bin/sh
# Runs once in a new primary of the journal, before it accepts connections of others. ALTER SYSTEM and not an argument: the
# commits of this first start would wait for a standby. The standbys by name: `*` would also count a copy that pg_basebackup
# has not finished.
set -eu
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 ("journal-1", "journal-2", "journal-3")'
SQL
echo "host replication all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
