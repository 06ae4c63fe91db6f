/** Real proxies as operators put them in front of a gateway: haproxy and nginx, on free ports, for as long as a test runs. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ended, freePort, listens } from "../../verification/harness/Programs.ts"

/** Time a start may take, in ms. */
const START_MS = 20_000
/** A proxy closes an idle connection after this time, in ms. At its hasty port, it also ends an unfinished request. */
const SILENCE_MS = 500

export interface FrontProxy {
  readonly port: number
  /** Here an unfinished request ends after {@link SILENCE_MS}. Both ports share the connections to the gateway. */
  readonly hastyPort: number
  readonly stop: () => Promise<void>
}

type Program = (options: {
  readonly port: number
  readonly hastyPort: number
  readonly upstream: number
  readonly folder: string
}) => {
  readonly config: string
  readonly command: ReadonlyArray<string>
}

/** Connections to the gateway are kept and shared by all clients: what one leaves in them is another one's. */
const programs = {
  haproxy: ({ folder, hastyPort, port, upstream }) => ({
    config: `
defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout http-keep-alive ${SILENCE_MS}ms
  timeout server 20s
  http-reuse always
frontend door
  bind 127.0.0.1:${port}
  default_backend gateway
frontend hasty
  bind 127.0.0.1:${hastyPort}
  timeout client ${SILENCE_MS}ms
  timeout http-request ${SILENCE_MS}ms
  default_backend gateway
backend gateway
  server gateway 127.0.0.1:${upstream}
`,
    command: ["haproxy", "-db", "-q", "-f", join(folder, "config")]
  }),
  nginx: ({ folder, hastyPort, port, upstream }) => ({
    config: `
daemon off;
master_process off;
pid ${folder}/pid;
error_log ${folder}/error.log;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_request_buffering off;
  keepalive_timeout ${SILENCE_MS}ms;
  upstream gateway { server 127.0.0.1:${upstream}; keepalive 4; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://gateway; }
  }
  server {
    listen 127.0.0.1:${hastyPort};
    client_header_timeout ${SILENCE_MS}ms;
    client_body_timeout ${SILENCE_MS}ms;
    location / { proxy_pass http://gateway; }
  }
}
`,
    command: ["nginx", "-e", join(folder, "error.log"), "-c", join(folder, "config")]
  })
} as const satisfies Record<string, Program>

/** Starts a proxy in front of a port of this machine, and waits until it listens. */
export const startProxy = async (name: keyof typeof programs, upstream: number): Promise<FrontProxy> => {
  const port = await freePort()
  const hastyPort = await freePort()
  const folder = mkdtempSync(join(tmpdir(), `${name}-`))
  const { command, config } = programs[name]({ port, hastyPort, upstream, folder })
  writeFileSync(join(folder, "config"), config)
  const [program, ...args] = command
  const child: ChildProcess = spawn(program!, args, { stdio: ["ignore", "ignore", "inherit"] })
  for (const deadline = Date.now() + START_MS; !(await listens(port));) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`)
    if (Date.now() > deadline) throw new Error(`${name} did not listen in ${START_MS} ms`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return {
    port,
    hastyPort,
    stop: async () => {
      await ended(child)
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
