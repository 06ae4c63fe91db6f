/** A real browser, where one is installed: `CHROMIUM` names it. It asks for nothing but what a test asks of it. */
import { existsSync } from "node:fs"
import { type Browser, chromium } from "playwright-core"

/** The shell without a window needs two thirds of the processor time. */
const INSTALLED = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]
const executablePath = process.env["CHROMIUM"] ?? INSTALLED.find((path) => existsSync(path)) ?? ""
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
