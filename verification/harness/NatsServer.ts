/** A nats-server process with JetStream on a free port. */
import { type ChildProcess, spawn } from "node:child_process"
import { AuthorizationError, connect } from "@nats-io/transport-node"
import { Redacted } from "effect"
import { ended, freePort, isInstalled, type TemporaryFolder, temporaryFolder } from "./Programs.ts"
import { START_MS, until } from "./Wait.ts"

export const isNatsInstalled = isInstalled("nats-server")

export class NatsServer {
  private child: ChildProcess | undefined
  private folder: TemporaryFolder | undefined
  readonly port: number
  private readonly flags: ReadonlyArray<string>
  private constructor(port: number, flags: ReadonlyArray<string>) {
    this.port = port
    this.flags = flags
  }
  /** `flags`: further ones, such as those of a user. */
  static async start(flags: ReadonlyArray<string> = []): Promise<NatsServer> {
    const server = new NatsServer(await freePort(), flags)
    await server.begin()
    return server
  }
  get url(): Redacted.Redacted<string> {
    return Redacted.make(`nats://127.0.0.1:${this.port}`)
  }
  /** Starts the program with an empty store, and waits until it answers. */
  async begin(): Promise<void> {
    this.folder = temporaryFolder("nats")
    const flags = ["-a", "127.0.0.1", "-p", String(this.port), "-js", "-sd", this.folder.path, ...this.flags]
    this.child = spawn("nats-server", flags, { stdio: "ignore" })
    const answers = async () => {
      const connection = await connect({ servers: Redacted.value(this.url), reconnect: false })
      await connection.close()
      return true
    }
    const answered = () => answers().catch((cause: unknown) => cause instanceof AuthorizationError)
    await until("nats-server answers", answered, START_MS)
  }
  /** Suspends the process: its connections stay open and it answers nothing. */
  freeze(): void {
    this.child!.kill("SIGSTOP")
  }
  thaw(): void {
    this.child!.kill("SIGCONT")
  }
  /** Kills it and deletes its data. */
  async kill(): Promise<void> {
    await ended(this.child!)
    this.folder?.remove()
  }
}
