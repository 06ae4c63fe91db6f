#!/bin/sh
# Starts a server of the journal: NAME=journal-1 PRIMARY=journal-1 node.sh. The primary begins a new journal where its data
# directory is empty. Any other server copies the one that accepts writes, and follows it, also after a failover: the
# variables of libpq name all of them. A former primary does not start: it would accept writes beside the new one.
set -eu
if [ "$NAME" != "$PRIMARY" ]; then
  if [ ! -s "$PGDATA/PG_VERSION" ]; then
    until pg_basebackup -D "$PGDATA" -R -c fast; do
      find "$PGDATA" -mindepth 1 -delete
      sleep 1
    done
    chmod 0700 "$PGDATA"
  elif [ ! -e "$PGDATA/standby.signal" ]; then
    echo "$NAME is not the primary ($PRIMARY), and its data are those of a primary: remove its volume, then start it again" >&2
    exit 1
  fi
fi
# those of the clients are not those of the server
unset PGHOST PGPORT PGUSER PGPASSWORD PGTARGETSESSIONATTRS
# a standby has this name at its primary
exec docker-entrypoint.sh postgres -c cluster_name="$NAME"
