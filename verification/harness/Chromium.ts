/** A real browser, where one is installed: `CHROMIUM` names it. It asks for nothing but what a test asks of it. */
import { existsSync } from "node:fs"
import { type Browser, chromium } from "playwright-core"

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium"
export const hasChromium = existsSync(executablePath)

export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync"
    ]
  })
