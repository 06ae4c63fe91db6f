/** A PostgreSQL with synchronous standbys, of which any one confirms a commit; a test can kill the primary. */
import { PostgresServer } from "./PostgresServer.ts"
import { until } from "./Wait.ts"

/** Commits return when one standby has them. */
const QUORUM = "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'"
const RELOAD = "SELECT pg_reload_conf()"

export class PostgresCluster {
  primary: PostgresServer
  private standbys: Array<PostgresServer>

  private constructor(primary: PostgresServer, standbys: Array<PostgresServer>) {
    this.primary = primary
    this.standbys = standbys
  }

  /** Starts a primary with so many standbys. `durable`: commits are synced, for measurements. */
  static async start(standbys: number, durable = false): Promise<PostgresCluster> {
    const primary = await PostgresServer.start(undefined, durable)
    const cluster = new PostgresCluster(primary, [])
    for (let i = 0; i < standbys; i++) cluster.standbys.push(await PostgresServer.start(primary))
    // without a standby, no commit would return
    if (standbys === 0) return cluster
    await primary.query(QUORUM)
    await primary.query(RELOAD)
    await cluster.isReplicating(standbys)
    return cluster
  }

  private isReplicating(standbys: number): Promise<unknown> {
    const count = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'"
    return until("the standbys of PostgreSQL", async () => (await this.primary.query(count)) === String(standbys))
  }

  /**
   * Kills the primary and promotes the standby that has most of its log; the others follow that one. Returns the new
   * primary.
   */
  async failOver(): Promise<PostgresServer> {
    await this.primary.kill()
    const received = await Promise.all(
      this.standbys.map((one) => one.query("SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')"))
    )
    const best = received.map(Number).reduce((most, lsn, i, all) => (lsn > all[most]! ? i : most), 0)
    const [next] = this.standbys.splice(best, 1)
    const lost = this.primary
    this.primary = next!
    await next!.query(QUORUM)
    await next!.query(RELOAD)
    await next!.query("SELECT pg_promote()")
    for (const one of this.standbys) {
      await one.query(
        `ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port=${next!.port} user=gateway application_name=standby'`
      )
      await one.query(RELOAD)
    }
    await lost.remove()
    return next!
  }

  /** Adds a standby in the place of one that was lost. */
  async replace(): Promise<PostgresServer> {
    const added = await PostgresServer.start(this.primary)
    this.standbys.push(added)
    await this.isReplicating(this.standbys.length)
    return added
  }

  /** Kills one standby. */
  async loseStandby(): Promise<void> {
    await this.standbys.shift()!.remove()
  }

  async remove(): Promise<void> {
    for (const one of [...this.standbys, this.primary]) await one.remove()
  }
}
