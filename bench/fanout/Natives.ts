/** The native servers of the fan-out benchmark: the floor in C, and nginx with nchan. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { pin } from "../Harness.ts"
import { freePort } from "../OrderEntry.bench.ts"

export interface Native {
  readonly pid: number
  readonly port: number
  readonly control: number
  readonly stop: () => Promise<void>
}

const stopOf = (child: ChildProcess) => async (): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, "exit")
  child.kill("SIGTERM")
  await ended
}

/** Whether a program is installed. */
const has = (program: string): boolean => {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** Compiles and starts the floor; undefined without a compiler. */
export const floor = async (directory: string): Promise<Native | undefined> => {
  const compiler = ["cc", "gcc", "clang"].find(has)
  if (compiler === undefined) return undefined
  const program = join(directory, "floor")
  const source = join(dirname(fileURLToPath(import.meta.url)), "floor.c")
  execFileSync(compiler, ["-O2", "-o", program, source], { stdio: ["ignore", "ignore", "inherit"] })
  const child = spawn(program, [], { stdio: ["ignore", "pipe", "inherit"] })
  const [line] = (await once(child.stdout, "data")) as [Buffer]
  const [port, control] = line.toString().split(" ").map(Number)
  pin(child.pid!, 0)
  return { pid: child.pid!, port: port!, control: control!, stop: stopOf(child) }
}

const NGINX = "/usr/sbin/nginx"
const NCHAN = "/usr/lib/nginx/modules/ngx_nchan_module.so"

const settings = (directory: string, port: number): string => `
load_module ${NCHAN};
${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
worker_processes 1;
worker_rlimit_nofile 19000;
pid ${directory}/nginx.pid;
error_log stderr emerg;
events { worker_connections 18000; use epoll; }
http {
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /sub { nchan_subscriber websocket; nchan_channel_id fan; nchan_subscriber_first_message newest; }
    location = /pub { nchan_publisher http; nchan_channel_id fan; nchan_message_buffer_length 100; }
  }
}
`

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1")
    socket.on("connect", () => resolve(true))
    socket.on("error", () => resolve(false))
    socket.on("connect", () => socket.destroy())
  })

/** The only child of a process. */
const childOf = (pid: number): number =>
  Number(execFileSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" }).trim())

/** Starts nginx with nchan; undefined where either is not installed. */
export const nchan = async (directory: string): Promise<Native | undefined> => {
  if (!existsSync(NGINX) || !existsSync(NCHAN)) return undefined
  const port = await freePort()
  const file = join(directory, "nginx.conf")
  mkdirSync(directory, { recursive: true })
  writeFileSync(file, settings(directory, port))
  const child = spawn(NGINX, ["-e", "stderr", "-p", directory, "-c", file], { stdio: ["ignore", "ignore", "inherit"] })
  for (let i = 0; !(await answers(port)); i++) {
    if (i === 100 || child.exitCode !== null) throw new Error("nginx does not start")
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const pid = childOf(child.pid!)
  pin(pid, 0)
  return { pid, port, control: port, stop: stopOf(child) }
}
